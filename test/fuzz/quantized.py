# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Expressions of integers that stand for real numbers, as exporters of quantized models write them."""

import torch
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)
from torchao.quantization import Int8WeightOnlyConfig, IntxWeightOnlyConfig, PerAxis, quantize_

from fuzz.expressions import expression, is_float32

_TENSOR = "_q.{}quantize_per_tensor({}, {s}, {z}, {low}, {high}, torch.{dtype})"


@expression
def quantize(writer):
    """To integers and back; exact steps of an eighth, so that no number lies between two."""
    if x := writer.value(lambda v: is_float32(v) and v.exact):
        dtype, low, high = writer.pick(("int8", -128, 127), ("uint8", 0, 255), ("int8", -100, 90))
        parameters = dict(s=0.125, z=writer.pick(0, 7), low=low, high=high, dtype=dtype)
        integers = _TENSOR.format("", x.name, **parameters)
        writer.add(writer.pick(_TENSOR.format("de", integers, **parameters), integers), (x,), True)


@expression
def quantize_by_tensors(writer):
    if x := writer.value(lambda v: is_float32(v) and v.exact):
        rest = "torch.tensor(0.125), torch.tensor(3), -128, 127, torch.int8"
        integers = f"_q.quantize_per_tensor.tensor({x.name}, {rest})"
        writer.add(f"_q.dequantize_per_tensor.tensor({integers}, {rest})", (x,), True)


@expression
def quantize_channels(writer):
    if x := writer.value(lambda v: is_float32(v) and v.exact and v.rank and v.size(-1)):
        c = x.size(-1)
        rest = f"torch.full(({c},), 0.25), torch.zeros({c}, dtype=torch.int64), {x.rank - 1}, -127, 127, torch.int8"
        integers = f"_q.quantize_per_channel({x.name}, {rest})"
        writer.add(f"_q.dequantize_per_channel({integers}, {rest})", (x,), True)


@expression
def weight_only(writer):
    """A linear layer with weights of 8 bits."""
    x = writer.value(lambda v: is_float32(v) and v.rank and v.size(-1))
    if x:
        c, out = x.size(-1), writer.number(1, 6)
        name = writer.buffer(f"torch.randint(-127, 128, ({out}, {c}), dtype=torch.int8)")
        weight = f"_q.dequantize_per_channel(self.{name}, torch.full(({out},), 0.01), None, 0, -127, 127, torch.int8)"
        writer.add(f"F.linear({x.name}, {weight})", (x,), False)


def with_integers(layer: torch.nn.Module, bits: int) -> torch.nn.Module:
    """The layer as torchao makes it."""
    four = IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerAxis(0))
    quantize_(layer, Int8WeightOnlyConfig() if bits == 8 else four)
    return layer


@expression
def layer_of_integers(writer):
    # Of one column torchao makes no more than one scale, and then fails.
    x = writer.value(lambda v: is_float32(v) and v.rank and (v.size(-1) or 0) > 1)
    if x and writer.quantization is None:
        layer = f"nn.Linear({x.size(-1)}, {writer.number(1, 6)}, bias={writer.pick(True, False)})"
        writer.add(f"{writer.attribute(f'with_integers({layer}, {writer.pick(4, 8)})')}({x.name})", (x,), False)


@expression
def table(writer):
    if i := writer.value(lambda v: v.dtype == torch.int64):
        name = writer.buffer("torch.randint(0, 256, (6, 8), dtype=torch.uint8)")
        kind, least, most = writer.pick(("byte", 0, 255), ("4bit", -8, 7))
        rest = f"torch.full((6,), 0.02), None, {least}, {most}, {i.name} % 6"
        writer.add(f"_q.embedding_{kind}(self.{name}, {rest})", (i,), False)
