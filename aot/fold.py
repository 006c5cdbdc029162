# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on constants, computed with NumPy."""

import numpy as np

from ..serialization.schema import BinaryKind, PadMode, ReduceKind, UnaryKind
from .ir.graph import NUMPY_DTYPES

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
_BINARY_INTEGER = (BinaryKind.Add, BinaryKind.Sub, BinaryKind.Mul, BinaryKind.Maximum, BinaryKind.Minimum)
_BINARY_ROUNDED = {BinaryKind.Pow: np.power, BinaryKind.Atan2: np.arctan2}


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
    if a.kind in (_BINARY if x.dtype == np.float32 else _BINARY_INTEGER) and x.dtype != np.bool_:
        return np.asarray(_BINARY[a.kind](x, y))
    if a.kind in _BINARY_ROUNDED and x.dtype == np.float32:
        x, y = x.astype(np.float64), y.astype(np.float64)
        return np.asarray(_BINARY_ROUNDED[a.kind](x, y), np.float32)
    return None


def _reduce(a, x):
    if x.dtype != np.float32 or a.kind not in (ReduceKind.Sum, ReduceKind.Mean):
        return None
    function = np.sum if a.kind == ReduceKind.Sum else np.mean
    y = function(x, axis=tuple(a.axes), keepdims=a.keep_dims, dtype=np.float64)
    return np.asarray(y, np.float32)


def _cast(a, x):
    return x.astype(NUMPY_DTYPES[a.dtype])


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
    amounts = list(zip(a.before, a.after))
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
}


def evaluate(attributes, inputs: list[np.ndarray]) -> np.ndarray | None:
    """The result of one operator, or None if it is not worth or not safe to compute here.

    Float results are the correctly rounded ones, as far as NumPy gives them.
    """
    evaluator = _EVALUATORS.get(type(attributes).__name__)
    if evaluator is None or any(i is None for i in inputs):
        return None
    with np.errstate(all="ignore"):
        return evaluator(attributes, *inputs)
