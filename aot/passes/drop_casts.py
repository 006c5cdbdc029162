# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import numpy as np

from ...serialization import schema
from ...serialization.arrays import REDUCED_FLOATS, convert
from ...serialization.schema import DType
from ..ir import Graph, Node, Rewriter, Value, rewrite
from ..traits import traits_of


def _rounds(node: Node, x: Value | None) -> bool:
    """Whether ``node`` casts the Float32 ``x`` to 16 bits."""
    return node.is_a(schema.Cast) and x.dtype == DType.Float32 and node.attributes.dtype in REDUCED_FLOATS


def _commutes(node: Node, dtype: DType) -> bool:
    """Whether it gives the same if its operand is rounded to ``dtype`` first and the result again."""
    traits = traits_of(node.attributes)
    if traits.commutes_with_rounding or traits.passes is None:
        return traits.commutes_with_rounding
    fixed = np.array(traits.passes, np.float32)
    return bool((convert(convert(fixed, dtype), DType.Float32) == fixed).all())


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
    return rewrite(graph, _rounded_once)


def _rounded_once(r: Rewriter, node: Node) -> Value | None:
    x = r[node.inputs[0]] if node.inputs else None
    maker = None if x is None else r.producer(x)
    if not _rounds(node, x) or maker is None:
        return None
    dtype = node.attributes.dtype
    if maker.is_a(schema.Cast) and r.values[maker.inputs[0]].dtype == dtype:
        return r.values[maker.inputs[0]]
    source = _unrounded(r, maker, dtype) if len(maker.inputs) == 1 and _commutes(maker, dtype) else None
    if source is None:
        return None
    x = r.node(maker.attributes, source, shape=x.shape)
    return r.node(node.attributes, x, shape=x.shape, dtype=dtype)


def _unrounded(r: Rewriter, node: Node, dtype: DType) -> Value | None:
    """What the operand of ``node`` was before it was rounded to ``dtype`` and widened again."""
    widening = r.producer(r.values[node.inputs[0]], schema.Cast)
    if widening is None or r.values[widening.inputs[0]].dtype != dtype:
        return None
    rounding = r.producer(r.values[widening.inputs[0]], schema.Cast)
    if rounding is None:
        return None
    source = r.values[rounding.inputs[0]]
    return source if source.dtype == DType.Float32 else None
