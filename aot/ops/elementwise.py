# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Unary and binary operators that work on each element alone, and plain copies."""

import math

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS, WIDE_INTEGERS
from ...serialization.schema import BinaryKind, CompareKind, DType, UnaryKind
from ..ir import Value, dims
from .registry import Int8, op


def _unary(kind: UnaryKind, *targets: str, **options) -> None:
    """A row that computes integers as floats, as PyTorch does where the result is a float."""

    @op(*targets, dtypes=DType, **options)
    def lower(c, self):
        c.require(c.out.dtype in WIDE_FLOATS, f"the result has type {c.out.dtype.name}, not Float32 or Float64")
        return c.node(schema.Unary(kind=kind), c.cast(self, c.out.dtype), shape=c.out.shape)


def _integer_unary(kind: UnaryKind, of_integers, *targets: str, **options) -> None:
    """A row of an operator that gives integers of integers: ``of_integers(c, x)``."""

    @op(*targets, dtypes=DType, **options)
    def lower(c, self):
        if self.dtype in WIDE_INTEGERS:
            return of_integers(c, self)
        c.require(self.dtype in WIDE_FLOATS, f"the operand has type {self.dtype.name}, not Float32 or Float64")
        return c.node(schema.Unary(kind=kind), self, shape=c.out.shape)


def _itself(c, x):
    return c.node(schema.Unary(kind=UnaryKind.Copy), x, shape=x.shape)


def _negated(c, x):
    return binary(c, BinaryKind.Sub, 0, x)


def _sign(c, x):
    return _limited(c, x, -1, 1)


def _limited(c, x, low, high):
    """``x``, of any type of numbers, at least ``low`` and at most ``high``, each a number, a tensor or None."""
    for kind, bound in ((BinaryKind.Maximum, low), (BinaryKind.Minimum, high)):
        if bound is not None:
            bound = c.operand(bound, x.dtype)
            # Of zeros of both signs PyTorch keeps that of x, and our maximum of float64 the second one.
            x = c.node(schema.Binary(kind=kind), bound, x, shape=dims.broadcast(x.shape, bound.shape))
    return x


_unary(UnaryKind.Acos, "aten.acos.default")
_unary(UnaryKind.Acosh, "aten.acosh.default")
_unary(UnaryKind.Asin, "aten.asin.default")
_unary(UnaryKind.Asinh, "aten.asinh.default")
_unary(UnaryKind.Atan, "aten.atan.default")
_unary(UnaryKind.Atanh, "aten.atanh.default")
_unary(UnaryKind.Cos, "aten.cos.default")
_unary(UnaryKind.Cosh, "aten.cosh.default")
_unary(UnaryKind.Erf, "aten.erf.default")
_unary(UnaryKind.Exp, "aten.exp.default")
_unary(UnaryKind.Exp2, "aten.exp2.default")
_unary(UnaryKind.Expm1, "aten.expm1.default")
_unary(UnaryKind.HardSigmoid, "aten.hardsigmoid.default", preserve=True, int8=Int8.OWN)
_unary(UnaryKind.HardSwish, "aten.hardswish.default", preserve=True, int8=Int8.OWN)
_unary(UnaryKind.Log, "aten.log.default")
_unary(UnaryKind.Log10, "aten.log10.default")
_unary(UnaryKind.Log1p, "aten.log1p.default")
_unary(UnaryKind.Log2, "aten.log2.default")
_unary(UnaryKind.Reciprocal, "aten.reciprocal.default")
_unary(UnaryKind.Rsqrt, "aten.rsqrt.default")
_unary(UnaryKind.Sigmoid, "aten.sigmoid.default", int8=Int8.OWN)
_unary(UnaryKind.Silu, "aten.silu.default", preserve=True, int8=Int8.OWN)
_unary(UnaryKind.Sin, "aten.sin.default")
_unary(UnaryKind.Sinh, "aten.sinh.default")
_unary(UnaryKind.Sqrt, "aten.sqrt.default")
_unary(UnaryKind.Tan, "aten.tan.default")
_unary(UnaryKind.Tanh, "aten.tanh.default", int8=Int8.OWN)

_integer_unary(
    UnaryKind.Abs,
    lambda c, x: binary(c, BinaryKind.Maximum, x, _negated(c, x)),
    "aten.abs.default",
    int8=Int8.OWN,
)
_integer_unary(UnaryKind.Ceil, _itself, "aten.ceil.default")
_integer_unary(UnaryKind.Floor, _itself, "aten.floor.default")
_integer_unary(UnaryKind.Neg, _negated, "aten.neg.default", int8=Int8.OWN)
_integer_unary(UnaryKind.Neg, _negated, "aten._neg_view_copy.default")
_integer_unary(UnaryKind.Round, _itself, "aten.round.default")
_integer_unary(UnaryKind.Sign, _sign, "aten.sign.default")
_integer_unary(UnaryKind.Square, lambda c, x: binary(c, BinaryKind.Mul, x, x), "aten.square.default", preserve=True)
_integer_unary(UnaryKind.Trunc, _itself, "aten.trunc.default")


@op("aten.gelu.default", dtypes=WIDE_FLOATS, int8=Int8.OWN)
def gelu(c, self, approximate):
    kind = {"none": UnaryKind.Gelu, "tanh": UnaryKind.GeluTanh}[approximate]
    return c.node(schema.Unary(kind=kind), self, shape=c.out.shape)


def _float64_elu(c, x, alpha, scale, input_scale):
    """``Elu`` has a parameter in Float32, which Float64 does not take."""

    def number(kind, x, value):
        return c.node(schema.Binary(kind=kind), x, c.operand(float(value), x.dtype), shape=x.shape)

    power = c.node(schema.Unary(kind=UnaryKind.Expm1), number(BinaryKind.Mul, x, input_scale), shape=x.shape)
    negative, zero = number(BinaryKind.Mul, power, alpha * scale), c.operand(0.0, x.dtype)
    is_negative = c.node(schema.Compare(kind=CompareKind.Less), x, zero, shape=x.shape, dtype=DType.Bool)
    positive = number(BinaryKind.Mul, x, scale)
    return c.node(schema.Where(), is_negative, negative, positive, shape=x.shape, dtype=x.dtype)


@op("aten.elu.default", preserve=True, dtypes=WIDE_FLOATS, int8=Int8.OWN)
def elu(c, self, alpha, scale, input_scale):
    if self.dtype == DType.Float64:
        return _float64_elu(c, self, alpha, scale, input_scale)
    scaled = self if input_scale == 1 else binary(c, BinaryKind.Mul, self, float(input_scale))
    y = c.node(schema.Unary(kind=UnaryKind.Elu, alpha=float(alpha)), scaled, shape=c.out.shape)
    if input_scale != 1:  # which counts below zero only
        c.require(input_scale > 0 and alpha >= 0, "alpha of elu must not be negative, and input_scale must be positive")
        positive = c.node(
            schema.Unary(kind=UnaryKind.Clamp, clamp=schema.Clamp(0.0, math.inf)), self, shape=c.out.shape
        )
        negative = c.node(schema.Unary(kind=UnaryKind.Clamp, clamp=schema.Clamp(-math.inf, 0.0)), y, shape=c.out.shape)
        y = binary(c, BinaryKind.Add, positive, negative)
    return y if scale == 1 else binary(c, BinaryKind.Mul, y, float(scale))


@op("aten.leaky_relu.default", dtypes=WIDE_FLOATS, int8=Int8.OWN)
def leaky_relu(c, self, negative_slope):
    if self.dtype == DType.Float64:
        return binary(c, BinaryKind.Prelu, self, float(negative_slope))
    attributes = schema.Unary(kind=UnaryKind.LeakyRelu, alpha=float(negative_slope))
    return c.node(attributes, self, shape=c.out.shape)


def _clamp(c, x, low, high):
    x = c.cast(x, c.out.dtype)
    if x.dtype in WIDE_INTEGERS or x.dtype == DType.Float64:  # the limits of a Clamp are Float32
        return _limited(c, x, low, high)
    c.require(x.dtype == DType.Float32, f"the operand has type {x.dtype.name}, not Float32")
    low, high = -math.inf if low is None else low, math.inf if high is None else high
    if c.is_symbolic(low) or c.is_symbolic(high):
        return _limited(c, x, low, high)
    c.require(low <= high, f"min of clamp, {low}, is above max, {high}")
    clamp = schema.Clamp(float(low), float(high))
    return c.node(schema.Unary(kind=UnaryKind.Clamp, clamp=clamp), x, shape=c.out.shape)


@op("aten.relu.default", dtypes=DType, int8=Int8.SAME)
def relu(c, self):
    return _clamp(c, self, 0, None)


@op("aten.relu6.default", preserve=True, dtypes=DType, int8=Int8.SAME)
def relu6(c, self):
    return _clamp(c, self, 0, 6)


@op("aten.hardtanh.default", dtypes=DType, int8=Int8.SAME)
def hardtanh(c, self, min_val, max_val):
    return _clamp(c, self, min_val, max_val)


@op("aten.clamp.default", dtypes=DType, int8=Int8.SAME)
def clamp(c, self, min, max):
    return _clamp(c, self, min, max)


@op("aten.clamp.Tensor", dtypes=DType)
def clamp_tensor(c, self, min, max):
    return _limited(c, c.cast(self, c.out.dtype), min, max)


@op(
    "aten.clone.default",
    "aten.alias_copy.default",
    "aten._to_copy.default",
    "dim_order_ops._clone_dim_order.default",
    "dim_order_ops._to_dim_order_copy.default",
    moves_data=True,
    dtypes=DType,
)
def copy(c, self):
    if self.dtype != c.out.dtype:
        return c.cast(self, c.out.dtype)
    return c.node(schema.Unary(kind=UnaryKind.Copy), self, shape=self.shape)


def binary(c, kind: BinaryKind, a, b, dtype: DType | None = None):
    """``a`` and ``b``, tensors or numbers, as ``dtype`` or the type of the result."""
    dtype = dtype or c.out.dtype
    if dtype == DType.Bool:
        kind = _OF_BOOLS.get(kind, kind)
        c.require(kind in _BITS, "there is no such arithmetic on Bool")
    a, b = _operand(c, a, dtype), _operand(c, b, dtype, exact=kind in _EXACT_NUMBERS)
    return c.node(schema.Binary(kind=kind), a, b, shape=c.out.shape)


def _operand(c, x, dtype: DType, exact: bool = False):
    is_rounded = isinstance(x, Value) and dtype == c.out.dtype and not (exact and x.rank == 0)
    return c.of_result(x) if is_rounded else c.operand(x, dtype, exact)


#: With these PyTorch does not round a number to a 16-bit type first, if it is the second operand.
_EXACT_NUMBERS = (BinaryKind.Mul, BinaryKind.Div, BinaryKind.FloorDiv)
_OF_BOOLS = {
    BinaryKind.Add: BinaryKind.BitOr,
    BinaryKind.Maximum: BinaryKind.BitOr,
    BinaryKind.Mul: BinaryKind.BitAnd,
    BinaryKind.Minimum: BinaryKind.BitAnd,
}
_BITS = (BinaryKind.BitAnd, BinaryKind.BitOr, BinaryKind.BitXor)


def _binary(kind: BinaryKind, *targets: str, dtypes=DType) -> None:
    @op(*targets, dtypes=dtypes, operator=schema.Binary)
    def lower(c, self, other):
        return binary(c, kind, self, other)


_binary(BinaryKind.Mul, "aten.mul.Tensor", "aten.mul.Scalar")
_binary(BinaryKind.Div, "aten.div.Tensor", "aten.div.Scalar")
_binary(BinaryKind.Maximum, "aten.maximum.default")
_binary(BinaryKind.Minimum, "aten.minimum.default")
_binary(BinaryKind.Remainder, "aten.remainder.Tensor", "aten.remainder.Scalar")
_binary(BinaryKind.Fmod, "aten.fmod.Tensor", "aten.fmod.Scalar")
_binary(BinaryKind.Atan2, "aten.atan2.default")
_binary(BinaryKind.Copysign, "aten.copysign.Tensor", "aten.copysign.Scalar")


def _beside_nan(kind: BinaryKind, target: str) -> None:
    """A row of an extremum of two that is NaN only where both are."""

    @op(target, dtypes=DType)
    def lower(c, self, other):
        extremum = binary(c, kind, self, other)
        dtype = extremum.dtype
        if dtype not in WIDE_FLOATS:
            return extremum
        for x, y in ((self, other), (other, self)):
            x, y = c.operand(x, dtype), c.operand(y, dtype)
            is_nan = c.node(schema.Compare(kind=CompareKind.NotEqual), x, x, shape=x.shape, dtype=DType.Bool)
            extremum = c.node(schema.Where(), is_nan, y, extremum, shape=c.out.shape, dtype=dtype)
        return extremum


_beside_nan(BinaryKind.Maximum, "aten.fmax.default")
_beside_nan(BinaryKind.Minimum, "aten.fmin.default")


@op("aten.round.decimals", dtypes=WIDE_FLOATS)
def round_decimals(c, self, decimals):
    kinds = (BinaryKind.Mul, BinaryKind.Div) if decimals >= 0 else (BinaryKind.Div, BinaryKind.Mul)
    power = c.operand(float(10 ** abs(decimals)), self.dtype, exact=True)
    scaled = self if decimals == 0 else c.node(schema.Binary(kind=kinds[0]), self, power, shape=self.shape)
    y = c.node(schema.Unary(kind=UnaryKind.Round), scaled, shape=self.shape)
    return y if decimals == 0 else c.node(schema.Binary(kind=kinds[1]), y, power, shape=self.shape)


#: Exponents for which eager PyTorch takes a shortcut, too.
_POWERS = {
    0.5: UnaryKind.Sqrt,
    -0.5: UnaryKind.Rsqrt,
    1: UnaryKind.Copy,
    2: UnaryKind.Square,
    -1: UnaryKind.Reciprocal,
}


@op("aten.pow.Tensor_Scalar", dtypes=WIDE_FLOATS)
def pow_scalar(c, self, exponent):
    if exponent in _POWERS:
        return c.node(schema.Unary(kind=_POWERS[exponent]), self, shape=c.out.shape)
    return _pow(c, self, exponent)


def _pow(c, self, exponent):
    return binary(c, BinaryKind.Pow, self, exponent)


@op("aten.pow.Tensor_Tensor", "aten.pow.Scalar", dtypes=DType)
def pow(c, self, exponent):
    c.require(c.out.dtype in WIDE_FLOATS, f"the result has type {c.out.dtype.name}, not Float32 or Float64")
    return _pow(c, self, exponent)


@op("aten.prelu.default", preserve=True, dtypes=WIDE_FLOATS)
def prelu(c, self, weight):
    channels_first = (*weight.shape, *[1] * (self.rank - 2)) if self.rank > 1 else self.shape[:0]
    c.require(self.rank > 1 or weight.shape in ((), (1,)), "prelu of a vector takes one slope only")
    weight = c.reshape(weight, channels_first)
    return c.node(schema.Binary(kind=BinaryKind.Prelu), self, weight, shape=c.out.shape)


def _scaled(c, kind: BinaryKind, a, b, alpha):
    if alpha != 1:
        b, factor = c.operand(b, c.out.dtype), c.operand(alpha, c.out.dtype)
        product = BinaryKind.BitAnd if b.dtype == DType.Bool else BinaryKind.Mul
        b = c.node(schema.Binary(kind=product), b, factor, shape=b.shape)
    return binary(c, kind, a, b)


@op("aten.add.Tensor", "aten.add.Scalar", dtypes=DType, operator=schema.Binary)
def add(c, self, other, alpha):
    return _scaled(c, BinaryKind.Add, self, other, alpha)


@op("aten.sub.Tensor", "aten.sub.Scalar", dtypes=DType, operator=schema.Binary, int8=Int8.OWN)
def sub(c, self, other, alpha):
    return _scaled(c, BinaryKind.Sub, self, other, alpha)


@op("aten.div.Tensor_mode", "aten.div.Scalar_mode", dtypes=DType)
def div_mode(c, self, other, rounding_mode):
    if rounding_mode == "floor":
        return binary(c, BinaryKind.FloorDiv, self, other)
    if rounding_mode == "trunc" and c.out.dtype not in WIDE_FLOATS:
        multiple = binary(c, BinaryKind.Sub, self, binary(c, BinaryKind.Fmod, self, other))
        return binary(c, BinaryKind.FloorDiv, multiple, other)
    quotient = binary(c, BinaryKind.Div, self, other)
    if rounding_mode is None:
        return quotient
    if isinstance(other, Value) and other.rank > 0:  # PyTorch rounds no quotient by a number first
        quotient = c.rounded(quotient)
    return c.node(schema.Unary(kind=UnaryKind.Trunc), quotient, shape=c.out.shape)
