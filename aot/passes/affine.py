# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Products and sums with constants of one number a channel, and products whose parameters are known ahead of time."""

import dataclasses

import numpy as np

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, UnaryKind
from ..ir import Node, Rewriter, Value
from ..traits import TRAITS


@dataclasses.dataclass(frozen=True)
class Affine:
    """x * scale + shift, for each channel (the last axis) or for all."""

    x: str  #: the operand that is no constant
    scale: np.ndarray
    shift: np.ndarray


def _vector(value: Value, channels) -> np.ndarray | None:
    """A constant that varies along the last axis at most, in float64."""
    if value.constant is None or value.dtype != DType.Float32:
        return None
    if value.array.size == 1:
        return value.array.astype(np.float64).reshape(())
    if value.array.size == channels == value.shape[-1]:
        return value.array.astype(np.float64).reshape(-1)
    return None


def affine_of(values, node: Node | None) -> Affine | None:
    """``node`` as an affine map of the channels of one operand."""
    if node is None or values[node.outputs[0]].dtype != DType.Float32:
        return None
    shape = values[node.outputs[0]].shape
    zero, one = np.zeros(()), np.ones(())
    if node.is_a(schema.Unary) and node.attributes.kind == UnaryKind.Neg:
        return Affine(node.inputs[0], -one, zero)
    if not node.is_a(schema.Binary) or node.attributes.clamp is not None or not shape:
        return None
    for x, c in (node.inputs, node.inputs[::-1]):
        vector = _vector(values[c], shape[-1])
        if vector is None or values[x].constant is not None or values[x].shape != shape:
            continue
        kind, first = node.attributes.kind, x == node.inputs[0]
        if kind == BinaryKind.Add:
            return Affine(x, one, vector)
        if kind == BinaryKind.Sub:
            return Affine(x, one, -vector) if first else Affine(x, -one, vector)
        if kind == BinaryKind.Mul:
            return Affine(x, vector, zero)
        if kind == BinaryKind.Div and first:
            with np.errstate(divide="ignore"):
                return Affine(x, 1 / vector, zero)
    return None


def parameters_of(r: Rewriter, node: Node | None) -> tuple[np.ndarray, np.ndarray | None] | None:
    """Weight and bias of a product, if both are known ahead of time."""
    if node is None or not TRAITS[type(node.attributes)].is_product:
        return None
    weight = r.values[node.inputs[1]]
    bias = r.values[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] is not None else None
    if weight.constant is None or (bias is not None and bias.constant is None):
        return None
    if weight.quantization is not None:
        return None  # the program would hold floats instead
    return weight.array, None if bias is None else bias.array
