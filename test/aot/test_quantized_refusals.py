# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Quantized programs that are wrong, or annotated in part, are computed in float, and the report says why."""

import json
import math

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.schema import UnaryKind
from torch import nn

_ops = torch.ops.quantized_decomposed
_SCALE = "a scale is not a positive, finite and normal number"


def fake(x, scale=0.031, zero_point=-5, low=-128, high=127, dtype=torch.int8):
    arguments = (scale, zero_point, low, high, dtype)
    return _ops.dequantize_per_tensor(_ops.quantize_per_tensor(x, *arguments), *arguments)


class Program(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.register_buffer("integers", torch.arange(-16, 16, dtype=torch.int8).reshape(4, 8))
        self.register_buffer("bias", torch.linspace(-3, 3, 4))
        self.register_buffer("weight", torch.linspace(-1, 1, 32).reshape(4, 8))

    def forward(self, x):
        return self.function(self, x)

    def dequantized(self, axis=0, scale=0.01, zero_point=0, count=None):
        count = self.integers.shape[axis] if count is None else count
        zeros = torch.full((count,), zero_point, dtype=torch.int64)
        return _ops.dequantize_per_channel(
            self.integers, torch.full((count,), scale), zeros, axis, -128, 127, torch.int8
        )


CASES = {
    "scale_negative": (lambda m, x: fake(F.relu(fake(x, -0.1))), {"Quantize": _SCALE, "Dequantize": _SCALE}),
    "scale_nan": (lambda m, x: fake(F.relu(fake(x, math.nan))), {"Quantize": _SCALE, "Dequantize": _SCALE}),
    "scale_infinite": (lambda m, x: fake(F.relu(fake(x, math.inf))), {"Quantize": _SCALE, "Dequantize": _SCALE}),
    "scale_denormal": (lambda m, x: fake(F.relu(fake(x, 1e-41))), {"Quantize": _SCALE, "Dequantize": _SCALE}),
    "zero_point_out_of_range": (
        lambda m, x: fake(F.relu(fake(x, 0.1, 300))),
        dict.fromkeys(("Quantize", "Dequantize"), "a zero point is outside the range of Int8"),
    ),
    "narrow_range": (
        lambda m, x: fake(F.relu(fake(x, 0.1, 0, -100, 100))),
        {"Quantize": "the range is -100 to 100, not all of Int8"},
    ),
    "scale_computed": (
        lambda m, x: fake(F.relu(fake(x, x.abs().max() / 100, torch.zeros((), dtype=torch.int64)))),
        dict.fromkeys(("Quantize", "Dequantize"), "the scale or zero point is computed at run time"),
    ),
    "weight_scale_zero": (lambda m, x: fake(F.linear(fake(x), m.dequantized(scale=0.0))), {"Linear": _SCALE}),
    "weight_of_floats": (lambda m, x: fake(F.linear(fake(x), m.weight)), {"Linear": "the weight is not quantized"}),
    "operand_of_floats": (lambda m, x: fake(fake(x) + x), {"Binary": "an operand is not quantized"}),
    "result_of_floats": (
        lambda m, x: F.linear(fake(x), m.dequantized()),
        {"Linear": "its result is not quantized"},
    ),
    "no_rule": (lambda m, x: fake(F.softmax(fake(x), -1)), {"Softmax": "it has no form that reads integers"}),
}


def _lower(function):
    module, inputs = Program(function).eval(), (torch.linspace(-2, 2, 16).reshape(2, 8),)
    return module, inputs, harness.lower_exported(torch.export.export(module, inputs), _check_ir_validity=False)


@pytest.mark.parametrize("name", CASES)
def test_stays_in_float_with_a_reason(name):
    function, reasons = CASES[name]
    module, inputs, lowered = _lower(function)
    assert lowered.outside == []
    assert {r.target: r.reason for r in lowered.report.float_fallbacks} == reasons
    assert all(reason in str(lowered.report) for reason in reasons.values())
    assert json.loads(json.dumps(lowered.report.to_dict()))["float_fallbacks"]
    if et_xnnpack.is_available():
        (actual,) = harness.load_method(lowered.buffer).execute(inputs)
        torch.testing.assert_close(actual, module(*inputs), equal_nan=True)


def unsigned(x):
    return fake(x, 0.1, 128, 0, 255, torch.uint8)


#: What XNNPACK computes with integers, and what it has no microkernel for: the runtime knows the difference.
FOLDED = {
    "linear": lambda m, x: fake(F.linear(fake(x), m.dequantized())),
    "weight_zero_point": lambda m, x: fake(F.linear(fake(x), m.dequantized(zero_point=3))),
    "weight_by_columns": lambda m, x: fake(F.linear(fake(x), m.dequantized(axis=1))),
    "bias": lambda m, x: fake(F.linear(fake(x), m.dequantized(), m.weight[:, 1].contiguous())),
    "bias_of_coarse_products": lambda m, x: fake(F.linear(fake(x), m.dequantized(scale=10.0), m.bias), 1e-3),
    "bias_too_large": lambda m, x: fake(F.linear(fake(x), m.dequantized(scale=1e-9), m.bias)),
    "tiny_products": lambda m, x: fake(F.linear(fake(x, 1e-30), m.dequantized(scale=1e-20), m.bias)),
    "clamp_to_one_number": lambda m, x: fake(F.linear(fake(x), m.dequantized()).clamp(0.001, 0.002)),
    "convolution": lambda m, x: fake(F.conv2d(fake(x).reshape(1, 2, 2, 4), m.dequantized().reshape(4, 2, 2, 2))),
    "convolution_with_zero_points": lambda m, x: fake(
        F.conv2d(fake(x).reshape(1, 2, 2, 4), m.dequantized(zero_point=3).reshape(4, 2, 2, 2), m.bias)
    ),
    "transposed_convolution_of_bytes": lambda m, x: unsigned(
        F.conv_transpose2d(unsigned(x).reshape(1, 4, 2, 2), m.dequantized().reshape(4, 2, 2, 2))
    ),
    "sum_unsigned": lambda m, x: unsigned(unsigned(x) + unsigned(x * 2)),
    "product_unsigned": lambda m, x: unsigned(fake(x) * fake(x)),
    "sum_of_large_numbers": lambda m, x: fake(fake(x) + fake(x), 1e-6, 0),
    "sum_of_small_numbers": lambda m, x: fake(fake(x, 1e-6) + fake(x, 1e-6), 0.1, 0),
    "product_of_large_numbers": lambda m, x: fake(fake(x) * fake(x * 100, 1.0), 1e-4, 0),
    "quotient": lambda m, x: fake(fake(x) / fake(x * 2 + 5)),
    "maximum_and_clamp": lambda m, x: fake(torch.maximum(fake(x), fake(-x)).clamp(0.3, 0.7)),
    "broadcast": lambda m, x: fake(fake(x) / fake(x[:1] + 5)),
    "number": lambda m, x: fake(fake(x) / fake(x[0, 0] + 5)),
}


@pytest.mark.parametrize("function", FOLDED.values(), ids=FOLDED)
def test_what_is_folded_is_not_in_the_report(function):
    module, inputs, lowered = _lower(function)
    assert lowered.report.float_fallbacks == [] and "float32" not in str(lowered.report)
    (graph,) = lowered.optimized.values()
    assert [n for n in graph.nodes if graph.values[n.outputs[0]].quantization and not _is_copy(n)], str(graph)
    if et_xnnpack.is_available():
        (actual,) = harness.load_method(lowered.buffer).execute(inputs)
        torch.testing.assert_close(actual, module(*inputs))


def _is_copy(node):
    return node.is_a(schema.Unary) and node.attributes.kind == UnaryKind.Copy


@pytest.mark.parametrize(
    "function,reason",
    (
        (lambda m, x: fake(x, 0.1, 0, -32768, 32767, torch.int16), "dtype int16 is not supported"),
        (
            lambda m, x: F.linear(x, m.dequantized(count=3)),
            "the scales or zero points have shape (3,), which does not fit axis 0 of (4, 8)",
        ),
    ),
)
def test_stays_outside_with_a_reason(function, reason):
    *_, lowered = _lower(function)
    assert reason in {r.reason for r in lowered.report.refusals}
