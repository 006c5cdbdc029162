# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import functools

from ...serialization import schema
from ..ir import Graph, Node, Rewriter, Value, dims, rewrite


def _large(shape):
    return [d for d in shape if d != 1]


def _source(r: Rewriter, x: Value) -> Value:
    """What holds the elements of ``x`` in the same order, one view earlier if there is one."""
    view = r.producer(x, schema.Reshape, schema.Expand)
    if view is None:
        return x
    source = r.values[view.inputs[0]]
    return source if view.is_a(schema.Reshape) or _large(source.shape) == _large(x.shape) else x


def _reshape(r: Rewriter, node: Node, x: Value) -> Value | None:
    source = _source(r, x)
    return None if source is x else r.reshape(source, node.attributes.shape)


def _transpose(r: Rewriter, node: Node, x: Value) -> Value | None:
    perm = node.attributes.perm
    inner = r.producer(x, schema.Transpose)
    if inner is not None:
        _pass_on_source(r, x, inner)
        return r.transpose(r.values[inner.inputs[0]], [inner.attributes.perm[p] for p in perm])
    moved = [p for p in perm if x.shape[p] != 1]
    if moved == sorted(moved) and perm != tuple(range(x.rank)):
        return r.reshape(_source(r, x), [x.shape[p] for p in perm])
    return None


def _pass_on_source(r: Rewriter, x: Value, transpose: Node) -> None:
    """Nobody may read ``x`` any more: who looks for this result finds it in the operand, with other axes."""
    operand, perm = r.values[transpose.inputs[0]], transpose.attributes.perm
    if x.source is not None and r.producer(operand) is not None:
        order = tuple(x.source.order[perm.index(axis)] for axis in range(x.rank))
        r.set_source(operand, dataclasses.replace(x.source, order=order))


def _expand(r: Rewriter, node: Node, x: Value) -> Value | None:
    shape = node.attributes.shape
    if _large(shape) == _large(x.shape) and shape != x.shape:
        return r.reshape(_source(r, x), shape)
    inner = r.producer(x, schema.Expand)
    if inner is None:
        return None
    return r.node(node.attributes, r.values[inner.inputs[0]], shape=shape)


def _slice(r: Rewriter, node: Node, x: Value) -> Value | None:
    inner = r.producer(x, schema.Slice)
    a = node.attributes
    if inner is None or inner.attributes.axis != a.axis:
        return None
    b = inner.attributes
    source = r.values[inner.inputs[0]]
    start = dims.simplify(b.start + a.start * b.step)
    if b.step != 1:  # what begins at the end of a slice with steps may begin behind that of its operand
        start = dims.minimum(start, source.shape[a.axis])
    merged = dataclasses.replace(a, start=start, step=a.step * b.step)
    shape = (*x.shape[: a.axis], a.size, *x.shape[a.axis + 1 :])
    return r.node(merged, source, shape=shape)


def _broadcasting(r: Rewriter, node: Node, *operands: Value) -> Value | None:
    old = r.graph.values[node.outputs[0]]
    found = list(operands)
    for i, x in enumerate(operands):
        expand = r.producer(x, schema.Expand)
        if expand is None:
            continue
        others = [v.shape for k, v in enumerate(found) if k != i]
        source = r.values[expand.inputs[0]]
        if functools.reduce(dims.broadcast, others, source.shape) == old.shape:
            found[i] = source
    if all(new is x for new, x in zip(found, operands, strict=True)):
        return None
    return r.node(node.attributes, *found, shape=old.shape, dtype=old.dtype)


def _concat(r: Rewriter, node: Node, *xs: Value) -> Value | None:
    flat = []
    for x, name in zip(xs, node.inputs, strict=True):
        inner = r.producer(x, schema.Concat)
        same = inner is not None and inner.attributes == node.attributes
        if same and r.graph.sole_user(name) is not None:
            flat += [r.values[i] for i in inner.inputs]
        else:
            flat.append(x)
    if len(flat) == len(xs):
        return None
    return r.node(node.attributes, *flat, shape=r.graph.values[node.outputs[0]].shape)


_RULES = {
    schema.Reshape: _reshape,
    schema.Transpose: _transpose,
    schema.Expand: _expand,
    schema.Slice: _slice,
    schema.Binary: _broadcasting,
    schema.Compare: _broadcasting,
    schema.Where: _broadcasting,
    schema.Concat: _concat,
}


def _collapsed(r: Rewriter, node: Node) -> Value | None:
    rule = _RULES.get(type(node.attributes))
    return None if rule is None else rule(r, node, *(r[i] for i in node.inputs))


def collapse_views(graph: Graph) -> Graph:
    """Makes one node of several that only move elements, and the cheapest one that does it.

    Chains of Reshape, Transpose, Expand, Slice and Concat become one; a Transpose or Expand
    that moves axes of size 1 only becomes a Reshape; a Binary broadcasts by itself::

        %a: Float32[1, 4, 3] = Transpose(%x) perm=(0, 2, 1)   // %x: Float32[1, 3, 4]
        %b: Float32[4, 1, 3] = Transpose(%a) perm=(1, 0, 2)
        %c: Float32[12] = Reshape(%b) shape=(12)
        %e: Float32[2, 12] = Expand(%c) shape=(2, 12)
        %y: Float32[2, 12] = Binary(%e, %z)                   // %z: Float32[2, 12]

    becomes::

        %b: Float32[4, 1, 3] = Transpose(%x) perm=(2, 0, 1)
        %c: Float32[12] = Reshape(%b) shape=(12)
        %y: Float32[2, 12] = Binary(%c, %z)
    """
    return rewrite(graph, _collapsed)
