# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ...serialization import schema
from ...serialization.schema import BinaryKind, UnaryKind
from ..ir import Graph, Rewriter
from .terms import binary, is_unary, private


def recognize_squared_difference(graph: Graph) -> Graph:
    """Squares a difference that nothing else reads in one step::

    %d: Float32[4] = Binary(%a, %b) kind=Sub    =>    %y: Float32[4] = Binary(%a, %b) kind=SquaredDifference
    %y: Float32[4] = Unary(%d) kind=Square
    """
    r = Rewriter(graph)
    for node in r.walk():
        difference = private(graph, node.inputs[0]) if is_unary(node, UnaryKind.Square) else None
        if binary(difference) != BinaryKind.Sub:
            r.copy(node)
            continue
        output = graph.values[node.outputs[0]]
        a, b = (r[i] for i in difference.inputs)
        y = r.node(schema.Binary(kind=BinaryKind.SquaredDifference), a, b, shape=output.shape)
        r.replace(output.name, y)
    return r.finish()
