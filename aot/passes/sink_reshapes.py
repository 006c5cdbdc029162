# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ...serialization import schema
from ..ir import Graph, Node, Rewriter, Value, rewrite
from ..traits import TRAITS


def _source(r: Rewriter, name: str) -> Value | None:
    """What the reshape that makes ``name`` for one reader reads."""
    reshape = r.producer(r[name], schema.Reshape)
    if reshape is None or r.graph.sole_user(name) is None:
        return None
    return r.values[reshape.inputs[0]]


def _along(constant: Value, shape, before) -> tuple[int, ...] | None:
    """The shape in which a constant broadcasts before the reshape as it does behind it."""
    if constant.array.size == 1:
        return ()
    size = constant.shape[-1]
    vector = constant.array.size == size
    return (size,) if vector and size == shape[-1] == before[-1] else None


def _sunk(r: Rewriter, node: Node) -> Value | None:
    """An elementwise ``node`` on operands before their reshapes, reshaped."""
    if not TRAITS[type(node.attributes)].elementwise:
        return None
    output = r.graph.values[node.outputs[0]]
    moving = [i for i in node.inputs if r[i].constant is None]
    sources = {i: _source(r, i) if r[i].shape == output.shape else None for i in moving}
    if not moving or None in sources.values():
        return None
    before = sources[moving[0]].shape
    if any(s.shape != before for s in sources.values()) or not before:
        return None
    operands = []
    for name in node.inputs:
        value = sources.get(name)
        if value is None:
            value = r[name]
            along = _along(value, output.shape or (1,), before)
            if along is None:
                return None
            if value.shape != along:
                value = r.constant(value.array.reshape(along), value.name)
        operands.append(value)
    result = r.node(node.attributes, *operands, shape=before, dtype=output.dtype)
    return r.reshape(result, output.shape)


def sink_reshapes(graph: Graph) -> Graph:
    """Moves a Reshape behind the elementwise operators that follow it.

    There it meets another Reshape, and what it kept apart can be fused::

        %y: Float32[1, 1, 8, 4] = Conv2d(%x, %w)
        %r: Float32[1, 8, 4] = Reshape(%y) shape=(1, 8, 4)
        %z: Float32[1, 8, 4] = Binary(%r, %c) kind=Mul        // const %c: Float32[4]

    becomes::

        %y: Float32[1, 1, 8, 4] = Conv2d(%x, %w)
        %m: Float32[1, 1, 8, 4] = Binary(%y, %c) kind=Mul
        %z: Float32[1, 8, 4] = Reshape(%m) shape=(1, 8, 4)
    """
    return rewrite(graph, _sunk)
