# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of zero points that are floats, and not whole numbers."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import ANY_OPERATOR, BATCH, LENGTH, Sample, integers, new, rand
from .dynamic import FLOAT, INT8, NEAR, Convolution, Embedding, Grouped, Products, _indices
from .quantize import _by_tensor, _per_channel

_q = torch.ops.quantized_decomposed
_ao = torch.ops.torchao
_EXACT = dict(rtol=0, atol=0, config=ANY_OPERATOR)
_BYTES = dict(low=-128, high=128, dtype=torch.int8)


def shifted(cls, *args, **options):
    """A module of ``cls`` with something added to each zero point."""
    module = cls(*args, **options)
    for name, buffer in list(module.named_buffers()):
        if name in ("zeros", "zero_points"):
            setattr(module, name, buffer + torch.rand(buffer.shape) * 0.9 + 0.05)
    return module


def _per_token(x, scales, zero_points):
    q = _q.quantize_per_token(x, scales, zero_points, *INT8)
    return q, _q.dequantize_per_token(q, scales, zero_points, *INT8, torch.float32)


def _affine(*block):
    def program(x, scales, zero_points):
        q = _ao.quantize_affine(x, block, scales, zero_points, torch.int8, -100, 127)
        return q, _ao.dequantize_affine(q, block, scales, zero_points, torch.int8)

    return program


def _of_groups(q, scales, zero_points):
    return _q.dequantize_per_channel_group(q, scales, zero_points, *INT8, 4, torch.float32)


class Constants(nn.Module):
    """Quantization by channels, with zero points that are known."""

    def __init__(self, *zero_points):
        super().__init__()
        self.scales = nn.Buffer(torch.rand(len(zero_points)) * 0.1 + 0.01)
        self.zeros = nn.Buffer(torch.tensor(zero_points))

    def forward(self, x, q):
        rounded = _q.quantize_per_channel(x, self.scales, self.zeros, 0, *INT8)
        return rounded, _q.dequantize_per_channel(q, self.scales, self.zeros, 0, *INT8)


class Rows(nn.Module):
    """Rows of a table of integers with a scale for each block, picked by ``function``."""

    def __init__(self, function, block, shape=(6, 8)):
        super().__init__()
        self.function, self.block = function, list(block)
        blocks = [n // b for n, b in zip(shape, block, strict=True)]
        self.table = nn.Buffer(torch.randint(-128, 128, shape, dtype=torch.int8))
        self.scales = nn.Buffer(torch.rand(blocks))
        self.zeros = nn.Buffer(torch.rand(blocks) * 9)

    def forward(self, indices):
        table = _ao.dequantize_affine(self.table, self.block, self.scales, self.zeros, torch.int8)
        return self.function(table, indices)


def _scores(table, indices):
    """As a language model with one table for the first and the last layer."""
    return F.linear(F.embedding(indices, table), table)


_ROWS = integers(LENGTH, low=0, high=6)

SAMPLES = [
    *(
        Sample(
            f"quantize_fractions_per_channel_{axis}",
            _per_channel(axis),
            rand(3, 4, LENGTH),
            rand((3, 4)[axis], low=0.01, high=0.02),
            rand((3, 4)[axis], low=-9, high=9),
            **_EXACT,
        )
        for axis in (0, 1)
    ),
    Sample(
        "quantize_fractions_of_constants",
        new(Constants, 1.25, -17.875, 3.0),
        rand(3, LENGTH, low=-9, high=9),
        integers(3, LENGTH, **_BYTES),
        **_EXACT,
    ),
    Sample(
        "quantize_fractions_not_finite",
        new(Constants, math.inf, -math.inf, math.nan, 1e30, -3e9),
        rand(5, 7),
        integers(5, 7, **_BYTES),
        **_EXACT,
    ),
    Sample(
        "quantize_fractions_by_tensor",
        _by_tensor,
        rand(BATCH, 33),
        rand(1, low=0.01, high=0.02),
        rand(1, low=-9, high=9),
        rtol=1e-6,  # eager PyTorch multiplies by the inverse of the scale in float64
        atol=0.021,
        config=ANY_OPERATOR,
    ),
    Sample(
        "quantize_fractions_per_token",
        _per_token,
        rand(BATCH, 7, 33),
        rand(BATCH, 7, 1, low=0.01, high=0.02),
        rand(BATCH, 7, 1, low=-9, high=9),
        **_EXACT,
    ),
    *(
        Sample(
            f"quantize_fractions_in_blocks_{name}",
            _affine(*block),
            rand(6, 8),
            rand(*blocks, low=0.01, high=0.02),
            rand(*blocks, low=-9, high=9),
            **_EXACT,
        )
        for name, block, blocks in (
            ("of_columns", (1, 4), (6, 2)),
            ("of_both", (3, 2), (2, 4)),
            ("of_all", (6, 8), (1, 1)),
            ("of_rows", (2, 8), (3, 1)),
        )
    ),
    Sample(
        "quantize_fractions_in_groups",
        _of_groups,
        integers(5, 12, **_BYTES),
        rand(5, 3, low=0.01, high=0.02),
        rand(5, 3, low=-9, high=9),
        **_EXACT,
    ),
    Sample("embedding_byte_fractions", new(shifted, Embedding, 8, 1, True), _indices(BATCH, 3), **_EXACT),
    Sample("embedding_byte_groups_fractions", new(shifted, Embedding, 8, 3, True, **FLOAT), _indices(3), **_EXACT),
    Sample("embedding_4bit_fractions", new(shifted, Embedding, 4, 2, True), _indices(2, LENGTH), **_EXACT),
    Sample("embedding_2bit_fractions", new(shifted, Embedding, 2, 1, True), _indices(BATCH), **_EXACT),
    Sample("quantize_fractions_of_table_rows", new(Rows, lambda t, i: F.embedding(i, t), (1, 8)), _ROWS, **_EXACT),
    Sample("quantize_fractions_of_table_groups", new(Rows, lambda t, i: F.embedding(i, t), (1, 2)), _ROWS, **_EXACT),
    Sample(
        "quantize_fractions_of_table_columns",
        new(Rows, lambda t, i: t[i], (6, 1)),
        integers(2, 3, low=-6, high=6),
        **_EXACT,
    ),
    Sample("quantize_fractions_of_table_blocks", new(Rows, lambda t, i: F.embedding(i, t), (2, 8)), _ROWS, **_EXACT),
    Sample(
        "quantize_fractions_of_table_of_three_axes",
        new(Rows, lambda t, i: t.index_select(0, i), (1, 2, 2), (6, 4, 2)),
        _ROWS,
        **_EXACT,
    ),
    Sample("quantize_fractions_of_table_tied", new(Rows, _scores, (1, 8)), _ROWS, **NEAR),
    Sample("quantize_fractions_of_linear", new(shifted, Grouped, 64, 70, 32), rand(LENGTH, 64), **NEAR),
    Sample(
        "quantize_fractions_of_conv2d",
        new(shifted, Convolution, nn.Conv2d, 6, 9, 3, padding=1, images=False, zero_points=True),
        rand(BATCH, 6, 9, 8),
        **NEAR,
    ),
    Sample(
        "quantize_fractions_of_dynamic_conv2d",
        new(shifted, Convolution, nn.Conv2d, 6, 9, 3, zero_points=True),
        rand(1, 6, 9, 8),
        rtol=0.03,
        atol=0.03,
        config=ANY_OPERATOR,
    ),
    Sample(
        "quantize_fractions_of_bmm",
        new(shifted, Products, 2, 3, 17, 8, zero_points=True),
        rand(2, 3, LENGTH, 17),
        **NEAR,
    ),
]
