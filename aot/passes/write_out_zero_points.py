# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import numpy as np

from ...serialization import schema
from ..ir import Graph, Node, Rewriter, Value
from ..zero_points import dequantize


def write_out_zero_points(graph: Graph, refused: list[tuple[str, str, str]] | None = None) -> Graph:
    """Replaces constants of integers with zero points that are not whole, which a blob cannot hold.

    Tables of which rows are picked stay integers; ``refused`` gets name, operator and reason of what reads others::

        const %t: Float32[9, 4] as Int8[9, 1](%s from %z)
        %y: Float32[3, 4] = Index(%t, %i)

    becomes::

        %q: Int8[3, 4] = Index(%t, %i)
        %a: Float32[3, 1] = Index(%s, %i)
        %b: Float32[3, 1] = Index(%z, %i)
        %f: Float32[3, 4] = Cast(%q) dtype=Float32
        %d: Float32[3, 4] = Binary(%f, %b) kind=Sub
        %y: Float32[3, 4] = Binary(%d, %a) kind=Mul
    """
    refused = [] if refused is None else refused
    found = [v for v in graph.values.values() if v.quantization is not None and not v.quantization.is_whole]
    if not found:
        return graph
    r = Rewriter(graph)
    tables = {}
    for value in found:
        users = graph.users[value.name]
        if value.name not in graph.output_names and all(_picks_rows(value, user) for user in users):
            q = value.quantization
            arrays = value.constant.array, q.scale, q.zero_point
            tables[value.name] = [r.constant(a, value.name) for a in arrays]
        else:
            refused += [(u.outputs[0], u.op, "a zero point of a constant is not a whole number") for u in users]
            with np.errstate(all="ignore"):
                r.replace(value.name, r.constant(value.array, value.name))
    for node in r.walk():
        if node.inputs and node.inputs[0] in tables:
            r.replace(node.outputs[0], _picked(r, node, *tables[node.inputs[0]]))
        else:
            r.copy(node)
    return r.finish()


def _picks_rows(table: Value, user: Node) -> bool:
    if not user.is_a(schema.Index) or user.attributes.axis != 0 or len(user.inputs) != 2:
        return False
    parameters = table.quantization.scale, table.quantization.zero_point
    return user.inputs[0] == table.name and all(p.shape[:1] in ((), (1,), table.shape[:1]) for p in parameters)


def _picked(r: Rewriter, node: Node, *table: Value) -> Value:
    """The numbers of the rows, given integers, scales and zero points of the table."""
    indices = r[node.inputs[1]]

    def rows(x):
        if x.rank == 0:
            return x
        if x.shape[0] != table[0].shape[0]:
            return r.reshape(x, (*[1] * indices.rank, *x.shape[1:]))
        return r.node(node.attributes, x, indices, shape=(*indices.shape, *x.shape[1:]))

    return dequantize(r, *map(rows, table))
