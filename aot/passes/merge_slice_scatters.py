# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

from ...serialization import schema
from ..ir import Graph, Node, Rewriter, Value, rewrite


def _through_reshape(r: Rewriter, value: Value) -> tuple[Value, Node | None]:
    """What a reshape makes ``value`` from, else itself, and the node that makes that."""
    node = r.producer(value)
    if node is not None and node.is_a(schema.Reshape):
        value = r.values[node.inputs[0]]
        node = r.producer(value)
    return value, node


def _merged(r: Rewriter, node: Node, x: Value, values: Value) -> Value | None:
    written, inner = _through_reshape(r, values)
    if inner is None or not inner.is_a(schema.SliceScatter):
        return None
    seen, part = _through_reshape(r, r.values[inner.inputs[0]])
    if part is None or not part.is_a(schema.Slice) or part.inputs[0] != x.name or seen.shape != values.shape:
        return None
    outer, axis, piece = node.attributes, part.attributes.axis, r.values[inner.inputs[1]]
    rest = [i for i in range(x.rank) if i != axis]
    if outer.start[axis] != part.attributes.start or outer.step[axis] != part.attributes.step:
        return None
    if any(outer.start[i] != 0 or outer.step[i] != 1 or seen.shape[i] != x.shape[i] for i in rest):
        return None
    start, step = list(inner.attributes.start), list(inner.attributes.step)
    if written.shape != values.shape:
        if values.shape[axis] != 1 or written.shape != tuple(values.shape[i] for i in rest):
            return None
        start.insert(axis, 0)
        step.insert(axis, 1)
        piece = r.reshape(piece, (*piece.shape[:axis], 1, *piece.shape[axis:]))
    start[axis] = outer.start[axis] + outer.step[axis] * start[axis]
    step[axis] = outer.step[axis] * step[axis]
    attributes = dataclasses.replace(outer, start=tuple(start), step=tuple(step))
    return r.node(attributes, x, piece, shape=x.shape)


def _written_at_once(r: Rewriter, node: Node) -> Value | None:
    if not node.is_a(schema.SliceScatter):
        return None
    x, values = (r[i] for i in node.inputs)
    return values if values.shape == x.shape else _merged(r, node, x, values)


def merge_slice_scatters(graph: Graph) -> Graph:
    """Writes to a slice of a slice at once, ``x[1, 2:4] = v``, and a whole tensor not at all.

    ::

        %a: Float32[1, 6] = Slice(%x) start=1 size=1
        %b: Float32[6] = Reshape(%a) shape=(6)
        %c: Float32[6] = SliceScatter(%b, %v) start=(2) step=(1)
        %d: Float32[1, 6] = Reshape(%c) shape=(1, 6)
        %y: Float32[3, 6] = SliceScatter(%x, %d) start=(1, 0) step=(1, 1)

    becomes::

        %d: Float32[1, 2] = Reshape(%v) shape=(1, 2)
        %y: Float32[3, 6] = SliceScatter(%x, %d) start=(1, 2) step=(1, 1)
    """
    return rewrite(graph, _written_at_once)
