# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ..fold import evaluate
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
        folded = None
        if all(i is None or i.constant is not None for i in inputs):
            folded = evaluate(node.attributes, [None if i is None else i.array for i in inputs])
        if folded is None:
            r.copy(node)
        else:
            r.replace(node.outputs[0], r.constant(folded, node.outputs[0]))
    return r.finish()
