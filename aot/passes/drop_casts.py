# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from ...serialization.arrays import HALVES
from ...serialization.schema import AdaptivePoolKind, DType, UnaryKind
from ..ir import Graph, Node, Rewriter, Value


def _rounds(node: Node | None, x: Value | None) -> bool:
    """Whether ``node`` casts the Float32 ``x`` to 16 bits."""
    return node is not None and node.op == "Cast" and x.dtype == DType.Float32 and node.attributes.dtype in HALVES


def _commutes(node: Node | None) -> bool:
    """Whether it gives the same if its operand is rounded first and the result again: it picks or limits elements."""
    if node is None:
        return False
    if node.op == "Unary":
        return node.attributes.kind in (UnaryKind.Clamp, UnaryKind.Neg, UnaryKind.Abs, UnaryKind.Copy)
    return node.op == "MaxPool2d" or (node.op == "AdaptivePool2d" and node.attributes.kind == AdaptivePoolKind.Max)


def drop_casts(graph: Graph) -> Graph:
    """Removes roundings to 16 bits that change nothing.

    ::

        %a: Float16[4] = Cast(%x) dtype=Float16
        %b: Float32[4] = Cast(%a) dtype=Float32
        %c: Float32[4] = Unary(%b) kind=Abs
        %y: Float16[4] = Cast(%c) dtype=Float16

    becomes::

        %c: Float32[4] = Unary(%x) kind=Abs
        %y: Float16[4] = Cast(%c) dtype=Float16
    """
    r = Rewriter(graph)
    for node in r.walk():
        x = r[node.inputs[0]] if node.inputs else None
        maker = None if x is None else r.producer(x)
        if not _rounds(node, x) or maker is None:
            r.copy(node)
            continue
        dtype = node.attributes.dtype
        if maker.op == "Cast" and r.values[maker.inputs[0]].dtype == dtype:
            r.replace(node.outputs[0], r.values[maker.inputs[0]])
            continue
        source = _unrounded(r, maker, dtype) if _commutes(maker) else None
        if source is not None:
            x = r.node(maker.attributes, source, shape=x.shape)
            r.replace(node.outputs[0], r.node(node.attributes, x, shape=x.shape, dtype=dtype))
        else:
            r.copy(node)
    return r.finish()


def _unrounded(r: Rewriter, node: Node, dtype: DType) -> Value | None:
    """What the operand of ``node`` was before it was rounded to ``dtype`` and widened again."""
    widening = r.producer(r.values[node.inputs[0]])
    if widening is None or widening.op != "Cast" or r.values[widening.inputs[0]].dtype != dtype:
        return None
    rounding = r.producer(r.values[widening.inputs[0]])
    if rounding is None or rounding.op != "Cast":
        return None
    source = r.values[rounding.inputs[0]]
    return source if source.dtype == DType.Float32 else None
