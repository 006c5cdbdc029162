# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on each element."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import BinaryKind, CompareKind, UnaryKind

from .tensors import clamped, torch_dtype

# Those that are not PyTorch's function of the same name.
_UNARY = {
    UnaryKind.Clamp: lambda x, a: x.clamp(a.clamp.min, a.clamp.max),
    UnaryKind.Copy: lambda x, a: x.clone(),
    UnaryKind.Elu: lambda x, a: F.elu(x, a.alpha),
    UnaryKind.Gelu: lambda x, a: F.gelu(x),
    UnaryKind.GeluTanh: lambda x, a: F.gelu(x, approximate="tanh"),
    UnaryKind.HardSigmoid: lambda x, a: F.hardsigmoid(x),
    UnaryKind.HardSwish: lambda x, a: F.hardswish(x),
    UnaryKind.LeakyRelu: lambda x, a: F.leaky_relu(x, a.alpha),
    UnaryKind.Silu: lambda x, a: F.silu(x),
}


def _unary(a, x):
    return _UNARY[a.kind](x, a) if a.kind in _UNARY else getattr(torch, a.kind.name.lower())(x)


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
    "Unary": _unary,
    "Binary": lambda a, x, y: clamped(_BINARY[a.kind](x, y), a.clamp),
    "Compare": lambda a, x, y: _COMPARE[a.kind](x, y),
    "Where": lambda a, condition, x, y: torch.where(condition, x, y),
    "Cast": lambda a, x: x.to(torch_dtype(a.dtype)),
}
