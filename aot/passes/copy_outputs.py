# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ...serialization import schema
from ...serialization.schema import UnaryKind
from ..ir import Graph, Rewriter


def copy_outputs(graph: Graph) -> Graph:
    """Gives every output a node of its own, as the runtime requires.

    An output that is an input, a constant or an earlier output becomes a copy of it::

        in %x: Float32[4]      in %x: Float32[4]
        out %x                 %a: Float32[4] = Unary(%x) kind=Copy
        out %x                 %b: Float32[4] = Unary(%x) kind=Copy
                               out %a
                               out %b
    """
    r = Rewriter(graph)
    for node in graph.nodes:
        r.copy(node)
    outputs = []
    taken = set()
    r.debug_handle = 0
    for output in graph.outputs:
        value = r[output.value]
        if r.producer(value) is None or value.name in taken:
            value = r.node(schema.Unary(kind=UnaryKind.Copy), value, shape=value.shape)
        taken.add(value.name)
        outputs.append(value)
    return r.finish(outputs)
