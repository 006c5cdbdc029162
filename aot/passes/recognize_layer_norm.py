# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import math

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, ReduceKind, UnaryKind
from ..ir import Graph, Node, Rewriter, Value, rewrite
from .terms import binary, is_unary, number


def _mean_of(graph: Graph, name: str) -> tuple[str, tuple[int, ...]] | None:
    """The operand and axes, the last ones, of a mean that keeps its dimensions."""
    node = graph.producer(name, schema.Reduce)
    if node is None:
        return None
    a, rank = node.attributes, graph.values[node.inputs[0]].rank
    if a.kind != ReduceKind.Mean or not a.keep_dims:
        return None
    last = tuple(range(rank - len(a.axes), rank))
    return (node.inputs[0], last) if tuple(a.axes) == last else None


def _is_square(graph: Graph, name: str, of: str) -> bool:
    node = graph.producers.get(name)
    if is_unary(node, UnaryKind.Square):
        return node.inputs[0] == of
    if binary(node) == BinaryKind.Mul:
        return node.inputs == (of, of)
    return binary(node) == BinaryKind.Pow and node.inputs[0] == of and number(graph, node.inputs[1]) == 2


def _root_of(graph: Graph, node: Node) -> tuple[str, str] | None:
    """(d, v) where ``node`` is d / sqrt(v)."""
    if binary(node) == BinaryKind.Div:
        root = graph.producers.get(node.inputs[1])
        if is_unary(root, UnaryKind.Sqrt):
            return node.inputs[0], root.inputs[0]
        if binary(root) == BinaryKind.Pow and number(graph, root.inputs[1]) == 0.5:
            return node.inputs[0], root.inputs[0]
    if binary(node) == BinaryKind.Mul:
        for d, name in (node.inputs, node.inputs[::-1]):
            root = graph.producers.get(name)
            if is_unary(root, UnaryKind.Rsqrt):
                return d, root.inputs[0]
            if binary(root) == BinaryKind.Pow and number(graph, root.inputs[1]) == -0.5:
                return d, root.inputs[0]
    return None


def _normalized(graph: Graph, node: Node) -> tuple[str, schema.LayerNorm | schema.RmsNorm] | None:
    """The operand and attributes of d / sqrt(mean(d^2) + epsilon), where d may be x - mean(x)."""
    found = _root_of(graph, node)
    if found is None:
        return None
    centered, variance = found
    added = graph.producers.get(variance)
    if binary(added) != BinaryKind.Add:
        return None
    for mean_square, epsilon in (added.inputs, added.inputs[::-1]):
        epsilon, squares = number(graph, epsilon), _mean_of(graph, mean_square)
        if epsilon is None or squares is None or not _is_square(graph, squares[0], centered):
            continue
        if not 0 <= epsilon < math.inf or not squares[1]:
            continue
        axes = len(squares[1])
        difference = graph.producers.get(centered)
        if binary(difference) == BinaryKind.Sub:
            x, mean = difference.inputs
            if _mean_of(graph, mean) == (x, squares[1]):
                return x, schema.LayerNorm(axes=axes, epsilon=epsilon)
        return centered, schema.RmsNorm(axes=axes, epsilon=epsilon)
    return None


def _scaled(r: Rewriter, node: Node) -> Value | None:
    """A norm that takes in the constant ``node`` multiplies with or (a LayerNorm) adds."""
    kind = binary(node)
    if kind not in (BinaryKind.Mul, BinaryKind.Add):
        return None
    for name, other in (node.inputs, node.inputs[::-1]):
        norm, constant = r.producer(r[name], schema.LayerNorm, schema.RmsNorm), r[other]
        if norm is None or constant.constant is None:
            continue
        if len(norm.outputs) > 1 or (norm.is_a(schema.RmsNorm) and kind == BinaryKind.Add):
            continue
        x = r.values[norm.inputs[0]]
        shape = x.shape[x.rank - norm.attributes.axes :]
        if r.graph.sole_user(name) is None or constant.shape[-len(shape) :] != shape:
            continue
        if constant.rank > x.rank or any(d != 1 for d in constant.shape[: -len(shape)]):
            continue
        weight, bias = (*(r.values[i] if i else None for i in norm.inputs[1:]), None, None)[:2]
        if bias is not None or (kind == BinaryKind.Mul and weight is not None):
            continue
        constant = r.constant(constant.array.reshape(shape), other)
        operands = (constant,) if kind == BinaryKind.Mul else (weight, constant)
        return r.node(norm.attributes, x, *operands, shape=x.shape)
    return None


def _norm(r: Rewriter, node: Node) -> Value | None:
    output = r.graph.values[node.outputs[0]]
    if not node.is_a(schema.Binary) or output.dtype != DType.Float32:
        return None
    found = _normalized(r.graph, node)
    # An epsilon of more axes gives the result more, too.
    if found is None or r.graph.values[found[0]].shape != output.shape:
        return _scaled(r, node)
    x, attributes = found
    return r.node(attributes, r[x], shape=r[x].shape)


def recognize_layer_norm(graph: Graph) -> Graph:
    """Finds layer norms and RMS norms that a frontend has written out, over the last axes in memory.

    That includes norms over the channels of an image, so this runs after ``choose_layout``::

        %m: Float32[4, 1] = Reduce(%x) kind=Mean axes=(1) keep_dims=True
        %d: Float32[4, 8] = Binary(%x, %m) kind=Sub
        %q: Float32[4, 8] = Unary(%d) kind=Square
        %v: Float32[4, 1] = Reduce(%q) kind=Mean axes=(1) keep_dims=True
        %e: Float32[4, 1] = Binary(%v, %epsilon) kind=Add
        %s: Float32[4, 1] = Unary(%e) kind=Sqrt
        %n: Float32[4, 8] = Binary(%d, %s) kind=Div
        %y: Float32[4, 8] = Binary(%n, %w) kind=Mul
        %z: Float32[4, 8] = Binary(%y, %b) kind=Add

    becomes::

        %z: Float32[4, 8] = LayerNorm(%x, %w, %b) epsilon=1e-06

    and without the subtraction an RmsNorm.
    """
    return rewrite(graph, _norm)
