# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import math

from ...serialization import schema
from ...serialization.schema import BinaryKind, Clamp, DType, UnaryKind
from ..ir import Graph, Node, Rewriter, Value, rewrite
from .terms import binary, clamped, close, is_polynomial, is_unary, number, private, product

_TANH_INNER = math.sqrt(2 / math.pi)


def _gate(graph: Graph, name: str, x: str, kind: UnaryKind) -> bool:
    """Whether ``name`` is ``kind`` of ``x`` for this reader alone."""
    node = private(graph, name)
    return is_unary(node, kind) and node.inputs[0] == x


def _hard_gate(graph: Graph, name: str) -> str | None:
    """The x of clamp(x + 3, 0, 6)."""
    found = clamped(graph, name)
    if found is None or found[0] != Clamp(0, 6):
        return None
    node = private(graph, found[1])
    if binary(node) != BinaryKind.Add:
        return None
    for x, c in (node.inputs, node.inputs[::-1]):
        if number(graph, c) == 3:
            return x
    return None


def _is_tanh_gate(graph: Graph, name: str, x: str) -> bool:
    """Whether ``name`` is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))."""
    node = private(graph, name)
    if binary(node) != BinaryKind.Add:
        return False
    for tanh, one in (node.inputs, node.inputs[::-1]):
        inner = private(graph, tanh)
        if number(graph, one) == 1 and is_unary(inner, UnaryKind.Tanh):
            expected = {1: _TANH_INNER, 3: _TANH_INNER * 0.044715}
            return is_polynomial(graph, inner.inputs[0], x, expected)
    return False


def _from_product(graph: Graph, node: Node) -> tuple[UnaryKind, str] | None:
    p = product(graph, node)
    if len(p.factors) == 1:
        x = _hard_gate(graph, p.factors[0])
        return (UnaryKind.HardSigmoid, x) if x is not None and close(p.scale, 1 / 6) else None
    if len(p.factors) != 2:
        return None
    for x, gate in (p.factors, p.factors[::-1]):
        if p.scale == 1 and _gate(graph, gate, x, UnaryKind.Sigmoid):
            return UnaryKind.Silu, x
        if p.scale == 1 and _gate(graph, gate, x, UnaryKind.HardSigmoid):
            return UnaryKind.HardSwish, x
        if close(p.scale, 1 / 6) and _hard_gate(graph, gate) == x:
            return UnaryKind.HardSwish, x
        if close(p.scale, 0.5) and _is_tanh_gate(graph, gate, x):
            return UnaryKind.GeluTanh, x
    return None


def _from_limit(graph: Graph, node: Node) -> tuple[Clamp, str] | None:
    """Maximum or Minimum with a number as a clamp."""
    kind = binary(node)
    for x, c in (node.inputs, node.inputs[::-1]):
        limit = number(graph, c)
        if limit is not None and not math.isnan(limit):
            return Clamp(limit, math.inf) if kind == BinaryKind.Maximum else Clamp(-math.inf, limit), x
    return None


def _activation(r: Rewriter, node: Node) -> Value | None:
    output = r.graph.values[node.outputs[0]]
    if output.dtype != DType.Float32:
        return None
    attributes = x = None
    if binary(node) in (BinaryKind.Mul, BinaryKind.Div):
        kind, x = _from_product(r.graph, node) or (None, None)
        attributes = schema.Unary(kind=kind)
    elif binary(node) in (BinaryKind.Maximum, BinaryKind.Minimum):
        clamp, x = _from_limit(r.graph, node) or (None, None)
        attributes = schema.Unary(kind=UnaryKind.Clamp, clamp=clamp)
    if x is None or r.graph.values[x].shape != output.shape:
        return None
    return r.node(attributes, r[x], shape=output.shape)


def recognize_activations(graph: Graph) -> Graph:
    """Finds activation functions that a frontend has written out.

    x * sigmoid(x), x * clamp(x + 3, 0, 6) / 6, gelu with tanh, in any order of factors and
    with the polynomial in any form; also clamp(x + 3, 0, 6) / 6 and limits by a number::

        %s: Float32[4] = Unary(%x) kind=Sigmoid         %y: Float32[4] = Unary(%x) kind=Silu
        %y: Float32[4] = Binary(%x, %s) kind=Mul        %z: Float32[4] = Unary(%y) kind=Clamp clamp=(0, inf)
        %z: Float32[4] = Binary(%y, %zero) kind=Maximum

    Not for values that something else reads, too: those would be computed twice.
    """
    return rewrite(graph, _activation)
