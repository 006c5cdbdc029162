# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ..fold import fold
from ..ir import Graph, Node, Rewriter, Value, rewrite


def fold_constants(graph: Graph) -> Graph:
    """Computes what depends on constants alone, unless that makes the program much larger.

    ::

        const %c: Float32[2] = [1, 2]            const %n: Float32[2] = [-1, -2]
        %n: Float32[2] = Unary(%c) kind=Neg      %y: Float32[2] = Binary(%x, %n)
        %y: Float32[2] = Binary(%x, %n)          out %y
        out %y
    """
    return rewrite(graph, _folded)


def _folded(r: Rewriter, node: Node) -> Value | None:
    inputs = [r[name] for name in node.inputs]
    return fold(r, node.attributes, inputs, node.outputs[0]) if len(node.outputs) == 1 else None
