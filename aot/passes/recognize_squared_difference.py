# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ...serialization import schema
from ...serialization.schema import BinaryKind, UnaryKind
from ..ir import Graph, Node, Rewriter, Value, rewrite
from .terms import binary, is_unary, private


def recognize_squared_difference(graph: Graph) -> Graph:
    """Squares a difference that nothing else reads in one step::

    %d: Float32[4] = Binary(%a, %b) kind=Sub    =>    %y: Float32[4] = Binary(%a, %b) kind=SquaredDifference
    %y: Float32[4] = Unary(%d) kind=Square
    """
    return rewrite(graph, _squared_difference)


def _squared_difference(r: Rewriter, node: Node) -> Value | None:
    difference = private(r.graph, node.inputs[0]) if is_unary(node, UnaryKind.Square) else None
    if binary(difference) != BinaryKind.Sub:
        return None
    a, b = (r[i] for i in difference.inputs)
    shape = r.graph.values[node.outputs[0]].shape
    return r.node(schema.Binary(kind=BinaryKind.SquaredDifference), a, b, shape=shape)
