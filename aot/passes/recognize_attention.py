# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import math

import numpy as np

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType
from ..ir import Graph, Node, Rewriter, Value, dims
from .terms import Product, binary, number, private, product

_FLOAT32 = np.finfo(np.float32)
_NEVER = -1e30  # a summand of a score that leaves nothing of it: frontends use the lowest float or -inf


def _scaled(graph: Graph, name: str) -> Product:
    """``name`` as a number times one value, itself if it is nothing of the kind."""
    node = private(graph, name)
    if binary(node) in (BinaryKind.Mul, BinaryKind.Div):
        found = product(graph, node)
        if len(found.factors) == 1 and graph.values[found.factors[0]].shape == graph.values[name].shape:
            return found
    return Product(1.0, (name,))


def _drops_rows(mask: Value) -> bool:
    """Whether a constant mask leaves a row empty: softmax gives NaN there, Attention zeros."""
    return mask.constant is not None and bool(np.isneginf(mask.array).all(axis=-1).any())


@dataclasses.dataclass(frozen=True)
class _Scores:
    """scale * by_head * matmul + the sum of masks"""

    scale: float
    by_head: str | None  #: one number for each head
    matmul: Node  #: of query and key
    masks: tuple[str, ...]


def _by_head(graph: Graph, name: str) -> tuple[str, str | None]:
    """``name`` as a product of scores with a number for each head, as Swin V2 has it."""
    node = private(graph, name)
    if binary(node) == BinaryKind.Mul:
        for scores, factor in (node.inputs, node.inputs[::-1]):
            shape = graph.values[factor].shape
            is_whole = graph.values[scores].shape == graph.values[name].shape
            if is_whole and shape[-2:] == (1, 1) and number(graph, factor) is None:
                return scores, factor
    return name, None


def _without_windows(graph: Graph, name: str) -> tuple[str, tuple[str, ...]]:
    """``name`` as scores of windows plus masks, which Swin adds to scores that have an axis for images, too."""
    reshape, shape = private(graph, name), graph.values[name].shape
    masks = []
    while reshape is not None and reshape.is_a(schema.Reshape):
        inner = reshape.inputs[0]
        if graph.values[inner].shape == shape:
            return inner, tuple(masks)
        while binary(node := private(graph, inner)) == BinaryKind.Add and graph.values[inner].shape == (1, *shape):
            summands = sorted(node.inputs, key=lambda i: graph.values[i].shape != (1, *shape))
            inner = summands[0]
            masks.append(summands[1])
        reshape = private(graph, inner) if masks and graph.values[inner].shape == (1, *shape) else None
    return name, ()


def _scores(graph: Graph, name: str) -> _Scores | None:
    name, of_windows = _without_windows(graph, name)
    candidates: list[tuple[str, str | None]] = [(name, None)]
    node = private(graph, name)
    if binary(node) == BinaryKind.Add:
        candidates += [node.inputs, node.inputs[::-1]]
    for scores, mask in candidates:
        shapes = [graph.values[i].shape for i in (scores, name)]
        masks = (*of_windows, mask) if mask is not None else of_windows
        if shapes[0] != shapes[1] or any(_drops_rows(graph.values[i]) for i in masks):
            continue
        scores, by_head = _by_head(graph, scores)
        scaled = _scaled(graph, scores)
        matmul = private(graph, scaled.factors[0])
        if matmul is not None and matmul.is_a(schema.BatchMatMul) and matmul.attributes.transpose_b:
            return _Scores(scaled.scale, by_head, matmul, masks)
    return None


def _attention(r: Rewriter, node: Node) -> Value | None:
    graph = r.graph
    if not node.is_a(schema.BatchMatMul) or node.attributes.transpose_b:
        return None
    softmax = private(graph, node.inputs[0])
    if softmax is None or not softmax.is_a(schema.Softmax) or softmax.attributes.log:
        return None
    weights = graph.values[softmax.outputs[0]]
    if softmax.attributes.axis != weights.rank - 1 or weights.dtype != DType.Float32:
        return None
    found = _scores(graph, softmax.inputs[0])
    if found is None:
        return None
    query, key = (_scaled(graph, i) for i in found.matmul.inputs)
    factors = found.scale, query.scale, key.scale
    scale = math.prod(factors)
    if not _FLOAT32.tiny <= abs(scale) <= _FLOAT32.max and 0 not in factors:
        return None
    query = r[query.factors[0]]
    if found.by_head is not None:
        query = r.node(schema.Binary(kind=BinaryKind.Mul), query, r[found.by_head], shape=query.shape)
    operands = [query, r[key.factors[0]], r[node.inputs[1]]]
    if found.masks:
        operands.append(_sum_of_masks(r, found.masks, weights.rank))
    shape = graph.values[node.outputs[0]].shape
    return r.node(schema.Attention(scale=scale, causal=False), *operands, shape=shape)


def _sum_of_masks(r: Rewriter, names: tuple[str, ...], rank: int) -> Value:
    """For scores of ``rank`` axes; a mask with one more has one image."""
    first, *rest = (r.reshape(r[i], r[i].shape[1:]) if r[i].rank > rank else r[i] for i in names)
    for mask in rest:
        shape = dims.broadcast(first.shape, mask.shape)
        first = r.node(schema.Binary(kind=BinaryKind.Add), first, mask, shape=shape)
    return first


def _is_plain(node: Node) -> bool:
    """Whether it is attention as frontends have it, not an operator of language models that says how far a cache is."""
    attributes = node.attributes
    return not attributes.by_token and attributes.start == 0 and len(node.inputs) <= 4


def _ungrouped(r: Rewriter, x: Value, queries: Value) -> Value | None:
    """The heads of key or value before each was repeated for a group of queries."""
    if x.rank < 3 or x.shape[-3] != queries.shape[-3]:
        return None
    cast = r.producer(x, schema.Cast)
    if cast is not None:
        before = _ungrouped(r, r.values[cast.inputs[0]], queries)
        return None if before is None else r.node(cast.attributes, before, shape=before.shape, dtype=x.dtype)
    reshape = r.producer(x, schema.Reshape)
    if reshape is None:
        return None
    expand = r.producer(r.values[reshape.inputs[0]], schema.Expand)
    if expand is None:
        return None
    source, shape = r.values[expand.inputs[0]], expand.attributes.shape
    *batch, heads, copies, length, size = shape if len(shape) == x.rank + 1 else (0,) * 4
    if source.shape != (*batch, heads, 1, length, size):
        return None
    if x.shape != (*batch, dims.numel((heads, copies)), length, size):
        return None
    return r.reshape(source, (*batch, heads, length, size))


def _grouped(r: Rewriter, attention: Value) -> Value | None:
    node = r.producer(attention)
    if not _is_plain(node):
        return None
    query, key, value, *mask = (None if i is None else r.values[i] for i in node.inputs)
    found = [_ungrouped(r, x, query) for x in (key, value)]
    if None in found or found[0].shape[-3] != found[1].shape[-3]:
        return None
    return r.node(node.attributes, query, *found, *mask, shape=attention.shape)


def _seen(mask: Value) -> np.ndarray | None:
    """Which positions a constant mask keeps; None if it does more than that."""
    if mask.constant is None:
        return None
    if mask.dtype == DType.Bool:
        return mask.array
    seen = mask.array == 0
    return seen if (seen | (mask.array <= _NEVER)).all() else None


def _without_mask(r: Rewriter, attention: Value) -> Value | None:
    """The same with ``causal`` instead of a constant mask that says just that, or all positions."""
    node = r.producer(attention)
    if not _is_plain(node):
        return None
    query, key, value, *masks = (None if i is None else r.values[i] for i in node.inputs)
    seen = _seen(masks[0]) if masks and masks[0] is not None else None
    if seen is None:
        return None
    scores = (query.shape[-2], key.shape[-2])
    if seen.shape[-2:] == scores and (seen == np.tri(*scores, dtype=bool)).all():
        attributes = schema.Attention(scale=node.attributes.scale, causal=True)
    elif seen.all():
        attributes = node.attributes
    else:
        return None
    return r.node(attributes, query, key, value, shape=attention.shape)


def recognize_attention(graph: Graph) -> Graph:
    """Finds attention that a frontend has written out, heads repeated for grouped queries, and causal masks.

    Numbers that scale query, key or scores become ``scale``, but one for each head scales the query. Summands of the
    scores become the mask, those that Swin adds to scores of the windows of an image, too. Where a dynamic mask is -inf
    in a whole row the result is zero instead of NaN::

        %s: Float32[1, 2, 5, 5] = BatchMatMul(%q, %k) transpose_b=True
        %t: Float32[1, 2, 5, 5] = Binary(%s, %half) kind=Mul
        %u: Float32[1, 2, 5, 5] = Binary(%t, %m) kind=Add
        %w: Float32[1, 2, 5, 5] = Softmax(%u) axis=3
        %y: Float32[1, 2, 5, 8] = BatchMatMul(%w, %v)

    becomes::

        %y: Float32[1, 2, 5, 8] = Attention(%q, %k, %v, %m) scale=0.5
    """
    r = Rewriter(graph)
    for node in r.walk():
        name = node.outputs[0]
        new = _attention(r, node)
        if new is None:
            r.copy(node)
        else:
            r.replace(name, new)
        if new is not None or node.is_a(schema.Attention):
            for simplify in (_grouped, _without_mask):
                r.replace(name, simplify(r, r[name]) or r[name])
    return r.finish()
