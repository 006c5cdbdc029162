# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ...serialization import schema
from ...serialization.arrays import BFLOAT16, pack
from ...serialization.schema import DType, Storage
from ..ir import Graph, Node, Rewriter, Value, rewrite

#: Bytes of Float32 from which on the memory is worth a cast of each row that is looked up.
_LARGE = 1 << 20


def _narrow(r: Rewriter, node: Node) -> Value | None:
    if not node.is_a(schema.Index):
        return None
    table = r[node.inputs[0]]
    if table.constant is None or table.dtype != DType.Float32 or table.quantization is not None:
        return None
    if table.constant.array.nbytes < _LARGE:
        return None
    bits, storage = pack(table.constant.array)
    if storage == Storage.Plain:
        return None
    numbers = r.constant(bits.view(BFLOAT16) if storage == Storage.BFloat16 else bits, table.name)
    shape = r.graph.values[node.outputs[0]].shape
    rows = r.node(node.attributes, numbers, *(r[i] for i in node.inputs[1:]), shape=shape, dtype=numbers.dtype)
    return r.node(schema.Cast(dtype=DType.Float32), rows, shape=shape, dtype=DType.Float32)


def narrow_tables(graph: Graph) -> Graph:
    """Looks up rows of large constants in the 16 bits that hold their numbers exactly, so that no widened copy of the
    table of an embedding stays in memory.

    ::

        const %t: Float32[50000, 64] = [...]
        %y: Float32[4, 64] = Index(%t, %i)

    becomes::

        const %t: BFloat16[50000, 64] = [...]
        %z: BFloat16[4, 64] = Index(%t, %i)
        %y: Float32[4, 64] = Cast(%z) dtype=Float32
    """
    return rewrite(graph, _narrow)
