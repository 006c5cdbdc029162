# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of unary and binary operators and copies."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import ANY_OPERATOR, BATCH, LENGTH, Sample, bools, integers, new, rand, values

SPECIAL_REVERSED = values(math.nan, math.nan, -math.inf, math.inf, 2, -2, math.nan, 0, 0, -1, 1, math.nan)
SPECIAL = values(0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan)


class AddConstant(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.register_buffer("constant", torch.randn(shape))

    def forward(self, x):
        return x + self.constant


_UNARY = {
    "abs": torch.abs,
    "ceil": torch.ceil,
    "cos": torch.cos,
    "elu": F.elu,
    "exp": torch.exp,
    "floor": torch.floor,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardtanh": F.hardtanh,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
    "neg": torch.neg,
    "relu": F.relu,
    "relu6": F.relu6,
    "round": torch.round,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": F.silu,
    "sin": torch.sin,
    "square": torch.square,
    "tanh": torch.tanh,
    "asinh": torch.asinh,
    "atan": torch.atan,
    "cosh": torch.cosh,
    "erf": torch.erf,
    "expm1": torch.expm1,
    "sinh": torch.sinh,
    "tan": torch.tan,
    "trunc": torch.trunc,
}
_UNARY_OF_POSITIVE = {
    "log": torch.log,
    "reciprocal": torch.reciprocal,
    "rsqrt": torch.rsqrt,
    "sqrt": torch.sqrt,
    "acosh": lambda x: torch.acosh(x + 1),
    "asin": lambda x: torch.asin(x / 3),
    "acos": lambda x: torch.acos(x / 3),
    "atanh": lambda x: torch.atanh(x / 3),
    "log1p": torch.log1p,
    "log2": torch.log2,
    "log10": torch.log10,
    "softplus": F.softplus,
    "logsigmoid": F.logsigmoid,
    "mish": F.mish,
    "threshold": lambda x: F.threshold(x, 1.2, 7.0),
}
_BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "atan2": torch.atan2,
}

SAMPLES = [
    *(Sample(n, f, rand(3, 5, 7, low=-8, high=8)) for n, f in _UNARY.items()),
    *(Sample(n, f, rand(3, 5, 7, low=0.1, high=9)) for n, f in _UNARY_OF_POSITIVE.items()),
    *(
        Sample(f"{n}_special", f, SPECIAL)
        for n, f in (_UNARY | _UNARY_OF_POSITIVE).items()
        if n not in ("gelu", "gelu_tanh", "silu", "hardswish", "sin", "cos")
    ),
    *(Sample(n, f, rand(2, 3, 5), rand(2, 3, 5)) for n, f in _BINARY.items()),
    *(Sample(f"{n}_broadcast", f, rand(2, 1, 5), rand(3, 1)) for n, f in _BINARY.items()),
    Sample("fmax", torch.fmax, SPECIAL, SPECIAL_REVERSED),
    Sample("fmin", torch.fmin, SPECIAL, SPECIAL_REVERSED),
    Sample("fmax_broadcast", torch.fmax, rand(BATCH, 1, 4), rand(3, 1)),
    Sample("fmin_integers", torch.fmin, integers(3, 5), integers(5)),
    Sample("round_decimals", lambda x: x.round(decimals=2), rand(3, 50)),
    Sample("round_decimals_none", lambda x: x.round(decimals=0), rand(3, 50)),
    Sample("round_decimals_negative", lambda x: x.round(decimals=-1), rand(3, 50, low=-99, high=99)),
    Sample("copysign_scalar", lambda x: x.copysign(-2), SPECIAL),
    Sample("copysign", torch.copysign, rand(2, 3, 5), rand(2, 3, 5), config=ANY_OPERATOR),
    Sample("copysign_special", torch.copysign, SPECIAL, rand(12), config=ANY_OPERATOR),
    Sample("silu_decomposed", F.silu, rand(4, 9), preserve=False),
    Sample("hardswish_decomposed", F.hardswish, rand(4, 9), preserve=False),
    Sample("hardsigmoid_decomposed", F.hardsigmoid, rand(4, 9), preserve=False),
    Sample("relu6_decomposed", F.relu6, rand(4, 9), preserve=False),
    Sample("relu_rank0", F.relu, rand()),
    Sample("relu_rank1", F.relu, rand(1)),
    Sample("relu_rank5", F.relu, rand(2, 1, 3, 2, 3)),
    Sample("relu_rank6", F.relu, rand(2, 1, 3, 2, 2, 3)),
    Sample("relu_large", F.relu, rand(3, 1027)),
    Sample("relu_dynamic", F.relu, rand(BATCH, 3)),
    Sample("elu_alpha", lambda x: F.elu(x, 0.7), rand(4, 9)),
    Sample("clamp", lambda x: torch.clamp(x, -0.5, 0.75), rand(4, 9)),
    Sample("clamp_min", lambda x: torch.clamp(x, min=0.1), rand(4, 9)),
    Sample("clamp_max", lambda x: torch.clamp(x, max=1), rand(4, 9)),
    Sample("clamp_tensor", torch.clamp, rand(4, 9), rand(9, high=0), rand(4, 1, low=0)),
    Sample("clamp_special", lambda x: torch.clamp(x, -1, 1), SPECIAL),
    Sample("prelu", new(nn.PReLU, 3), rand(2, 3, 4, 5)),
    Sample("prelu_one_slope", new(nn.PReLU), rand(4, 9)),
    Sample("prelu_rank1", new(nn.PReLU), rand(9)),
    Sample("prelu_rank2", new(nn.PReLU, 9), rand(4, 9)),
    Sample("pow_2", lambda x: x**2, rand(4, 9)),
    Sample("pow_3", lambda x: x**3, rand(4, 9)),
    Sample("pow_half", lambda x: x**0.5, rand(4, 9, low=0)),
    Sample("pow_minus_half", lambda x: x**-0.5, rand(4, 9, low=0.1)),
    Sample("pow_minus_one", lambda x: x**-1, rand(4, 9, low=0.1)),
    Sample("pow_one", lambda x: x**1, rand(4, 9)),
    Sample("pow_scalar", lambda x: x**1.7, rand(4, 9, low=0)),
    Sample("pow_of_scalar", lambda x: 2**x, rand(4, 9)),
    Sample("pow_tensor", torch.pow, rand(4, 9, low=0.1), rand(9)),
    Sample("add_scalar", lambda x: x + 1.5, rand(4, 9)),
    Sample("add_int_scalar", lambda x: 2 + x, rand(4, 9)),
    Sample("add_alpha", lambda x, y: torch.add(x, y, alpha=0.3), rand(4, 9), rand(4, 9)),
    Sample("add_constant", new(AddConstant, 9), rand(4, 9)),
    Sample("add_itself", lambda x: x + x, rand(4, 9)),
    Sample("add_rank0", torch.add, rand(), rand(3)),
    Sample("add_broadcast_both", torch.add, rand(4, 1), rand(1, 9)),
    Sample("add_dynamic", torch.add, rand(BATCH, 3), rand(BATCH, 3)),
    Sample("add_dynamic_broadcast", torch.add, rand(BATCH, 3), rand(1, 3)),
    Sample("add_dynamic_outer", torch.add, rand(BATCH, 1), rand(1, LENGTH)),
    Sample("add_scalar_overload", lambda x: torch.ops.aten.add.Scalar(x, 1.5), rand(4, 9)),
    Sample("sub_scalar_overload", lambda x: torch.ops.aten.sub.Scalar(x, 1.5), rand(4, 9)),
    Sample("mul_scalar_overload", lambda x: torch.ops.aten.mul.Scalar(x, 1.5), rand(4, 9)),
    Sample("div_scalar_overload", lambda x: torch.ops.aten.div.Scalar(x, 1.5), rand(4, 9)),
    Sample("sub_scalar", lambda x: x - 1.5, rand(4, 9)),
    Sample("sub_alpha", lambda x, y: torch.sub(x, y, alpha=2), rand(4, 9), rand(4, 9)),
    Sample("squared_difference", lambda x, y: (x - y) ** 2, rand(4, 9), rand(9)),
    Sample("rsub", lambda x: 1 - x, rand(4, 9)),
    Sample("mul_scalar", lambda x: x * 0.25, rand(4, 9)),
    Sample("div_scalar", lambda x: x / 3, rand(4, 9)),
    Sample("div_of_scalar", lambda x: 1 / x, rand(4, 9, low=0.5)),
    Sample("maximum_special", torch.maximum, SPECIAL, rand(12)),
    Sample("maximum_special_second", torch.maximum, rand(12), SPECIAL),
    Sample("minimum_special", torch.minimum, SPECIAL, rand(12)),
    Sample("minimum_special_second", torch.minimum, rand(12), SPECIAL),
    Sample("mul_zero_size", torch.mul, rand(0, 3), rand(3)),
    Sample("exp2", torch.exp2, rand(4, 9), config=ANY_OPERATOR),
    Sample("clone", lambda x: x.clone() + 1, rand(4, 9)),
    Sample("clone_only", torch.clone, rand(4, 9)),
    Sample("contiguous", lambda x: x.permute(1, 0).contiguous() * 2, rand(4, 9)),
    Sample("to_channels_last", lambda x: x.to(memory_format=torch.channels_last) * 2, rand(2, 3, 4, 5)),
    Sample("clone_without_dim_order", lambda x: x.t().clone() + 1, rand(4, 9), config={"_skip_dim_order": True}),
    Sample("clone_of_integers", lambda x: x.clone(), integers(4, 9)),
    Sample("clone_of_bools", lambda x: x.clone(), bools(4, 9)),
    *(
        Sample(f"{name}_of_integers", _UNARY[name], integers(4, 9))
        for name in ("abs", "ceil", "cos", "exp", "neg", "relu", "relu6", "round", "sigmoid", "sign", "square", "trunc")
    ),
    Sample("hardtanh_of_integers", lambda x: F.hardtanh(x, -3, 4), integers(4, 9, dtype=torch.int32)),
    Sample("abs_of_lowest_integer", torch.abs, values(-(2**63), 2**63 - 1, -1)),
    Sample("sqrt_of_integers", torch.sqrt, integers(4, 9, low=0)),
    Sample("log_of_bools", lambda x: torch.log1p(x), bools(4, 9)),
    Sample("clamp_of_integers", lambda x: x.clamp(-2, 5), integers(4, 9)),
    Sample("clamp_min_of_integers", lambda x: x.clamp(min=3), integers(4, 9, dtype=torch.int32)),
    Sample("clamp_of_integers_by_floats", lambda x: x.clamp(-1.5, 2.5), integers(4, 9)),
    Sample("clamp_by_integers", torch.clamp, integers(4, 9), integers(9), integers(4, 1)),
    Sample("clamp_by_sizes", lambda x, i: i.clamp(0, x.shape[0] - 1), rand(BATCH, 2), integers(4)),
    Sample("selu", F.selu, rand(4, 9)),
    Sample("elu_scaled", lambda x: torch.ops.aten.elu(x, 0.7, 1.5, 2.0), rand(4, 9)),
    Sample("mul_of_bools", torch.mul, bools(4, 9), bools(9)),
    Sample("add_of_bools", torch.add, bools(4, 9), bools(9)),
    Sample("maximum_of_bools", torch.maximum, bools(4, 9), bools(9)),
    Sample("pow_of_integers", lambda x, y: torch.pow(x, y), rand(4, 9, low=0.5), integers(9)),
    Sample("add_bools_alpha", lambda x, y: (torch.add(x, y, alpha=0), torch.add(x, y, alpha=1)), bools(7), bools(7)),
]
