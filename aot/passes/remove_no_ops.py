# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import math

import numpy as np

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS
from ...serialization.schema import BinaryKind, Size2D, UnaryKind
from ..ir import Graph, Node, Rewriter, Value, rewrite
from ..traits import TRAITS

_ONE = Size2D(1, 1)


def _unary(a, x):
    if a.kind == UnaryKind.Copy:
        return x
    if a.kind == UnaryKind.Clamp and a.clamp == (-math.inf, math.inf):
        return x
    return None


def _is(value: Value, number: float) -> bool:
    """Whether every element is ``number``; tells the two zeros apart."""
    if value.constant is None or value.array.size == 0:
        return False
    sample = value.array.flat[0]
    if sample != number or math.copysign(1, sample) != math.copysign(1, number):
        return False
    if value.dtype not in WIDE_FLOATS:
        return bool((value.array == number).all())
    same_sign = np.signbit(value.array) == np.signbit(number)
    return bool(((value.array == number) & same_sign).all())


def _binary(a, x, y):
    # x + 0 is not x where x is -0, x + -0 and x - 0 are.
    exact_zero = -0.0 if x.dtype in WIDE_FLOATS else 0.0
    if a.kind == BinaryKind.Add:
        return x if _is(y, exact_zero) else y if _is(x, exact_zero) else None
    if a.kind == BinaryKind.Mul:
        return x if _is(y, 1) else y if _is(x, 1) else None
    if a.kind == BinaryKind.Sub:
        return x if _is(y, 0.0) else None
    if a.kind in (BinaryKind.Div, BinaryKind.Pow):
        return x if _is(y, 1) else None
    return None


def _slice(a, x):
    return x if a.start == 0 and a.step == 1 and a.size == x.shape[a.axis] else None


def _nonempty(a, xs) -> list[Value]:
    return [x for x in xs if x.shape[a.axis] != 0]


def _concat(a, *xs):
    rest = _nonempty(a, xs) or xs
    return rest[0] if len(rest) == 1 else None


def _max_pool(a, x):
    return x if a.kernel == _ONE and a.stride == _ONE and not any(a.padding) else None


def _average_pool(a, x):
    return x if _max_pool(a, x) and a.divisor_override in (0, 1) else None


# What a node passes through unchanged, or None; the shape is checked for all of them.
_PASSED = {
    schema.Unary: _unary,
    schema.Binary: _binary,
    schema.Reshape: lambda a, x: x,
    schema.Expand: lambda a, x: x,
    schema.Transpose: lambda a, x: x if a.perm == tuple(range(x.rank)) else None,
    schema.Concat: _concat,
    schema.Slice: _slice,
    schema.Pad: lambda a, x: None if any(a.before) or any(a.after) else x,
    schema.AvgPool2d: _average_pool,
    schema.MaxPool2d: _max_pool,
}


def remove_no_ops(graph: Graph) -> Graph:
    """Removes nodes whose result is one of their operands, bit by bit.

    ::

        %a: Float32[2, 3] = Reshape(%x) shape=(2, 3)    %c: Float32[2, 3] = Unary(%x) kind=Exp
        %b: Float32[2, 3] = Binary(%a, %one) kind=Mul   out %c
        %c: Float32[2, 3] = Unary(%b) kind=Exp
        out %c

    Outputs that become inputs, constants or equal are allowed here; ``copy_outputs`` is last.
    """
    return rewrite(graph, _removed)


def _removed(r: Rewriter, node: Node) -> Value | None:
    old = r.graph.values[node.outputs[0]]
    inputs = [r[i] for i in node.inputs]
    rule = _PASSED.get(type(node.attributes))
    passed = None if rule is None else rule(node.attributes, *inputs)
    if passed is not None and (passed.shape, passed.dtype) == (old.shape, old.dtype):
        clamp = node.attributes.clamp if TRAITS[type(node.attributes)].absorbs_clamp else None
        if clamp is None:
            return passed
        return r.node(schema.Unary(kind=UnaryKind.Clamp, clamp=clamp), passed, shape=old.shape)
    if node.is_a(schema.Concat):
        rest = _nonempty(node.attributes, inputs)
        if 1 < len(rest) < len(inputs):
            return r.node(node.attributes, *rest, shape=old.shape)
    return None
