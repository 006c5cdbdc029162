# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Zero points that are not whole numbers. The blob has none, so what they do is written out as PyTorch computes it."""

import numpy as np

from ..serialization import schema
from ..serialization.schema import BinaryKind, DType, UnaryKind
from .ir import Builder, Value

_MOST = 2**24  # whole numbers up to here are exact in float32


def are_whole(zero_points: np.ndarray) -> bool:
    """Whether they can be integers instead; infinities and NaN are none."""
    return bool(((np.abs(zero_points) <= _MOST) & (zero_points == np.rint(zero_points))).all())


def dequantize(b: Builder, x: Value, scale: Value, zero_point: Value) -> Value:
    """(x - zero_point) * scale, both with one element for each block of ``x``."""
    y = b.node(schema.Cast(dtype=DType.Float32), x, shape=x.shape, dtype=DType.Float32)
    y, scale, zero_point = _by_blocks(b, y, scale, zero_point)
    y = b.node(schema.Binary(kind=BinaryKind.Sub), y, zero_point, shape=y.shape)
    y = b.node(schema.Binary(kind=BinaryKind.Mul), y, scale, shape=y.shape)
    return b.reshape(y, x.shape) if y.shape != x.shape else y


def quantize(b: Builder, a: schema.Quantize, x: Value, scale: Value, zero_point: Value, rounds_last: bool) -> Value:
    """x / scale + zero_point, rounded before or after the sum, and cut off where that is between two integers."""
    y, scale, zero_point = _by_blocks(b, x, scale, zero_point)
    inverse = b.node(schema.Unary(kind=UnaryKind.Reciprocal), scale, shape=scale.shape)
    y = b.node(schema.Binary(kind=BinaryKind.Mul), y, inverse, shape=y.shape)
    rounding, adding = schema.Unary(kind=UnaryKind.Round), schema.Binary(kind=BinaryKind.Add)
    if not rounds_last:
        y = b.node(rounding, y, shape=y.shape)
    y = b.node(adding, y, zero_point, shape=y.shape)
    if rounds_last:
        y = b.node(rounding, y, shape=y.shape)
    clamp = schema.Clamp(min=a.min, max=a.max)
    y = b.node(schema.Unary(kind=UnaryKind.Clamp, clamp=clamp), y, shape=y.shape)
    y = b.node(schema.Cast(dtype=a.dtype), y, shape=y.shape, dtype=a.dtype)
    return b.reshape(y, x.shape) if y.shape != x.shape else y


def _by_blocks(b: Builder, x: Value, *parameters: Value) -> list[Value]:
    """``x`` and ``parameters`` with axes of blocks taken apart, so that they broadcast."""
    shapes = [p.shape or (1,) * x.rank for p in parameters]
    counts = [next((n for n in along if n != 1), 1) for along in zip(*shapes, strict=True)]
    cut = [n not in (1, size) for n, size in zip(counts, x.shape, strict=True)]
    if not any(cut):
        return [x, *parameters]

    def taken_apart(shape, inner):
        return [n for axis, outer in enumerate(shape) for n in ((outer, inner(axis)) if cut[axis] else (outer,))]

    blocks = [n if c else size for n, size, c in zip(counts, x.shape, cut, strict=True)]
    x = b.reshape(x, taken_apart(blocks, lambda axis: x.shape[axis] // counts[axis]))
    return [x, *(b.reshape(p, taken_apart(s, lambda _: 1)) for p, s in zip(parameters, shapes, strict=True))]
