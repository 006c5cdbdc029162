# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on constants, computed with NumPy.

Each function takes the attributes of an operator and its operands and gives the result, or None where it is
not safe to compute ahead of time. Float results are the correctly rounded ones, as far as NumPy gives them.
"""

import numpy as np

from ...serialization.arrays import DTYPES, FLOATS, convert
from ...serialization.schema import BinaryKind, CompareKind, DType, PadMode, ReduceKind, ScanKind, UnaryKind

# Computed in the type of the operand, which gives the same bits as at run time.
_UNARY = {
    UnaryKind.Abs: np.abs,
    UnaryKind.Ceil: np.ceil,
    UnaryKind.Copy: lambda x: x,
    UnaryKind.Floor: np.floor,
    UnaryKind.Neg: np.negative,
    UnaryKind.Reciprocal: lambda x: 1 / x,
    UnaryKind.Round: np.rint,
    UnaryKind.Sqrt: np.sqrt,
    UnaryKind.Square: np.square,
}
# Computed in float64 and rounded once, at least as exact as any kernel.
_UNARY_ROUNDED = {
    UnaryKind.Cos: np.cos,
    UnaryKind.Exp: np.exp,
    UnaryKind.Log: np.log,
    UnaryKind.Rsqrt: lambda x: 1 / np.sqrt(x),
    UnaryKind.Sigmoid: lambda x: 1 / (1 + np.exp(-x)),
    UnaryKind.Silu: lambda x: x / (1 + np.exp(-x)),
    UnaryKind.Sin: np.sin,
    UnaryKind.Tanh: np.tanh,
}
_BINARY = {
    BinaryKind.Add: np.add,
    BinaryKind.Sub: np.subtract,
    BinaryKind.Mul: np.multiply,
    BinaryKind.Div: np.divide,
    BinaryKind.Maximum: np.maximum,
    BinaryKind.Minimum: np.minimum,
    BinaryKind.Copysign: np.copysign,
    BinaryKind.SquaredDifference: lambda x, y: np.square(x - y),
}
_BINARY_BITS = {
    BinaryKind.BitAnd: np.bitwise_and,
    BinaryKind.BitOr: np.bitwise_or,
    BinaryKind.BitXor: np.bitwise_xor,
}
_BINARY_INTEGER = {
    **_BINARY_BITS,
    **{k: _BINARY[k] for k in (BinaryKind.Add, BinaryKind.Sub, BinaryKind.Mul, BinaryKind.Maximum, BinaryKind.Minimum)},
}
_INTEGER_DIVISION = {
    BinaryKind.FloorDiv: np.floor_divide,
    BinaryKind.Remainder: np.remainder,
    BinaryKind.Fmod: np.fmod,
}
_BINARY_ROUNDED = {BinaryKind.Pow: np.power, BinaryKind.Atan2: np.arctan2}
_COMPARE = {
    CompareKind.Equal: np.equal,
    CompareKind.NotEqual: np.not_equal,
    CompareKind.Less: np.less,
    CompareKind.LessEqual: np.less_equal,
    CompareKind.Greater: np.greater,
    CompareKind.GreaterEqual: np.greater_equal,
}
_REDUCE = {
    ReduceKind.Max: np.max,
    ReduceKind.Min: np.min,
    ReduceKind.Any: np.any,
    ReduceKind.All: np.all,
}

_MOST_PRODUCTS = 1 << 34  # of float64, which take some seconds


def unary(a, x):
    if a.kind in _UNARY:
        return np.asarray(_UNARY[a.kind](x))
    if a.kind == UnaryKind.Clamp:
        return np.asarray(np.minimum(np.maximum(x, np.float32(a.clamp.min)), np.float32(a.clamp.max)))
    if a.kind in _UNARY_ROUNDED and x.dtype == np.float32:
        return np.asarray(_UNARY_ROUNDED[a.kind](x.astype(np.float64)), np.float32)
    return None


def binary(a, x, y):
    if a.clamp is not None or x.dtype != y.dtype:
        return None
    functions = {np.float32: _BINARY, np.float64: _BINARY, np.bool_: _BINARY_BITS}.get(x.dtype.type, _BINARY_INTEGER)
    if a.kind in functions:
        return np.asarray(functions[a.kind](x, y))
    if a.kind in _INTEGER_DIVISION and functions is _BINARY_INTEGER and y.all():
        return np.asarray(_INTEGER_DIVISION[a.kind](x, y))
    if a.kind in _BINARY_ROUNDED and x.dtype == np.float32:
        x, y = x.astype(np.float64), y.astype(np.float64)
        return np.asarray(_BINARY_ROUNDED[a.kind](x, y), np.float32)
    return None


def reduce(a, x):
    if a.kind in _REDUCE and x.size:
        return np.asarray(_REDUCE[a.kind](x, axis=tuple(a.axes), keepdims=a.keep_dims))
    if a.kind == ReduceKind.Sum and x.dtype in (np.int32, np.int64):
        return np.asarray(np.sum(x, axis=tuple(a.axes), keepdims=a.keep_dims, dtype=x.dtype))
    if x.dtype != np.float32 or a.kind not in (ReduceKind.Sum, ReduceKind.Mean):
        return None
    function = np.sum if a.kind == ReduceKind.Sum else np.mean
    y = function(x, axis=tuple(a.axes), keepdims=a.keep_dims, dtype=np.float64)
    return np.asarray(y, np.float32)


def scan(a, x):
    if a.kind != ScanKind.Sum or x.ndim == 0:
        return None
    wide = np.float64 if x.dtype == np.float32 else x.dtype
    return np.cumsum(x, axis=a.axis, dtype=wide).astype(x.dtype)


def iota(a):
    return np.arange(a.size, dtype=np.int64) if isinstance(a.size, int) else None


def size_value(a):
    return np.asarray(a.size, np.int64) if isinstance(a.size, int) else None


def index(a, x, *indices):
    sizes = x.shape[a.axis : a.axis + len(indices)]
    for positions, size in zip(indices, sizes, strict=True):
        if positions.size and not (-size if a.wrap else 0) <= positions.min() <= positions.max() < size:
            return None
    return x[(slice(None),) * a.axis + indices]


def cast(a, x):
    integer = a.dtype in (DType.Int32, DType.Int64)
    if integer and DTYPES[x.dtype] in FLOATS and not np.isfinite(convert(x, DType.Float32)).all():
        return None
    return convert(x, a.dtype)


def reshape(a, x):
    return x.reshape(a.shape) if all(isinstance(d, int) for d in a.shape) else None


def expand(a, x):
    return np.broadcast_to(x, a.shape) if all(isinstance(d, int) for d in a.shape) else None


def slice_axis(a, x):
    if not isinstance(a.start, int) or not isinstance(a.size, int):
        return None
    window = [slice(None)] * x.ndim
    window[a.axis] = slice(a.start, a.start + a.size * a.step, a.step)
    return x[tuple(window)]


def pad(a, x):
    amounts = list(zip(a.before, a.after, strict=True))
    if a.mode == PadMode.Constant and DTYPES[x.dtype] == DType.BFloat16:
        return convert(pad(a, convert(x, DType.Float32)), DType.BFloat16)
    if a.mode == PadMode.Constant:
        return np.pad(x, amounts, constant_values=a.value)
    modes = {PadMode.Reflect: "reflect", PadMode.Replicate: "edge", PadMode.Circular: "wrap"}
    return np.pad(x, amounts, mode=modes[a.mode])


def transpose(a, x):
    return x.transpose(a.perm)


def concat(a, *xs):
    return np.concatenate(xs, axis=a.axis)


def compare(a, x, y):
    return np.asarray(_COMPARE[a.kind](x, y))


def where(a, condition, x, y):
    return np.where(condition, x, y)


def layer_norm(a, x, weight=None, bias=None):
    if x.dtype != np.float32:
        return None
    axes = tuple(range(x.ndim - a.axes, x.ndim))
    y = x.astype(np.float64)
    y -= y.mean(axes, keepdims=True)
    y /= np.sqrt(np.square(y).mean(axes, keepdims=True) + np.float64(a.epsilon))
    y = y if weight is None else y * weight
    return np.asarray(y if bias is None else y + bias, np.float32)


def softmax(a, x):
    if x.dtype != np.float32 or not x.size:
        return None
    y = x.astype(np.float64)
    y -= y.max(a.axis, keepdims=True)
    total = np.exp(y).sum(a.axis, keepdims=True)
    return np.asarray(y - np.log(total) if a.log else np.exp(y) / total, np.float32)


def linear(a, x, weight, bias=None):
    if a.clamp is not None:
        return None
    y = _product(x, weight.T)
    return _rounded(y if y is None or bias is None else y + bias)


def batch_matmul(a, x, y):
    return _rounded(_product(x, y.swapaxes(-1, -2) if a.transpose_b else y))


def _product(x, y):
    """Of float64."""
    if x.dtype != np.float32 or y.dtype != np.float32 or x.size * y.shape[-1] > _MOST_PRODUCTS:
        return None
    return np.matmul(x.astype(np.float64), y.astype(np.float64))


def _rounded(y):
    return None if y is None else np.asarray(y, np.float32)


def gather(a, x, index):
    size = x.shape[a.axis]
    if index.size and not 0 <= index.min() <= index.max() < size:
        return None
    window = tuple(slice(s) if axis != a.axis else slice(None) for axis, s in enumerate(index.shape))
    return np.take_along_axis(x[window], index, a.axis)
