# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Comparisons, selection, Boolean algebra, and tensors made from numbers and sizes."""

import functools

import sympy

from ...serialization import schema
from ...serialization.arrays import FLOATS
from ...serialization.schema import BinaryKind, CompareKind, DType
from .elementwise import binary
from .registry import op
from .shape import iota

_logic = functools.partial(op, dtypes=DType)


def _compare(c, kind: CompareKind, a, b):
    dtype = c.common_dtype(a, b)
    a, b = (c.widened(c.operand(x, dtype)) for x in (a, b))
    return c.node(schema.Compare(kind=kind), a, b, shape=c.out.shape, dtype=DType.Bool)


for _name, _kind in {
    "eq": CompareKind.Equal,
    "ne": CompareKind.NotEqual,
    "lt": CompareKind.Less,
    "le": CompareKind.LessEqual,
    "gt": CompareKind.Greater,
    "ge": CompareKind.GreaterEqual,
}.items():

    @_logic(f"aten.{_name}.Tensor", f"aten.{_name}.Scalar")
    def compare(c, self, other, kind=_kind):
        return _compare(c, kind, self, other)


@_logic("aten.isnan.default")
def isnan(c, self):
    return _compare(c, CompareKind.NotEqual, self, self)


@_logic("aten.isinf.default")
def isinf(c, self):
    if self.dtype not in FLOATS:
        return _compare(c, CompareKind.NotEqual, self, self)
    magnitude = c.node(schema.Unary(kind=schema.UnaryKind.Abs), self, shape=self.shape)
    return _compare(c, CompareKind.Equal, magnitude, float("inf"))


def _truth(c, x):
    """Whether each element is not 0."""
    return c.cast(x, DType.Bool)


for _name, _kind in {
    "and": BinaryKind.BitAnd,
    "or": BinaryKind.BitOr,
    "xor": BinaryKind.BitXor,
}.items():

    @_logic(f"aten.bitwise_{_name}.Tensor", f"aten.bitwise_{_name}.Scalar")
    def bitwise(c, self, other, kind=_kind):
        return binary(c, kind, self, other)

    @_logic(f"aten.logical_{_name}.default")
    def logical(c, self, other, kind=_kind):
        return binary(c, kind, _truth(c, self), _truth(c, other))


@_logic("aten.logical_not.default")
def logical_not(c, self):
    return binary(c, BinaryKind.BitXor, _truth(c, self), True)


@_logic("aten.bitwise_not.default")
def bitwise_not(c, self):
    ones = {DType.Bool: True, DType.UInt8: 255}
    return binary(c, BinaryKind.BitXor, self, ones.get(self.dtype, -1))


def _power_of_2(c, bits: int) -> int:
    """What to multiply or divide by in the place of a shift."""
    dtype = c.out.dtype
    most = {DType.Int32: 30, DType.Int64: 62}.get(dtype, -1)
    c.require(0 <= bits <= most, f"{dtype.name} cannot be shifted by {bits} bits")
    return 2**bits


@_logic("aten.__rshift__.Scalar", "aten.bitwise_right_shift.Tensor_Scalar")
def right_shift(c, self, other):
    return binary(c, BinaryKind.FloorDiv, self, _power_of_2(c, other))


@_logic("aten.__lshift__.Scalar", "aten.bitwise_left_shift.Tensor_Scalar")
def left_shift(c, self, other):
    return binary(c, BinaryKind.Mul, self, _power_of_2(c, other))


def _where(c, condition, a, b):
    a, b = c.operand(a, c.out.dtype), c.operand(b, c.out.dtype)
    return c.node(schema.Where(), condition, a, b, shape=c.out.shape, dtype=c.out.dtype)


@_logic("aten.where.self")
def where(c, condition, self, other):
    return _where(c, condition, self, other)


@_logic("aten.masked_fill.Scalar", "aten.masked_fill.Tensor", preserve=True)
def masked_fill(c, self, mask, value):
    return _where(c, mask, value, self)


@_logic("aten.full.default", "aten.full_like.default", moves_data=True)
def full(c, fill_value):
    x = c.operand(fill_value, c.out.dtype)
    return c.node(schema.Expand(shape=c.out.shape), x, shape=c.out.shape)


@_logic(
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "dim_order_ops._empty_dim_order.default",
    preserve=True,
    moves_data=True,
)
def empty(c):
    """Zeros: any content will do."""
    return c.node(schema.Expand(shape=c.out.shape), c.operand(0, c.out.dtype), shape=c.out.shape)


@_logic("aten.scalar_tensor.default", moves_data=True)
def scalar_tensor(c, s):
    x = c.operand(s, c.out.dtype)
    return c.node(schema.Unary(kind=schema.UnaryKind.Copy), x, shape=())


@_logic("aten.arange.start_step", moves_data=True)
def arange(c, start, step):
    """Of Float32 it is rounded once, as in PyTorch: start and i * step may cancel."""
    (size,) = c.out.shape
    has_start = isinstance(start, sympy.Expr) or start != 0
    dtype = DType.Float64 if c.out.dtype == DType.Float32 and (has_start or step != 1) else c.out.dtype
    y = c.cast(iota(c, size), dtype)
    if step != 1:
        y = binary(c, BinaryKind.Mul, y, step, dtype)
    if has_start:
        y = binary(c, BinaryKind.Add, y, start, dtype)
    return c.cast(y, c.out.dtype)
