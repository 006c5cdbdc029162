# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Integers that stand for real numbers: q for (q - zero point) * scale."""

import functools

import numpy as np

from ...serialization import schema
from ...serialization.arrays import FLOATS
from ...serialization.schema import DType
from .. import zero_points as written_out
from ..ir import Quantization, Value
from .registry import op

_quantized = functools.partial(op, dtypes=DType)
_ROUNDED = (DType.Int8, DType.UInt8)


def _scale(c, scale):
    """A number or a tensor of one element."""
    return c.reshape(c.operand(scale, DType.Float32), ()) if not isinstance(scale, float) else c.scalar(scale)


def as_zero_points(c, x):
    """A number or a tensor as Int32, or as Float32 where it is not known to hold whole numbers; of any sizes."""
    while isinstance(x, Value) and x.dtype == DType.Float32:
        node = c.producer(x, schema.Cast, schema.Reshape)
        if node is None:
            break
        x = c.values[node.inputs[0]]
    if not isinstance(x, Value) or x.dtype not in FLOATS:
        return c.operand(x, DType.Int32)
    x = c.cast(x, DType.Float32)
    return c.cast(x, DType.Int32) if x.constant is not None and written_out.are_whole(x.array) else x


def _zero_point(c, zero_point):
    return c.reshape(as_zero_points(c, zero_point), ())


def _along(c, x, vector, axis, converted):
    """A vector of one number for each index of ``axis``, as a scale of blocks of ``x``."""
    c.require(
        vector.shape == (x.shape[axis],),
        f"the scales or zero points have shape {vector.shape}, which does not fit axis {axis} of {x.shape}",
    )
    shape = [1] * x.rank
    shape[axis] = x.shape[axis]
    return c.reshape(converted(vector), shape)


def quantize(c, x, scale, zero_point, low, high, rounds_last=False):
    """Zero points of Float32 are added as PyTorch does it: behind the rounding, or before if ``rounds_last``."""
    c.require(x.dtype == DType.Float32, f"the input has type {x.dtype.name}, not Float32")
    c.require(c.out.dtype in _ROUNDED, f"the integers have type {c.out.dtype.name}, not Int8 or UInt8")
    info = np.iinfo(np.int8 if c.out.dtype == DType.Int8 else np.uint8)
    c.require(
        info.min <= low <= high <= info.max, f"the range of {low} to {high} is empty or exceeds {c.out.dtype.name}"
    )
    attributes = schema.Quantize(dtype=c.out.dtype, min=low, max=high)
    if zero_point.dtype == DType.Float32:
        return written_out.quantize(c, attributes, x, scale, zero_point, rounds_last)
    return c.node(attributes, x, scale, zero_point, shape=x.shape, dtype=c.out.dtype)


def dequantize(c, x, scale, zero_point):
    c.require(x.dtype in (*_ROUNDED, DType.Int32), f"the integers have type {x.dtype.name}, not Int8, UInt8 or Int32")
    c.require(c.out.dtype == DType.Float32, f"the result has type {c.out.dtype.name}, not Float32")
    if all(i.constant is not None for i in (x, scale, zero_point)):  # the program keeps the integers
        quantization = Quantization(x.dtype, scale.array, zero_point.array)
        return c.constant(x.array, c.fx_node.name, quantization)
    if zero_point.dtype == DType.Float32:
        return written_out.dequantize(c, x, scale, zero_point)
    return c.node(schema.Dequantize(), x, scale, zero_point, shape=x.shape, dtype=DType.Float32)


@_quantized("quantized_decomposed.quantize_per_tensor.default", "quantized_decomposed.quantize_per_tensor.tensor")
def quantize_per_tensor(c, input, scale, zero_point, quant_min, quant_max):
    return quantize(c, input, _scale(c, scale), _zero_point(c, zero_point), quant_min, quant_max)


@_quantized("quantized_decomposed.dequantize_per_tensor.default", "quantized_decomposed.dequantize_per_tensor.tensor")
def dequantize_per_tensor(c, input, scale, zero_point):
    return dequantize(c, input, _scale(c, scale), _zero_point(c, zero_point))


def _per_channel(c, input, scales, zero_points, axis):
    axis = c.axis(axis, input.rank)
    scale = _along(c, input, scales, axis, lambda x: c.operand(x, DType.Float32))
    if zero_points is None:
        return scale, c.constant(np.zeros(scale.shape, np.int32))
    return scale, _along(c, input, zero_points, axis, lambda x: as_zero_points(c, x))


@_quantized("quantized_decomposed.quantize_per_channel.default")
def quantize_per_channel(c, input, scales, zero_points, axis, quant_min, quant_max):
    return quantize(c, input, *_per_channel(c, input, scales, zero_points, axis), quant_min, quant_max)


@_quantized("quantized_decomposed.dequantize_per_channel.default")
def dequantize_per_channel(c, input, scales, zero_points, axis):
    return dequantize(c, input, *_per_channel(c, input, scales, zero_points, axis))
