# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ..fold import fold
from ..ir import Graph, Rewriter


def fold_constants(graph: Graph) -> Graph:
    """Computes what depends on constants alone, unless that makes the program much larger.

    ::

        const %c: Float32[2] = [1, 2]            const %n: Float32[2] = [-1, -2]
        %n: Float32[2] = Unary(%c) kind=Neg      %y: Float32[2] = Binary(%x, %n)
        %y: Float32[2] = Binary(%x, %n)          out %y
        out %y
    """
    r = Rewriter(graph)
    for node in r.walk():
        inputs = [r[name] for name in node.inputs]
        folded = fold(r, node.attributes, inputs, node.outputs[0]) if len(node.outputs) == 1 else None
        if folded is None:
            r.copy(node)
        else:
            r.replace(node.outputs[0], folded)
    return r.finish()
