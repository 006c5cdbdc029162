# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Reads arithmetic out of a graph: products, polynomials, clamps. What patterns are made of."""

import dataclasses
import math

from ...serialization import schema
from ...serialization.schema import BinaryKind, Clamp, DType, UnaryKind
from ..ir import Graph, Node
from .fuse_clamp import compose, is_clamp

Polynomial = dict[int, float]  # coefficient by power, without zeros

_MAX_DEGREE = 4
_MAX_NODES = 16  # a pattern is small; this bounds the time for each node of a graph


def is_unary(node: Node | None, kind: UnaryKind) -> bool:
    return node is not None and node.is_a(schema.Unary) and node.attributes.kind == kind


def binary(node: Node | None) -> BinaryKind | None:
    """The kind of a Binary that does nothing else."""
    if node is None or not node.is_a(schema.Binary) or node.attributes.clamp is not None:
        return None
    return node.attributes.kind


def close(a: float, b: float) -> bool:
    """Equal as far as float32 constants in programs tell."""
    return math.isclose(a, b, rel_tol=1e-4)


def number(graph: Graph, name: str | None) -> float | None:
    """The one number of a constant."""
    value = None if name is None else graph.values[name]
    if value is None or value.constant is None or value.dtype != DType.Float32 or value.array.size != 1:
        return None
    return float(value.array.reshape(-1)[0])


def private(graph: Graph, name: str) -> Node | None:
    """The node that makes ``name`` for one reader only: a pattern may take it in."""
    return graph.producers.get(name) if graph.sole_user(name) is not None else None


@dataclasses.dataclass(frozen=True)
class Product:
    scale: float
    factors: tuple[str, ...]


def product(graph: Graph, root: Node) -> Product:
    """``root`` as a number times other values."""
    scale, factors = 1.0, []
    stack: list[tuple[str, Node | None]] = [(root.outputs[0], root)]
    budget = _MAX_NODES
    while stack:
        name, node = stack.pop()
        kind = binary(node)
        constant = number(graph, name)
        budget -= 1
        if constant is not None:
            scale *= constant
        elif is_unary(node, UnaryKind.Neg):
            scale = -scale
            stack.append((node.inputs[0], private(graph, node.inputs[0])))
        elif kind == BinaryKind.Mul and budget > 0:
            stack += [(i, private(graph, i)) for i in node.inputs]
        elif kind == BinaryKind.Div and number(graph, node.inputs[1]):
            scale /= number(graph, node.inputs[1])
            stack.append((node.inputs[0], private(graph, node.inputs[0])))
        else:
            factors.append(name)
    return Product(scale, tuple(sorted(factors)))


def _times(a: Polynomial, b: Polynomial) -> Polynomial | None:
    result: Polynomial = {}
    for i, x in a.items():
        for j, y in b.items():
            result[i + j] = result.get(i + j, 0.0) + x * y
    return result if max(result, default=0) <= _MAX_DEGREE else None


def polynomial(graph: Graph, name: str, x: str) -> Polynomial | None:
    """The value as a polynomial of ``x``; None if it is none."""
    budget = [_MAX_NODES]

    def visit(name: str) -> Polynomial | None:
        budget[0] -= 1
        if name == x:
            return {1: 1.0}
        constant = number(graph, name)
        if constant is not None:
            return {0: constant}
        node = graph.producers.get(name)
        if node is None or budget[0] <= 0:
            return None
        if node.is_a(schema.Unary) and node.attributes.kind in (UnaryKind.Square, UnaryKind.Neg):
            a = visit(node.inputs[0])
            if a is None:
                return None
            return _times(a, a if node.attributes.kind == UnaryKind.Square else {0: -1.0})
        kind = binary(node)
        if kind not in (BinaryKind.Add, BinaryKind.Sub, BinaryKind.Mul, BinaryKind.Div, BinaryKind.Pow):
            return None
        a, b = visit(node.inputs[0]), visit(node.inputs[1])
        if a is None or b is None:
            return None
        if kind == BinaryKind.Mul:
            return _times(a, b)
        if kind in (BinaryKind.Add, BinaryKind.Sub):
            sign = 1.0 if kind == BinaryKind.Add else -1.0
            return {p: a.get(p, 0.0) + sign * b.get(p, 0.0) for p in a.keys() | b.keys()}
        exponent = number(graph, node.inputs[1])
        if exponent is None:
            return None
        if kind == BinaryKind.Div:
            return _times(a, {0: 1 / exponent}) if exponent else None
        if exponent not in (2.0, 3.0):
            return None
        square = _times(a, a)
        return square if exponent == 2.0 or square is None else _times(square, a)

    result = visit(name)
    return None if result is None else {p: c for p, c in result.items() if c}


def is_polynomial(graph: Graph, name: str, x: str, expected: Polynomial) -> bool:
    found = polynomial(graph, name, x)
    if found is None or found.keys() != expected.keys():
        return False
    return all(close(c, found[p]) for p, c in expected.items())


def clamped(graph: Graph, name: str) -> tuple[Clamp, str] | None:
    """The range that one or more clamps give to ``name``, and the value they clamp."""
    clamp = None
    node = private(graph, name)
    while is_clamp(node):
        outer = clamp
        clamp = node.attributes.clamp if outer is None else compose(node.attributes.clamp, outer)
        if clamp is None:
            return None
        name = node.inputs[0]
        node = private(graph, name)
    return None if clamp is None else (clamp, name)
