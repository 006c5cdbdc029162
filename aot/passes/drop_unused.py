# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ..ir import Graph, Rewriter


def drop_unused(graph: Graph) -> Graph:
    """Removes nodes and constants that no output depends on.

    ::

        in %x: Float32[4]                      in %x: Float32[4]
        %a: Float32[4] = Unary(%x) kind=Exp    %b: Float32[4] = Unary(%x)
        %b: Float32[4] = Unary(%x)             out %b
        out %b
    """
    r = Rewriter(graph)
    for node in graph.nodes:
        r.copy(node)
    return r.finish()
