# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Unary and binary operators that work on each element alone."""

import math

from ...serialization import schema
from ...serialization.schema import BinaryKind, UnaryKind
from .registry import op


def _unary(kind: UnaryKind, *targets: str, **options) -> None:
    @op(*targets, **options)
    def lower(c, self):
        return c.node(schema.Unary(kind=kind), self, shape=c.out.shape)


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


def _operand(c, x):
    """A tensor as it is; a Python number as a constant."""
    if isinstance(x, (bool, int, float)):
        return c.scalar(float(x))
    c.require(not c.is_symbolic(x), "a scalar operand that depends on a size")
    return x


def _binary(kind: BinaryKind, *targets: str) -> None:
    @op(*targets)
    def lower(c, self, other):
        a, b = _operand(c, self), _operand(c, other)
        return c.node(schema.Binary(kind=kind), a, b, shape=c.out.shape)


_binary(BinaryKind.Mul, "aten.mul.Tensor", "aten.mul.Scalar")
_binary(BinaryKind.Div, "aten.div.Tensor", "aten.div.Scalar")
_binary(BinaryKind.Maximum, "aten.maximum.default")
_binary(BinaryKind.Minimum, "aten.minimum.default")
_binary(BinaryKind.Atan2, "aten.atan2.default")
_binary(BinaryKind.Copysign, "aten.copysign.Tensor")


def _scaled(c, kind: BinaryKind, a, b, alpha):
    if alpha != 1:
        scaled = c.scalar(float(alpha))
        b = c.node(schema.Binary(kind=BinaryKind.Mul), b, scaled, shape=b.shape)
    return c.node(schema.Binary(kind=kind), a, b, shape=c.out.shape)


@op("aten.add.Tensor", "aten.add.Scalar")
def add(c, self, other, alpha):
    return _scaled(c, BinaryKind.Add, _operand(c, self), _operand(c, other), alpha)


@op("aten.sub.Tensor", "aten.sub.Scalar")
def sub(c, self, other, alpha):
    return _scaled(c, BinaryKind.Sub, _operand(c, self), _operand(c, other), alpha)


@op("aten.rsub.Scalar", "aten.rsub.Tensor")
def rsub(c, self, other, alpha):
    return _scaled(c, BinaryKind.Sub, _operand(c, other), _operand(c, self), alpha)
