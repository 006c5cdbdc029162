# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Normalizations."""

import numpy as np

from ...serialization import schema
from ...serialization.arrays import NUMPY_DTYPES, WIDE_FLOATS
from ...serialization.schema import BinaryKind, DType, ReduceKind, UnaryKind
from ..ir import dims
from .reduce import reduce
from .registry import op


def _binary(c, kind, a, b, shape):
    return c.node(schema.Binary(kind=kind), a, b, shape=shape)


def _batch_norm(c, x, weight, bias, mean, variance, eps):
    """x * scale + shift for each channel, axis 1."""
    parameters = [p for p in (weight, bias, mean, variance) if p is not None]
    channels = (mean.shape[0], *[1] * (x.rank - 2))
    if all(p.constant is not None for p in parameters):
        scale = 1 / np.sqrt(variance.array.astype(np.float64) + eps)
        if weight is not None:
            scale = scale * weight.array
        shift = -mean.array * scale
        if bias is not None:
            shift = shift + bias.array
        scale, shift = (c.constant(a.astype(NUMPY_DTYPES[x.dtype])) for a in (scale, shift))
    else:
        vector = mean.shape
        sum = _binary(c, BinaryKind.Add, variance, c.operand(float(eps), x.dtype, True), vector)
        scale = c.node(schema.Unary(kind=UnaryKind.Rsqrt), sum, shape=vector)
        if weight is not None:
            scale = _binary(c, BinaryKind.Mul, scale, weight, vector)
        product = _binary(c, BinaryKind.Mul, mean, scale, vector)
        if bias is None:
            shift = c.node(schema.Unary(kind=UnaryKind.Neg), product, shape=vector)
        else:
            shift = _binary(c, BinaryKind.Sub, bias, product, vector)
    x = _binary(c, BinaryKind.Mul, x, c.reshape(scale, channels), x.shape)
    return _binary(c, BinaryKind.Add, x, c.reshape(shift, channels), x.shape)


def _float64_norm(c, x, axes, eps):
    """``x`` normalized over ``axes``, the mean and 1 / sqrt(variance + eps), which keep their axes.

    The operators of norms have an epsilon in Float32 and compute in that.
    """
    mean = reduce(c, ReduceKind.Mean, x, axes, True)
    squares = _binary(c, BinaryKind.SquaredDifference, x, mean, x.shape)
    variance = reduce(c, ReduceKind.Mean, squares, axes, True)
    rstd = _rstd(c, variance, eps)
    difference = _binary(c, BinaryKind.Sub, x, mean, x.shape)
    return _binary(c, BinaryKind.Mul, difference, rstd, x.shape), mean, rstd


def _rstd(c, variance, eps):
    shifted = _binary(c, BinaryKind.Add, variance, c.operand(float(eps), variance.dtype), variance.shape)
    return c.node(schema.Unary(kind=UnaryKind.Rsqrt), shifted, shape=variance.shape)


def _scaled(c, x, weight, bias, shape):
    """``x`` times ``weight`` plus ``bias``, both of which have ``shape`` or are None."""
    for kind, factor in ((BinaryKind.Mul, weight), (BinaryKind.Add, bias)):
        if factor is not None:
            x = _binary(c, kind, x, c.reshape(factor, shape), x.shape)
    return x


@op("aten._native_batch_norm_legit_no_training.default", dtypes=WIDE_FLOATS)
def batch_norm(c, input, weight, bias, running_mean, running_var, eps):
    """The other two results are empty."""
    return _batch_norm(c, input, weight, bias, running_mean, running_var, eps), None, None


def _group_norm(c, x, weight, bias, groups, eps, statistics=False):
    """[y, mean, rstd], the last two, of shape [N, groups], only if they are asked for."""
    c.require(groups > 0, "the number of groups must be positive")
    if x.dtype == DType.Float64:
        channels = c.require_static(x.shape[1], "the number of channels")
        size = channels // groups * dims.numel(x.shape[2:])
        y, mean, rstd = _float64_norm(c, c.reshape(x, (x.shape[0], groups, size)), (2,), eps)
        y = _scaled(c, c.reshape(y, x.shape), weight, bias, (channels, *[1] * (x.rank - 2)))
        return [y, *(c.reshape(s, (x.shape[0], groups)) for s in (mean, rstd))]
    outputs = [(DType.Float32, x.shape)] + 2 * [(DType.Float32, (x.shape[0], groups))] * statistics
    attributes = schema.GroupNorm(axis=1, groups=groups, epsilon=float(eps))
    results = c.multi_node(attributes, x, weight, bias, outputs=outputs)
    return results if statistics else [*results, None, None]


@op("aten.group_norm.default", preserve=True, dtypes=WIDE_FLOATS)
def group_norm(c, input, num_groups, weight, bias, eps):
    return _group_norm(c, input, weight, bias, num_groups, eps)[0]


@op("aten.native_group_norm.default", dtypes=WIDE_FLOATS)
def native_group_norm(c, input, weight, bias, group, eps):
    return _group_norm(c, input, weight, bias, group, eps, bool(c.used_outputs() - {0}))


@op("aten.instance_norm.default", preserve=True, dtypes=WIDE_FLOATS)
def instance_norm(c, input, weight, bias, running_mean, running_var, use_input_stats, eps):
    if not use_input_stats:
        return _batch_norm(c, input, weight, bias, running_mean, running_var, eps)
    c.require(running_mean is None and running_var is None, "an instance norm with running statistics is not supported")
    channels = c.require_static(input.shape[1], "the number of channels")
    return _group_norm(c, input, weight, bias, channels, eps)[0]


@op("aten._native_batch_norm_legit.no_stats", dtypes=WIDE_FLOATS)
def batch_norm_of_itself(c, input, weight, bias, training, eps):
    """Normalizes each channel, axis 1, by its own mean and variance over the batch."""
    c.require(training, "batch norm without running statistics is supported in training mode only")
    c.require(input.rank >= 2, f"the input has rank {input.rank}, less than 2")
    if input.shape[0] == 1:
        channels, back = input.shape[1], None
        x = c.reshape(input, (channels, 1, *input.shape[2:]))
    else:
        channels, back = input.shape[1], (1, 0, *range(2, input.rank))
        x = c.transpose(input, back)
    shape = x.shape
    attributes = schema.LayerNorm(axes=x.rank - 1, epsilon=float(eps))
    vector = (channels, *[1] * (x.rank - 1))
    if x.dtype == DType.Float64:
        y, *statistics = _float64_norm(c, x, tuple(range(1, x.rank)), eps)
    else:
        outputs = [(DType.Float32, shape)]
        if c.used_outputs() - {0}:
            outputs += 2 * [(DType.Float32, vector)]
        y, *statistics = c.multi_node(attributes, x, None, None, outputs=outputs)
    y = _scaled(c, y, weight, bias, vector)
    y = c.reshape(y, input.shape) if back is None else c.transpose(y, back)
    return [y, *(c.reshape(s, (channels,)) for s in statistics)] if statistics else [y, None, None]


def _layer_norm(c, x, normalized_shape, weight, bias, eps, statistics=False):
    axes = len(normalized_shape)
    if x.dtype == DType.Float64:
        y, mean, rstd = _float64_norm(c, x, tuple(range(x.rank - axes, x.rank)), eps)
        return [_scaled(c, y, weight, bias, x.shape[x.rank - axes :]), mean, rstd]
    reduced = (*x.shape[: x.rank - axes], *[1] * axes)
    outputs = [(DType.Float32, x.shape)] + 2 * [(DType.Float32, reduced)] * statistics
    attributes = schema.LayerNorm(axes=axes, epsilon=float(eps))
    results = c.multi_node(attributes, x, weight, bias, outputs=outputs)
    return results if statistics else [*results, None, None]


@op("aten.layer_norm.default", preserve=True, dtypes=WIDE_FLOATS)
def layer_norm(c, input, normalized_shape, weight, bias, eps):
    return _layer_norm(c, input, normalized_shape, weight, bias, eps)[0]


@op("aten.native_layer_norm.default", dtypes=WIDE_FLOATS)
def native_layer_norm(c, input, normalized_shape, weight, bias, eps):
    return _layer_norm(c, input, normalized_shape, weight, bias, eps, bool(c.used_outputs() - {0}))


def _rms_norm(c, x, normalized_shape, weight, eps):
    axes = len(normalized_shape)
    eps = float(np.finfo(NUMPY_DTYPES[x.dtype]).eps if eps is None else eps)
    if x.dtype == DType.Float64:
        squares = c.node(schema.Unary(kind=UnaryKind.Square), x, shape=x.shape)
        mean = reduce(c, ReduceKind.Mean, squares, tuple(range(x.rank - axes, x.rank)), True)
        y = _binary(c, BinaryKind.Mul, x, _rstd(c, mean, eps), x.shape)
        return _scaled(c, y, weight, None, x.shape[x.rank - axes :])
    attributes = schema.RmsNorm(axes=axes, epsilon=eps)
    return c.node(attributes, x, weight, shape=x.shape)


@op("aten.rms_norm.default", preserve=True, dtypes=WIDE_FLOATS)
def rms_norm(c, input, normalized_shape, weight, eps):
    return _rms_norm(c, input, normalized_shape, weight, eps)


@op("aten._fused_rms_norm.default", preserve=True, dtypes=WIDE_FLOATS)
def fused_rms_norm(c, input, normalized_shape, weight, eps):
    """The second result is for the backward pass."""
    return _rms_norm(c, input, normalized_shape, weight, eps), None
