# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on constants, computed with NumPy."""

import numpy as np

from ..serialization.schema import BinaryKind, UnaryKind

_UNARY = {
    UnaryKind.Abs: np.abs,
    UnaryKind.Copy: lambda x: x,
    UnaryKind.Neg: np.negative,
    UnaryKind.Reciprocal: lambda x: 1 / x,
    UnaryKind.Sqrt: np.sqrt,
    UnaryKind.Square: np.square,
}
_BINARY = {
    BinaryKind.Add: np.add,
    BinaryKind.Sub: np.subtract,
    BinaryKind.Mul: np.multiply,
    BinaryKind.Div: np.divide,
}


def _unary(a, x):
    return _UNARY[a.kind](x) if a.kind in _UNARY else None


def _binary(a, x, y):
    if a.kind not in _BINARY or x.dtype != np.float32 or a.clamp is not None:
        return None
    return np.asarray(_BINARY[a.kind](x, y))


def _reshape(a, x):
    return x.reshape(a.shape) if all(isinstance(d, int) for d in a.shape) else None


def _expand(a, x):
    return np.broadcast_to(x, a.shape) if all(isinstance(d, int) for d in a.shape) else None


def _slice(a, x):
    if not isinstance(a.start, int) or not isinstance(a.size, int):
        return None
    index = [slice(None)] * x.ndim
    index[a.axis] = slice(a.start, a.start + (a.size - 1) * a.step + 1, a.step)
    return x[tuple(index)]


_EVALUATORS = {
    "Unary": _unary,
    "Binary": _binary,
    "Reshape": _reshape,
    "Expand": _expand,
    "Slice": _slice,
    "Transpose": lambda a, x: x.transpose(a.perm),
    "Concat": lambda a, *xs: np.concatenate(xs, axis=a.axis),
    "Pad": lambda a, x: np.pad(x, list(zip(a.before, a.after)), constant_values=a.value),
}


def evaluate(attributes, inputs: list[np.ndarray]) -> np.ndarray | None:
    """The result of one operator, or None if it is not worth or not safe to compute here.

    Float results are the same as at run time up to rounding: only operators that NumPy
    and the runtime both round correctly are in the table.
    """
    evaluator = _EVALUATORS.get(type(attributes).__name__)
    if evaluator is None or any(i is None for i in inputs):
        return None
    with np.errstate(all="ignore"):
        return evaluator(attributes, *inputs)
