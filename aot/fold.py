# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on constants, computed with NumPy."""

from collections.abc import Sequence

import numpy as np

from ..serialization.arrays import DTYPES, FLOATS, HALVES, convert
from ..serialization.schema import BinaryKind, CompareKind, DType, PadMode, ReduceKind, ScanKind, UnaryKind
from .ir import Builder, Quantization, Value

_FREE_BYTES = 1 << 16  # results up to this size are worth a node less, whatever the operands

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


def _unary(a, x):
    if a.kind in _UNARY:
        return np.asarray(_UNARY[a.kind](x))
    if a.kind == UnaryKind.Clamp:
        return np.asarray(np.minimum(np.maximum(x, np.float32(a.clamp.min)), np.float32(a.clamp.max)))
    if a.kind in _UNARY_ROUNDED and x.dtype == np.float32:
        return np.asarray(_UNARY_ROUNDED[a.kind](x.astype(np.float64)), np.float32)
    return None


def _binary(a, x, y):
    if a.clamp is not None or x.dtype != y.dtype:
        return None
    functions = {np.dtype(np.float32): _BINARY, np.dtype(np.bool_): _BINARY_BITS}.get(x.dtype, _BINARY_INTEGER)
    if a.kind in functions:
        return np.asarray(functions[a.kind](x, y))
    if a.kind in _INTEGER_DIVISION and functions is _BINARY_INTEGER and y.all():
        return np.asarray(_INTEGER_DIVISION[a.kind](x, y))
    if a.kind in _BINARY_ROUNDED and x.dtype == np.float32:
        x, y = x.astype(np.float64), y.astype(np.float64)
        return np.asarray(_BINARY_ROUNDED[a.kind](x, y), np.float32)
    return None


def _reduce(a, x):
    if a.kind in _REDUCE and x.size:
        return np.asarray(_REDUCE[a.kind](x, axis=tuple(a.axes), keepdims=a.keep_dims))
    if a.kind == ReduceKind.Sum and x.dtype in (np.int32, np.int64):
        return np.asarray(np.sum(x, axis=tuple(a.axes), keepdims=a.keep_dims, dtype=x.dtype))
    if x.dtype != np.float32 or a.kind not in (ReduceKind.Sum, ReduceKind.Mean):
        return None
    function = np.sum if a.kind == ReduceKind.Sum else np.mean
    y = function(x, axis=tuple(a.axes), keepdims=a.keep_dims, dtype=np.float64)
    return np.asarray(y, np.float32)


def _scan(a, x):
    if a.kind != ScanKind.Sum or x.ndim == 0:
        return None
    wide = np.float64 if x.dtype == np.float32 else x.dtype
    return np.cumsum(x, axis=a.axis, dtype=wide).astype(x.dtype)


def _iota(a):
    return np.arange(a.size, dtype=np.int64) if isinstance(a.size, int) else None


def _size_value(a):
    return np.asarray(a.size, np.int64) if isinstance(a.size, int) else None


def _index(a, x, *indices):
    sizes = x.shape[a.axis : a.axis + len(indices)]
    for index, size in zip(indices, sizes, strict=True):
        if index.size and not (-size if a.wrap else 0) <= index.min() <= index.max() < size:
            return None
    return x[(slice(None),) * a.axis + indices]


def _cast(a, x):
    integer = a.dtype in (DType.Int32, DType.Int64)
    if integer and DTYPES[x.dtype] in FLOATS and not np.isfinite(convert(x, DType.Float32)).all():
        return None
    return convert(x, a.dtype)


def _reshape(a, x):
    return x.reshape(a.shape) if all(isinstance(d, int) for d in a.shape) else None


def _expand(a, x):
    return np.broadcast_to(x, a.shape) if all(isinstance(d, int) for d in a.shape) else None


def _slice(a, x):
    if not isinstance(a.start, int) or not isinstance(a.size, int):
        return None
    index = [slice(None)] * x.ndim
    index[a.axis] = slice(a.start, a.start + a.size * a.step, a.step)
    return x[tuple(index)]


def _pad(a, x):
    amounts = list(zip(a.before, a.after, strict=True))
    if a.mode == PadMode.Constant and DTYPES[x.dtype] == DType.BFloat16:
        return convert(_pad(a, convert(x, DType.Float32)), DType.BFloat16)
    if a.mode == PadMode.Constant:
        return np.pad(x, amounts, constant_values=a.value)
    modes = {PadMode.Reflect: "reflect", PadMode.Replicate: "edge", PadMode.Circular: "wrap"}
    return np.pad(x, amounts, mode=modes[a.mode])


_EVALUATORS = {
    "Unary": _unary,
    "Binary": _binary,
    "Reduce": _reduce,
    "Cast": _cast,
    "Reshape": _reshape,
    "Expand": _expand,
    "Slice": _slice,
    "Transpose": lambda a, x: x.transpose(a.perm),
    "Concat": lambda a, *xs: np.concatenate(xs, axis=a.axis),
    "Pad": _pad,
    "Compare": lambda a, x, y: np.asarray(_COMPARE[a.kind](x, y)),
    "Where": lambda a, condition, x, y: np.where(condition, x, y),
    "Scan": _scan,
    "Iota": _iota,
    "SizeValue": _size_value,
    "Index": _index,
}


def fold(builder: Builder, attributes, inputs: Sequence[Value | None], name: str = "c") -> Value | None:
    """The result of one operator as a constant, if its inputs are and ``evaluate`` can; integers that
    stand for numbers are moved, not computed with."""
    if any(i is not None and i.constant is None for i in inputs):
        return None
    if all(i is None or i.quantization is None for i in inputs):
        result = evaluate(attributes, [None if i is None else i.array for i in inputs])
        return None if result is None else builder.constant(result, name)
    if len(inputs) != 1 or type(attributes).__name__ not in _MOVES:
        return None
    (x,) = inputs
    moved = evaluate(attributes, [x.constant.array])
    if moved is None:
        return None
    old = x.quantization
    parameters = old.scale, old.zero_point
    if not old.is_per_tensor:
        shape = x.constant.array.shape
        parameters = _shortest([evaluate(attributes, [old.for_each(p, shape)]) for p in parameters])
    return builder.constant(moved, name, Quantization(old.dtype, *parameters))


_MOVES = ("Reshape", "Transpose", "Slice", "Expand")


def _shortest(parameters: list[np.ndarray]) -> list[np.ndarray]:
    """Scales and zero points of each element as those of the largest blocks, equal along whole axes."""
    for axis in range(parameters[0].ndim):
        first = [p.take([0], axis) if p.shape[axis] else p for p in parameters]
        if all((p == f).all() for p, f in zip(parameters, first, strict=True)):
            parameters = first
    return [np.ascontiguousarray(p) for p in parameters]


def evaluate(attributes, inputs: list[np.ndarray]) -> np.ndarray | None:
    """The result of one operator, or None if it is not safe to compute here or much larger than ``inputs``.

    Float results are the correctly rounded ones, as far as NumPy gives them.
    """
    evaluator = _EVALUATORS.get(type(attributes).__name__)
    if evaluator is None or any(i is None for i in inputs):
        return None
    with np.errstate(all="ignore"):
        result = evaluator(attributes, *inputs)
    if result is None or _is_widening(attributes, inputs):
        return result
    return None if result.nbytes > _FREE_BYTES + sum(i.nbytes for i in inputs) else result


def _is_widening(attributes, inputs) -> bool:
    """Whether it casts 16 bits to Float32, which a program stores in 16 bits again, or the integers of weights and
    their zero points, which products with integers look for."""
    if type(attributes).__name__ != "Cast":
        return False
    before = DTYPES[inputs[0].dtype]
    if before in HALVES:
        return attributes.dtype == DType.Float32
    return before in (DType.Int8, DType.UInt8) and attributes.dtype in (DType.Float32, DType.Int32)
