# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of quantization, and of what is done with 8-bit integers."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)

from . import BATCH, LENGTH, Sample, bools, integers, rand, values

_q = torch.ops.quantized_decomposed
INT8 = dict(low=-128, high=128, dtype=torch.int8)
UINT8 = dict(low=0, high=256, dtype=torch.uint8)


def quantize(x, scale=0.03, zero_point=-5):
    return _q.quantize_per_tensor(x, scale, zero_point, -128, 127, torch.int8)


def dequantize(x, scale=0.03, zero_point=-5):
    return _q.dequantize_per_tensor(x, scale, zero_point, -128, 127, torch.int8)


def _unsigned(x):
    q = _q.quantize_per_tensor(x, 0.02, 100, 0, 255, torch.uint8)
    return q, _q.dequantize_per_tensor(q, 0.02, 100, 0, 255, torch.uint8)


def _narrow(x):
    return _q.quantize_per_tensor(x, 0.03, 0, -100, 90, torch.int8)


def _by_tensor(x, scale, zero_point):
    q = _q.quantize_per_tensor.tensor(x, scale, zero_point, -128, 127, torch.int8)
    return q, _q.dequantize_per_tensor.tensor(q, scale, zero_point, -128, 127, torch.int8)


def _per_channel(axis):
    def program(x, scales, zero_points):
        q = _q.quantize_per_channel(x, scales, zero_points, axis, -127, 127, torch.int8)
        return q, _q.dequantize_per_channel(q, scales, zero_points, axis, -127, 127, torch.int8)

    return program


def _without_zero_points(x, scales):
    return _q.dequantize_per_channel(x, scales, None, 0, -128, 127, torch.int8)


def _bias(x):
    return _q.dequantize_per_tensor(x, 1e-4, 0, -(2**31), 2**31 - 1, torch.int32)


class _Product(nn.Module):
    """A product of 8-bit weights, each row with a scale of its own, of 8-bit numbers."""

    def __init__(self, weight_shape, function):
        super().__init__()
        generator = torch.Generator().manual_seed(weight_shape[0])
        size = weight_shape[0]
        self.register_buffer("q", torch.randint(-127, 128, weight_shape, generator=generator, dtype=torch.int8))
        self.register_buffer("scales", torch.rand(size, generator=generator) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.zeros(size, dtype=torch.int64))
        self.register_buffer("bias", torch.rand(size, generator=generator))
        self.function = function

    def forward(self, x):
        weight = _q.dequantize_per_channel(self.q, self.scales, self.zeros, 0, -127, 127, torch.int8)
        return dequantize(quantize(self.function(dequantize(x), weight, self.bias), 0.05, 4), 0.05, 4)


class _Block(nn.Module):
    """What has kernels of its own for 8 bits: a pool, a table, a sum, parts put together."""

    def forward(self, x):
        x = dequantize(x)
        y = dequantize(quantize(F.hardswish(x)))
        y = dequantize(quantize(torch.cat([y, dequantize(quantize(x + y))], 1)))
        return quantize(dequantize(quantize(F.avg_pool2d(F.max_pool2d(y, 2, 1), 2))).mean((2, 3)))


class _Picks(nn.Module):
    """Parts of a constant of integers, with a scale for each index of an axis: for one of them one is left."""

    def __init__(self, axis):
        super().__init__()
        generator = torch.Generator().manual_seed(axis)
        size = (3, 4)[axis]
        self.register_buffer("q", torch.randint(-127, 128, (3, 4), generator=generator, dtype=torch.int8))
        self.register_buffer("scales", torch.rand(size, generator=generator) * 0.01 + 0.001)
        self.register_buffer("zeros", torch.randint(-9, 9, (size,), generator=generator))
        self.axis = axis

    def _dequantized(self, q, scales, zeros):
        return _q.dequantize_per_channel(q, scales, zeros, self.axis, -128, 127, torch.int8)

    def forward(self, x):
        w = self._dequantized(self.q, self.scales, self.zeros)
        one = self._dequantized(self.q.narrow(self.axis, 1, 1), self.scales[1:2], self.zeros[1:2])
        parts = w[1], w[:, 1], w.unbind(self.axis)[2], w[1:2], one.squeeze(self.axis), one.unsqueeze(0), one.flatten()
        return [part + x for part in parts]


HALVES = values(*[(i + 0.5) * 0.03125 for i in range(-200, 200)])

SAMPLES = [
    Sample("quantize", lambda x: quantize(x), rand(BATCH, 7, LENGTH, low=-5, high=5), rtol=0, atol=0),
    Sample("quantize_halves", lambda x: quantize(x, 0.03125, 3), HALVES, rtol=0, atol=0),
    Sample("quantize_unsigned", _unsigned, rand(BATCH, 9, low=-4, high=4), rtol=0, atol=0),
    Sample("quantize_narrow", _narrow, rand(3, 5, 7, low=-5, high=5), rtol=0, atol=0),
    Sample(
        "quantize_special",
        lambda x: quantize(x),
        values(0.0, -0.0, 1e30, -1e30, float("inf"), -float("inf"), float("nan")),
        rtol=0,
        atol=0,
    ),
    Sample("quantize_scalar", lambda x: quantize(x), rand(), rtol=0, atol=0),
    Sample("quantize_rank_6", lambda x: quantize(x), rand(2, 1, 3, 2, 1, 5), rtol=0, atol=0),
    Sample("quantize_empty", lambda x: quantize(x), rand(2, 0, 3), rtol=0, atol=0),
    Sample("dequantize", lambda x: dequantize(x), integers(BATCH, 7, LENGTH, **INT8), rtol=0, atol=0),
    Sample("dequantize_bias", _bias, integers(37, low=-90000, high=90000, dtype=torch.int32), rtol=0, atol=0),
    Sample(
        "quantize_by_tensor",
        _by_tensor,
        rand(BATCH, 33),
        rand(1, low=0.01, high=0.02),
        integers(1, low=-9, high=9),
        rtol=0,
        atol=0,
    ),
    Sample(
        "quantize_per_channel_first",
        _per_channel(0),
        rand(5, 3, LENGTH),
        rand(5, low=0.01, high=0.02),
        integers(5),
        rtol=0,
        atol=0,
    ),
    Sample(
        "quantize_per_channel_middle",
        _per_channel(1),
        rand(BATCH, 4, 5, 6),
        rand(4, low=0.01, high=0.02),
        integers(4),
        rtol=0,
        atol=0,
    ),
    Sample(
        "quantize_per_channel_last",
        _per_channel(-1),
        rand(BATCH, 4, 7),
        rand(7, low=0.01, high=0.02),
        integers(7),
        rtol=0,
        atol=0,
    ),
    Sample(
        "dequantize_without_zero_points",
        _without_zero_points,
        integers(5, 9, **INT8),
        rand(5, low=0.01, high=0.02),
        rtol=0,
        atol=0,
    ),
    Sample(
        "int8_conv",
        _Product((6, 4, 3, 3), lambda x, w, b: F.relu(F.conv2d(x, w, b, padding=1))),
        integers(BATCH, 4, 7, 6, **INT8),
        rtol=0,
        atol=0.0501,  # a step of the result
    ),
    Sample(
        "int8_linear",
        _Product((5, 9), F.linear),
        integers(BATCH, 9, **INT8),
        rtol=0,
        atol=0.0501,
    ),
    Sample("int8_parts_of_rows", _Picks(0), rand(1)),
    Sample("int8_parts_of_columns", _Picks(1), rand(1)),
    Sample("int8_block", _Block(), integers(BATCH, 3, 6, 7, **INT8), rtol=0, atol=1),
    Sample("quantized_island", lambda x: quantize(torch.tanh(dequantize(quantize(x)))), rand(BATCH, 40)),
    Sample(
        "uint8_max_pools",
        lambda x: (
            F.max_pool2d(_unsigned(x)[1], 3, stride=2, padding=1),
            _unsigned(F.max_pool2d(_unsigned(x)[1], 2))[0],
            _unsigned(F.adaptive_max_pool2d(_unsigned(x)[1], 3))[0],
            _unsigned(F.max_pool1d(_unsigned(x)[1].flatten(2), 2))[1],
        ),
        rand(BATCH, 5, 6, 9, low=-2, high=3),
    ),
    Sample(
        "int8_moves",
        lambda x, y: (
            torch.cat([x.transpose(1, 2).reshape(-1, 3), y])[1:],
            F.pad(x, (1, 2), value=-7),
            x.expand(2, *x.shape).clone(),
            x.flip(2)[:, ::2],
        ),
        integers(2, 3, LENGTH, **INT8),
        integers(2, 3, **INT8),
    ),
    Sample(
        "uint8_moves",
        lambda x, i: (x[i], x.unsqueeze(0).repeat(3, 1, 1), F.pad(x, (0, 1, 2, 0), value=200)),
        integers(5, 7, **UINT8),
        integers(4, low=-5, high=5),
    ),
    Sample(
        "int8_arithmetic",
        lambda x, y: (x + y, x * y, x - 1, torch.maximum(x, y), x & y, x > y, x.sum(1), x.amax(1), x.sort(1)[0]),
        integers(BATCH, 9, **INT8),
        integers(9, **INT8),
    ),
    Sample(
        "uint8_arithmetic",
        lambda x, y: (x + y, x * y, torch.minimum(x, y), x | y, x >= y, x.sum(1), x.amin(1), x.cumsum(0)),
        integers(3, 9, **UINT8),
        integers(9, **UINT8),
    ),
    Sample(
        "int8_where",
        lambda c, x, y: (torch.where(c, x, y), x.masked_fill(c, 3)),
        bools(3, 5),
        integers(3, 5, **INT8),
        integers(5, **INT8),
    ),
    Sample(
        "int8_casts",
        lambda x, y, z: (x.float(), x.int(), x.bool(), x.to(torch.uint8), y.to(torch.int8), z.to(torch.int8)),
        integers(3, 9, **INT8),
        rand(40, low=-120, high=120),
        integers(40, low=-999, high=999),
    ),
    Sample(
        "uint8_casts",
        lambda x, y, b: (x.float(), x.long(), x.bool(), y.to(torch.uint8), b.to(torch.uint8)),
        integers(3, 9, **UINT8),
        rand(40, low=0, high=250),
        bools(7),
    ),
]
