# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on constants become constants."""

from collections.abc import Sequence

import numpy as np

from ..serialization import schema
from ..serialization.arrays import DTYPES, REDUCED_FLOATS
from ..serialization.schema import DType
from .ir import Builder, Quantization, Value
from .traits import TRAITS, traits_of

_FREE_BYTES = 1 << 16  # results up to this size are worth a node less, whatever the operands


def fold(builder: Builder, attributes, inputs: Sequence[Value | None], name: str = "c") -> Value | None:
    """The result of one operator as a constant, if its inputs are and ``evaluate`` can; integers that
    stand for numbers are moved, not computed with."""
    if any(i is not None and i.constant is None for i in inputs):
        return None
    if all(i is None or i.quantization is None for i in inputs):
        result = evaluate(attributes, [None if i is None else i.array for i in inputs])
        return None if result is None else builder.constant(result, name)
    if len(inputs) != 1 or not traits_of(attributes).picks:
        return None
    (x,) = inputs
    moved = evaluate(attributes, [x.constant.array])
    if moved is None:
        return None
    old = x.quantization
    parameters = old.scale, old.zero_point
    if not old.is_per_tensor:
        shape = x.constant.array.shape
        parameters = [evaluate(attributes, [old.for_each(p, shape)]) for p in parameters]
        if any(p is None for p in parameters):
            return None
        parameters = _shortest(parameters)
    return builder.constant(moved, name, Quantization(old.dtype, *parameters))


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
    evaluator = TRAITS[type(attributes)].evaluate
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
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
    if not isinstance(attributes, schema.Cast):
        return False
    before = DTYPES[inputs[0].dtype]
    if before in REDUCED_FLOATS:
        return attributes.dtype == DType.Float32
    return before in (DType.Int8, DType.UInt8) and attributes.dtype in (DType.Float32, DType.Int32)
