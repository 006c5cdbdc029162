# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Unary and binary operators that work on each element alone, and plain copies."""

import math

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, UnaryKind
from ..ir import dims
from .registry import op


def _unary(kind: UnaryKind, *targets: str, **options) -> None:
    @op(*targets, **options)
    def lower(c, self):
        return c.node(schema.Unary(kind=kind), self, shape=c.out.shape)


_unary(UnaryKind.Acos, "aten.acos.default")
_unary(UnaryKind.Acosh, "aten.acosh.default")
_unary(UnaryKind.Asin, "aten.asin.default")
_unary(UnaryKind.Asinh, "aten.asinh.default")
_unary(UnaryKind.Atan, "aten.atan.default")
_unary(UnaryKind.Atanh, "aten.atanh.default")
_unary(UnaryKind.Cosh, "aten.cosh.default")
_unary(UnaryKind.Erf, "aten.erf.default")
_unary(UnaryKind.Exp2, "aten.exp2.default")
_unary(UnaryKind.Expm1, "aten.expm1.default")
_unary(UnaryKind.Log10, "aten.log10.default")
_unary(UnaryKind.Log1p, "aten.log1p.default")
_unary(UnaryKind.Log2, "aten.log2.default")
_unary(UnaryKind.Sinh, "aten.sinh.default")
_unary(UnaryKind.Tan, "aten.tan.default")
_unary(UnaryKind.Trunc, "aten.trunc.default")
_unary(UnaryKind.Abs, "aten.abs.default")
_unary(UnaryKind.Ceil, "aten.ceil.default")
_unary(UnaryKind.Cos, "aten.cos.default")
_unary(UnaryKind.Exp, "aten.exp.default")
_unary(UnaryKind.Floor, "aten.floor.default")
_unary(UnaryKind.HardSigmoid, "aten.hardsigmoid.default", preserve=True)
_unary(UnaryKind.HardSwish, "aten.hardswish.default", preserve=True)
_unary(UnaryKind.Log, "aten.log.default")
_unary(UnaryKind.Neg, "aten.neg.default")
_unary(UnaryKind.Reciprocal, "aten.reciprocal.default")
_unary(UnaryKind.Round, "aten.round.default")
_unary(UnaryKind.Rsqrt, "aten.rsqrt.default")
_unary(UnaryKind.Sigmoid, "aten.sigmoid.default")
_unary(UnaryKind.Sign, "aten.sign.default")
_unary(UnaryKind.Silu, "aten.silu.default", preserve=True)
_unary(UnaryKind.Sin, "aten.sin.default")
_unary(UnaryKind.Sqrt, "aten.sqrt.default")
_unary(UnaryKind.Square, "aten.square.default", preserve=True)
_unary(UnaryKind.Tanh, "aten.tanh.default")


@op("aten.gelu.default")
def gelu(c, self, approximate):
    kind = {"none": UnaryKind.Gelu, "tanh": UnaryKind.GeluTanh}[approximate]
    return c.node(schema.Unary(kind=kind), self, shape=c.out.shape)


@op("aten.elu.default", preserve=True)
def elu(c, self, alpha, scale, input_scale):
    c.require(scale == 1 and input_scale == 1, "elu with scale or input_scale")
    return c.node(schema.Unary(kind=UnaryKind.Elu, alpha=float(alpha)), self, shape=c.out.shape)


@op("aten.leaky_relu.default")
def leaky_relu(c, self, negative_slope):
    attributes = schema.Unary(kind=UnaryKind.LeakyRelu, alpha=float(negative_slope))
    return c.node(attributes, self, shape=c.out.shape)


def _clamp(c, x, low: float, high: float):
    c.require(low <= high, f"clamp with min {low} above max {high}")
    clamp = schema.Clamp(float(low), float(high))
    return c.node(schema.Unary(kind=UnaryKind.Clamp, clamp=clamp), x, shape=c.out.shape)


@op("aten.relu.default")
def relu(c, self):
    return _clamp(c, self, 0, math.inf)


@op("aten.relu6.default", preserve=True)
def relu6(c, self):
    return _clamp(c, self, 0, 6)


@op("aten.hardtanh.default")
def hardtanh(c, self, min_val, max_val):
    return _clamp(c, self, min_val, max_val)


@op("aten.clamp.default")
def clamp(c, self, min, max):
    return _clamp(c, self, -math.inf if min is None else min, math.inf if max is None else max)


@op("aten.clamp.Tensor")
def clamp_tensor(c, self, min, max):
    for kind, bound in ((BinaryKind.Maximum, min), (BinaryKind.Minimum, max)):
        if bound is not None:
            shape = dims.broadcast(self.shape, bound.shape)
            self = c.node(schema.Binary(kind=kind), self, bound, shape=shape)
    return self


@op(
    "aten.clone.default",
    "aten.alias_copy.default",
    "aten._to_copy.default",
    "dim_order_ops._clone_dim_order.default",
    "dim_order_ops._to_dim_order_copy.default",
    plumbing=True,
    dtypes=DType,
)
def copy(c, self):
    if self.dtype != c.out.dtype:
        return c.cast(self, c.out.dtype)
    return c.node(schema.Unary(kind=UnaryKind.Copy), self, shape=self.shape)


def binary(c, kind: BinaryKind, a, b):
    """``a`` and ``b``, tensors or numbers, as the type of the result."""
    c.require(c.out.dtype != DType.Bool or kind in _BITS, "arithmetic on Bool")
    exact = kind in _EXACT_NUMBERS
    a, b = c.operand(a, c.out.dtype, exact), c.operand(b, c.out.dtype, exact)
    return c.node(schema.Binary(kind=kind), a, b, shape=c.out.shape)


#: With these PyTorch does not round a number to a 16-bit type first.
_EXACT_NUMBERS = (BinaryKind.Mul, BinaryKind.Div)
_BITS = (BinaryKind.BitAnd, BinaryKind.BitOr, BinaryKind.BitXor)


def _binary(kind: BinaryKind, *targets: str, dtypes=DType) -> None:
    @op(*targets, dtypes=dtypes)
    def lower(c, self, other):
        return binary(c, kind, self, other)


_binary(BinaryKind.Mul, "aten.mul.Tensor", "aten.mul.Scalar")
_binary(BinaryKind.Div, "aten.div.Tensor", "aten.div.Scalar")
_binary(BinaryKind.Maximum, "aten.maximum.default")
_binary(BinaryKind.Minimum, "aten.minimum.default")
_binary(BinaryKind.Remainder, "aten.remainder.Tensor", "aten.remainder.Scalar")
_binary(BinaryKind.Fmod, "aten.fmod.Tensor", "aten.fmod.Scalar")
_binary(BinaryKind.Atan2, "aten.atan2.default")
_binary(BinaryKind.Copysign, "aten.copysign.Tensor")


#: Exponents for which eager PyTorch takes a shortcut, too.
_POWERS = {
    0.5: UnaryKind.Sqrt,
    -0.5: UnaryKind.Rsqrt,
    1: UnaryKind.Copy,
    2: UnaryKind.Square,
    -1: UnaryKind.Reciprocal,
}


@op("aten.pow.Tensor_Scalar")
def pow_scalar(c, self, exponent):
    if exponent in _POWERS:
        return c.node(schema.Unary(kind=_POWERS[exponent]), self, shape=c.out.shape)
    return _pow(c, self, exponent)


def _pow(c, self, exponent):
    return binary(c, BinaryKind.Pow, self, exponent)


op("aten.pow.Tensor_Tensor", "aten.pow.Scalar")(_pow)


@op("aten.prelu.default", preserve=True)
def prelu(c, self, weight):
    channels_first = (*weight.shape, *[1] * (self.rank - 2)) if self.rank > 1 else self.shape[:0]
    c.require(self.rank > 1 or weight.shape in ((), (1,)), "prelu of a vector with several slopes")
    weight = c.reshape(weight, channels_first)
    return c.node(schema.Binary(kind=BinaryKind.Prelu), self, weight, shape=c.out.shape)


def _scaled(c, kind: BinaryKind, a, b, alpha):
    if alpha != 1:
        b, factor = c.operand(b, c.out.dtype), c.operand(alpha, c.out.dtype, True)
        b = c.node(schema.Binary(kind=BinaryKind.Mul), b, factor, shape=b.shape)
    return binary(c, kind, a, b)


@op("aten.add.Tensor", "aten.add.Scalar", dtypes=DType)
def add(c, self, other, alpha):
    return _scaled(c, BinaryKind.Add, self, other, alpha)


@op("aten.sub.Tensor", "aten.sub.Scalar", dtypes=DType)
def sub(c, self, other, alpha):
    return _scaled(c, BinaryKind.Sub, self, other, alpha)


@op("aten.div.Tensor_mode", "aten.div.Scalar_mode", dtypes=DType)
def div_mode(c, self, other, rounding_mode):
    if rounding_mode == "floor":
        return binary(c, BinaryKind.FloorDiv, self, other)
    c.require(rounding_mode is None or c.out.dtype == DType.Float32, "a division of integers that truncates")
    quotient = binary(c, BinaryKind.Div, self, other)
    if rounding_mode is None:
        return quotient
    return c.node(schema.Unary(kind=UnaryKind.Trunc), quotient, shape=c.out.shape)
