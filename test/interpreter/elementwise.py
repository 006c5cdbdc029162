# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on each element."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import BinaryKind, CompareKind, UnaryKind

from .tensors import clamped, torch_dtype

_UNARY = {
    UnaryKind.Abs: lambda x, a: x.abs(),
    UnaryKind.Ceil: lambda x, a: x.ceil(),
    UnaryKind.Clamp: lambda x, a: x.clamp(a.clamp.min, a.clamp.max),
    UnaryKind.Copy: lambda x, a: x.clone(),
    UnaryKind.Cos: lambda x, a: x.cos(),
    UnaryKind.Elu: lambda x, a: F.elu(x, a.alpha),
    UnaryKind.Exp: lambda x, a: x.exp(),
    UnaryKind.Floor: lambda x, a: x.floor(),
    UnaryKind.Gelu: lambda x, a: F.gelu(x),
    UnaryKind.GeluTanh: lambda x, a: F.gelu(x, approximate="tanh"),
    UnaryKind.HardSigmoid: lambda x, a: F.hardsigmoid(x),
    UnaryKind.HardSwish: lambda x, a: F.hardswish(x),
    UnaryKind.LeakyRelu: lambda x, a: F.leaky_relu(x, a.alpha),
    UnaryKind.Log: lambda x, a: x.log(),
    UnaryKind.Neg: lambda x, a: x.neg(),
    UnaryKind.Reciprocal: lambda x, a: x.reciprocal(),
    UnaryKind.Round: lambda x, a: x.round(),
    UnaryKind.Rsqrt: lambda x, a: x.rsqrt(),
    UnaryKind.Sigmoid: lambda x, a: x.sigmoid(),
    UnaryKind.Sign: lambda x, a: x.sign(),
    UnaryKind.Silu: lambda x, a: F.silu(x),
    UnaryKind.Sin: lambda x, a: x.sin(),
    UnaryKind.Sqrt: lambda x, a: x.sqrt(),
    UnaryKind.Square: lambda x, a: x.square(),
    UnaryKind.Tanh: lambda x, a: x.tanh(),
    UnaryKind.Acos: lambda x, a: x.acos(),
    UnaryKind.Acosh: lambda x, a: x.acosh(),
    UnaryKind.Asin: lambda x, a: x.asin(),
    UnaryKind.Asinh: lambda x, a: x.asinh(),
    UnaryKind.Atan: lambda x, a: x.atan(),
    UnaryKind.Atanh: lambda x, a: x.atanh(),
    UnaryKind.Cosh: lambda x, a: x.cosh(),
    UnaryKind.Erf: lambda x, a: x.erf(),
    UnaryKind.Exp2: lambda x, a: x.exp2(),
    UnaryKind.Expm1: lambda x, a: x.expm1(),
    UnaryKind.Log10: lambda x, a: x.log10(),
    UnaryKind.Log1p: lambda x, a: x.log1p(),
    UnaryKind.Log2: lambda x, a: x.log2(),
    UnaryKind.Sinh: lambda x, a: x.sinh(),
    UnaryKind.Tan: lambda x, a: x.tan(),
    UnaryKind.Trunc: lambda x, a: x.trunc(),
}


_BINARY = {
    BinaryKind.Add: torch.add,
    BinaryKind.Sub: torch.sub,
    BinaryKind.Mul: torch.mul,
    BinaryKind.Div: torch.div,
    BinaryKind.Maximum: torch.maximum,
    BinaryKind.Minimum: torch.minimum,
    BinaryKind.Pow: torch.pow,
    BinaryKind.Prelu: lambda a, b: torch.where(a < 0, a * b, a),
    BinaryKind.SquaredDifference: lambda a, b: (a - b).square(),
    BinaryKind.Atan2: torch.atan2,
    BinaryKind.Copysign: torch.copysign,
    BinaryKind.FloorDiv: torch.floor_divide,
    BinaryKind.Remainder: torch.remainder,
    BinaryKind.Fmod: torch.fmod,
    BinaryKind.BitAnd: torch.bitwise_and,
    BinaryKind.BitOr: torch.bitwise_or,
    BinaryKind.BitXor: torch.bitwise_xor,
}


_COMPARE = {
    CompareKind.Equal: torch.eq,
    CompareKind.NotEqual: torch.ne,
    CompareKind.Less: torch.lt,
    CompareKind.LessEqual: torch.le,
    CompareKind.Greater: torch.gt,
    CompareKind.GreaterEqual: torch.ge,
}


OPERATORS = {
    "Unary": lambda a, x: _UNARY[a.kind](x, a),
    "Binary": lambda a, x, y: clamped(_BINARY[a.kind](x, y), a.clamp),
    "Compare": lambda a, x, y: _COMPARE[a.kind](x, y),
    "Where": lambda a, condition, x, y: torch.where(condition, x, y),
    "Cast": lambda a, x: x.to(torch_dtype(a.dtype)),
}
