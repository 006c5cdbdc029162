# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from typing import NamedTuple

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, UnaryKind
from ..ir import Graph, Node, Rewriter, Value, dims, rewrite
from .terms import binary, is_unary


class _Window(NamedTuple):
    """Neighbours along the last axis of a value that is seen in ``shape``."""

    of: str
    shape: tuple
    start: int
    size: int


class _Part(NamedTuple):
    """One half of a window, or with ``pairs`` every second element."""

    whole: _Window
    pairs: bool
    second: bool


def _slice(graph: Graph, name: str) -> Node | None:
    """The slice of a last axis, of known size, that makes ``name``."""
    node = graph.producer(name, schema.Slice)
    if node is None or node.attributes.axis != graph.values[name].rank - 1:
        return None
    sizes = (graph.values[node.inputs[0]].shape[-1], node.attributes.start, node.attributes.size)
    return node if all(isinstance(i, int) for i in sizes) else None


def _in(graph: Graph, name: str, start: int, size: int) -> _Window:
    """A window of ``name``, which may be another shape of a value."""
    shape = graph.values[name].shape
    while (node := graph.producer(name, schema.Reshape)) is not None:
        name = node.inputs[0]
    return _Window(name, shape, start, size)


def _window(graph: Graph, name: str) -> _Window:
    node = _slice(graph, name)
    if node is None or node.attributes.step != 1:
        return _in(graph, name, 0, graph.values[name].shape[-1])
    return _in(graph, node.inputs[0], node.attributes.start, node.attributes.size)


def _parts(graph: Graph, name: str) -> list[_Part]:
    """Each part that ``name`` may be."""
    node = graph.producers.get(name)
    if node is not None and node.is_a(schema.Reshape):
        return _column(graph, node)
    node = _slice(graph, name)
    if node is None or node.attributes.step > 2:
        return []
    of, a = node.inputs[0], node.attributes
    pairs = a.step == 2
    starts = (a.start, a.start - (1 if pairs else a.size))
    found = [_Part(_in(graph, of, start, 2 * a.size), pairs, start != a.start) for start in starts]
    return [p for p in found if p.whole.start >= 0 and p.whole.start + p.whole.size <= graph.values[of].shape[-1]]


def _column(graph: Graph, node: Node) -> list[_Part]:
    """x.reshape(..., E / 2, 2)[..., i]."""
    cut = _slice(graph, node.inputs[0])
    if cut is None or cut.attributes.size != 1 or graph.values[cut.inputs[0]].shape[-1] != 2:
        return []
    split = graph.producer(cut.inputs[0], schema.Reshape)
    if split is None:
        return []
    half = graph.values[node.outputs[0]].shape
    if graph.values[split.outputs[0]].shape != (*half, 2) or not half or not isinstance(half[-1], int):
        return []
    whole = (*half[:-1], 2 * half[-1])
    window = _window(graph, split.inputs[0])
    if graph.values[split.inputs[0]].shape != whole:  # x had another shape, and two reshapes became one
        window = _Window(_in(graph, split.inputs[0], 0, whole[-1]).of, whole, 0, whole[-1])
    return [_Part(window, True, cut.attributes.start == 1)]


def _joined(graph: Graph, name: str) -> tuple[str, str, bool] | None:
    """Two values that ``name`` has as its halves or, if the third is true, in turn."""
    node = graph.producers.get(name)
    shape = graph.values[name].shape
    pairs = node is not None and node.is_a(schema.Reshape)
    if pairs:
        node = graph.producers.get(node.inputs[0])
    if node is None or not node.is_a(schema.Concat) or len(node.inputs) != 2 or not shape:
        return None
    joined = graph.values[node.outputs[0]].shape
    if node.attributes.axis != len(joined) - 1 or not isinstance(shape[-1], int):
        return None
    first, second = node.inputs
    if pairs:
        columns = [graph.producer(i, schema.Reshape) for i in node.inputs]
        if None in columns:
            return None
        first, second = (c.inputs[0] for c in columns)
    half = (*shape[:-1], shape[-1] // 2)
    if shape[-1] % 2 or any(graph.values[i].shape != half for i in (first, second)):
        return None
    if pairs and joined != (*half, 2):
        return None
    return first, second, pairs


def _rotated(graph: Graph, name: str, x: str) -> bool | None:
    """``pairs`` where ``name`` is x with two parts swapped, the new first one negated; else None."""
    found = _joined(graph, name)
    if found is None or graph.values[x].shape != graph.values[name].shape:
        return None
    first, second, pairs = found
    negated = graph.producers.get(first)
    if not is_unary(negated, UnaryKind.Neg):
        return None
    whole = _window(graph, x)
    is_turned = _Part(whole, pairs, True) in _parts(graph, negated.inputs[0])
    return pairs if is_turned and _Part(whole, pairs, False) in _parts(graph, second) else None


def _factors(graph: Graph, name: str) -> tuple[tuple[str, str], ...]:
    """The operands of a product in both orders."""
    node = graph.producers.get(name)
    return (node.inputs, node.inputs[::-1]) if binary(node) == BinaryKind.Mul else ()


def _from_sum(graph: Graph, node: Node) -> tuple[str, str, str, bool] | None:
    """x, cos, sin and ``pairs`` of x * cos + rotated(x) * sin."""
    if binary(node) != BinaryKind.Add:
        return None
    for straight, turned in (node.inputs, node.inputs[::-1]):
        for x, cos in _factors(graph, straight):
            for r, sin in _factors(graph, turned):
                pairs = _rotated(graph, r, x)
                if pairs is not None:
                    return x, cos, sin, pairs
    return None


def _products(graph: Graph, node: Node | None, kind: BinaryKind) -> list[tuple[str, str, str, str]]:
    """Each way to read ``node`` as a * b (kind) c * d."""
    if binary(node) != kind:
        return []
    orders = [node.inputs, node.inputs[::-1]] if kind == BinaryKind.Add else [node.inputs]
    return [(*p, *q) for left, right in orders for p in _factors(graph, left) for q in _factors(graph, right)]


def _from_parts(graph: Graph, node: Node) -> tuple[_Window, str, str, bool] | None:
    """x, half of cos, half of sin and ``pairs`` of a * cos - b * sin joined with b * cos + a * sin."""
    found = _joined(graph, node.outputs[0])
    if found is None:
        return None
    first, second, pairs = found
    for a, cos, b, sin in _products(graph, graph.producers.get(first), BinaryKind.Sub):
        for part in _parts(graph, a):
            if part.pairs != pairs or part.second:
                continue
            other = _Part(part.whole, pairs, True)
            if other not in _parts(graph, b):
                continue
            for d, cos_of_d, c, sin_of_c in _products(graph, graph.producers.get(second), BinaryKind.Add):
                same = (cos_of_d, sin_of_c) == (cos, sin)
                if same and other in _parts(graph, d) and part in _parts(graph, c):
                    return part.whole, cos, sin, pairs
    return None


def _doubled(r: Rewriter, half: Value, pairs: bool) -> Value:
    """Both parts of cos or sin from the one that they share."""
    *rest, size = half.shape
    if not pairs:
        return r.node(schema.Concat(axis=half.rank - 1), half, half, shape=(*rest, 2 * size))
    column = r.reshape(half, (*half.shape, 1))
    return r.reshape(r.node(schema.Expand(shape=(*half.shape, 2)), column, shape=(*half.shape, 2)), (*rest, 2 * size))


def _broadcasts(angles: Value, shape: tuple, last) -> bool:
    """Whether cos or sin has a last axis of ``last`` and repeats for what ``shape`` has beyond that."""
    if angles.dtype != DType.Float32 or not 1 <= angles.rank <= len(shape) or angles.shape[-1] != last:
        return False
    others = (1,) * (len(shape) - angles.rank) + tuple(angles.shape[:-1])
    return dims.broadcast(others, shape[:-1]) == tuple(shape[:-1])


def _rotary(r: Rewriter, node: Node) -> Value | None:
    graph = r.graph
    output = graph.values[node.outputs[0]]
    if output.dtype != DType.Float32 or output.rank < 2:
        return None
    found = _from_sum(graph, node)
    if found is not None:
        x, *angles, pairs = found
        if graph.values[x].shape != output.shape:
            return None
        if all(_broadcasts(graph.values[i], output.shape, output.shape[-1]) for i in angles):
            return _node(r, r[x], [r[i] for i in angles], pairs)
    if not node.is_a(schema.Concat, schema.Reshape):
        return None
    found = _from_parts(graph, node)
    if found is None:
        return None
    whole, *angles, pairs = found
    if (*whole.shape[:-1], whole.size) != output.shape:
        return None
    if not all(_broadcasts(graph.values[i], output.shape, whole.size // 2) for i in angles):
        return None
    return _node(r, _cut(r, whole), [_doubled(r, r[i], pairs) for i in angles], pairs)


def _node(r: Rewriter, x: Value, angles: list[Value], pairs: bool) -> Value:
    return r.node(schema.RotaryEmbedding(interleaved=pairs), x, *angles, shape=x.shape)


def _cut(r: Rewriter, window: _Window) -> Value:
    x = r[window.of]
    if x.shape != window.shape:
        x = r.reshape(x, window.shape)
    shape = (*x.shape[:-1], window.size)
    attributes = schema.Slice(axis=x.rank - 1, start=window.start, size=window.size)
    return x if x.shape == shape else r.node(attributes, x, shape=shape)


def recognize_rotary_embedding(graph: Graph) -> Graph:
    """Finds rotary embeddings that a frontend has written out, of halves or of neighbours, also of a part of each row.

    As a sum::

        %a: Float32[5, 8] = Binary(%x, %cos) kind=Mul
        %l: Float32[5, 4] = Slice(%x) axis=1 size=4
        %h: Float32[5, 4] = Slice(%x) axis=1 start=4 size=4
        %n: Float32[5, 4] = Unary(%h) kind=Neg
        %r: Float32[5, 8] = Concat(%n, %l) axis=1
        %b: Float32[5, 8] = Binary(%r, %sin) kind=Mul
        %y: Float32[5, 8] = Binary(%a, %b) kind=Add

    or with two parts that are joined, l * cos - h * sin and h * cos + l * sin, becomes::

        %y: Float32[5, 8] = RotaryEmbedding(%x, %cos, %sin)
    """
    return rewrite(graph, _rotary)
