# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Quantization with parameters that are found while the model runs, and in blocks of any shape."""

import functools

import numpy as np
import torch

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, QParamsKind
from .quantize import as_zero_points, dequantize, quantize
from .registry import op

_quantized = functools.partial(op, dtypes=DType)
_PARAMETERS = (DType.Float32, DType.Int32)  # eager PyTorch: float64 and int64, or int8
_TAKE_ANY = ("quantize", "_to_copy", "_to_dim_order_copy")  # operators to which the type does not matter
_EPSILON = float(np.finfo(np.float32).eps)


def _choose(c, x, kind, axes, low, high, epsilon):
    """Scale and zero point of x over its last ``axes`` axes, which have size 1 then."""
    c.require(x.dtype == DType.Float32, f"the input has type {x.dtype.name}, not Float32")
    c.require(low < high, f"the range of the integers, {low} to {high}, is empty")
    shape = (*x.shape[: x.rank - axes], *[1] * axes)
    attributes = schema.ChooseQParams(
        kind=kind, axes=axes, min=low, max=high, epsilon=max(epsilon, float(np.finfo(np.float32).tiny))
    )
    return c.multi_node(attributes, x, outputs=((DType.Float32, shape), (DType.Int32, shape)))


def _results(c, scale, zero_point, shape):
    """As the operator returns them; where their types are others only quantization may see them."""
    for getitem in c.fx_node.users:
        dtype = str(getitem.meta["val"].dtype).removeprefix("torch.")
        same = dtype == _PARAMETERS[getitem.args[1]].name.lower()
        quantizing = all(any(t in str(u.target) for t in _TAKE_ANY) for u in getitem.users)
        c.require(same or quantizing, f"a scale or zero point of type {dtype} may only be used to quantize")
    return [c.reshape(scale, shape), c.reshape(zero_point, shape)]


@_quantized("quantized_decomposed.choose_qparams.tensor", result_dtypes=_PARAMETERS)
def choose_qparams(c, input, quant_min, quant_max, eps):
    chosen = _choose(c, input, QParamsKind.Asymmetric, input.rank, quant_min, quant_max, eps)
    return _results(c, *chosen, (1,))


@_quantized("quantized_decomposed.choose_qparams_symmetric.tensor", result_dtypes=_PARAMETERS)
def choose_qparams_symmetric(c, input, quant_min, quant_max, eps):
    chosen = _choose(c, input, QParamsKind.Symmetric, input.rank, quant_min, quant_max, eps)
    return _results(c, *chosen, (1,))


@_quantized("quantized_decomposed.choose_qparams_per_token_asymmetric.default", result_dtypes=_PARAMETERS)
def choose_qparams_per_token(c, input):
    scale, zero_point = _choose(c, input, QParamsKind.Nearest, 1, -128, 127, _EPSILON)
    return _results(c, scale, zero_point, scale.shape)


def _axes_of_blocks(c, x, block_size) -> int:
    """How many last axes a block covers whole; each other axis it cuts into single indices."""
    axes = x.rank
    while axes and block_size[x.rank - axes] == 1:
        axes -= 1
    whole = tuple(block_size[x.rank - axes :]) == tuple(x.shape[x.rank - axes :])
    c.require(whole, "each block of dynamic quantization must be whole in its last axes and of size 1 in the others")
    return axes


@_quantized("torchao.choose_qparams_affine.default", result_dtypes=_PARAMETERS)
def choose_qparams_affine(c, input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps):
    kinds = {"ASYMMETRIC": QParamsKind.Asymmetric, "SYMMETRIC": QParamsKind.Symmetric}
    c.require(mapping_type in kinds, f"the mapping type {mapping_type} is not supported")
    low, high = _range(c, target_dtype, quant_min, quant_max)
    axes = _axes_of_blocks(c, input, block_size)
    if eps is None:
        eps = float(torch.finfo(c.fx_node.args[0].meta["val"].dtype).smallest_normal)
    chosen = _choose(c, input, kinds[mapping_type], axes, low, high, eps)
    return _results(c, *chosen, c.outs[0].shape)


def _range(c, dtype, low, high):
    name = str(dtype).removeprefix("torch.")
    c.require(name in ("int8", "uint8"), f"the integers have type {name}, not int8 or uint8")
    info = np.iinfo(name)
    return info.min if low is None else int(low), info.max if high is None else int(high)


def _blocks(c, x, block_size, scale, zero_point):
    """Scale and zero point with one element for each block of ``x``."""
    c.require(len(block_size) == x.rank, "the size of a block must have as many entries as the input has axes")
    shape = []
    for size, block in zip(x.shape, block_size, strict=True):
        fits = block == size or isinstance(size, int) and size % block == 0 or block == 1
        c.require(fits, "blocks must divide each axis into equal parts")
        shape.append(1 if block == size else size if block == 1 else size // block)
    scale = c.reshape(c.operand(scale, DType.Float32), shape)
    if zero_point is None or zero_point.shape == (0,):
        return scale, _zeros(c, shape)
    return scale, c.reshape(as_zero_points(c, zero_point), shape)


def _zeros(c, shape):
    zero = c.constant(np.zeros((), np.int32))
    if all(isinstance(d, int) for d in shape):
        return c.constant(np.zeros(shape, np.int32))
    return c.node(schema.Expand(shape=tuple(shape)), zero, shape=shape)


@_quantized("torchao.quantize_affine.default")
def quantize_affine(c, input, block_size, scale, zero_point, output_dtype, quant_min, quant_max):
    low, high = _range(c, output_dtype, quant_min, quant_max)
    return quantize(c, input, *_blocks(c, input, block_size, scale, zero_point), low, high)


@_quantized("torchao.dequantize_affine.default")
def dequantize_affine(c, input, block_size, scale, zero_point):
    return dequantize(c, input, *_blocks(c, input, block_size, scale, zero_point))


def _rows(x):
    return [*[1] * (x.rank - 1), x.shape[-1]]


@_quantized("quantized_decomposed.quantize_per_token.default")
def quantize_per_token(c, input, scales, zero_points, quant_min, quant_max):
    parameters = _blocks(c, input, _rows(input), scales, zero_points)
    return quantize(c, input, *parameters, quant_min, quant_max, rounds_last=True)


@_quantized("quantized_decomposed.dequantize_per_token.default")
def dequantize_per_token(c, input, scales, zero_points):
    return dequantize(c, input, *_blocks(c, input, _rows(input), scales, zero_points))


@_quantized("quantized_decomposed.dequantize_per_channel_group.default")
def dequantize_per_channel_group(c, input, scales, zero_points, group_size):
    return dequantize(c, input, *_blocks(c, input, [1, group_size], scales, zero_points))


# Embeddings -----------------------------------------------------------------------------


def _picked(c, table, indices):
    """Rows of a table."""
    shape = (*indices.shape, *table.shape[1:])
    return c.node(schema.Index(axis=0, wrap=False), table, indices, shape=shape, dtype=table.dtype)


def _bits(c, kind, x, number):
    return c.node(schema.Binary(kind=kind), x, c.constant(np.array(number, np.uint8)), shape=x.shape)


def _unpacked(c, x, divisors, size):
    """The numbers of ``size`` bits in each byte, as many as there are divisors."""
    parts = []
    for divisor in divisors:
        part = x if divisor == 1 else _bits(c, BinaryKind.FloorDiv, x, divisor)
        part = _bits(c, BinaryKind.BitAnd, part, 2**size - 1)
        parts.append(c.reshape(part, (*x.shape, 1)))
    shape = (*x.shape, len(parts))
    together = c.node(schema.Concat(axis=x.rank), *parts, shape=shape)
    return c.reshape(together, (*x.shape[:-1], x.shape[-1] * len(parts)))


def _embedding(c, weight, scales, zero_points, indices, unpack=None, offset=0):
    c.require(
        weight.rank == 2 and scales.rank <= 2,
        f"the table has rank {weight.rank}, not 2",
    )
    groups = 1 if scales.rank == 1 else scales.shape[1]
    scales = c.reshape(c.operand(scales, DType.Float32), (weight.shape[0], groups))
    x, scale = _picked(c, weight, indices), _picked(c, scales, indices)
    if unpack is not None:
        c.require(weight.dtype == DType.UInt8, f"a packed table has type {weight.dtype.name}, not UInt8")
        x = unpack(x)
    zero_point = c.constant(np.array(offset, np.int32))
    if zero_points is None:
        return dequantize(c, x, scale, c.node(schema.Expand(shape=scale.shape), zero_point, shape=scale.shape))
    zeros = _picked(c, c.reshape(as_zero_points(c, zero_points), (weight.shape[0], groups)), indices)
    if zeros.dtype == DType.Int32:
        zeros = c.node(schema.Binary(kind=BinaryKind.Add), zeros, zero_point, shape=zeros.shape)
    elif offset:  # whose sum with them would be rounded
        x = c.node(schema.Binary(kind=BinaryKind.Sub), c.cast(x, DType.Int32), zero_point, shape=x.shape)
    return dequantize(c, x, scale, zeros)


@_quantized("quantized_decomposed.embedding_byte.default", "quantized_decomposed.embedding_byte.dtype")
def embedding_byte(c, weight, weight_scales, weight_zero_points, indices):
    return _embedding(c, weight, weight_scales, weight_zero_points, indices)


@_quantized("quantized_decomposed.embedding_4bit.default", "quantized_decomposed.embedding_4bit.dtype")
def embedding_4bit(c, weight, weight_scales, weight_zero_points, indices):
    """Two in a byte, the first one in the upper half."""
    unpack = lambda x: _unpacked(c, x, (16, 1), 4)  # noqa: E731
    return _embedding(c, weight, weight_scales, weight_zero_points, indices, unpack, 8)


@_quantized("quantized_decomposed.embedding_2bit.default", "quantized_decomposed.embedding_2bit.dtype")
def embedding_2bit(c, weight, weight_scales, weight_zero_points, indices):
    unpack = lambda x: _unpacked(c, x, (1, 4, 16, 64), 2)  # noqa: E731
    return _embedding(c, weight, weight_scales, weight_zero_points, indices, unpack, 2)
