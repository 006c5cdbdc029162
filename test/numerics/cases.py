# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is measured, on which values, and how far from the exact result it may be."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F

from . import values

#: What an error is counted in.
RESULT = "ulp"  # of the exact result
LARGEST = "ulp of the largest"  # result of the same row
TERMS = "ulp of the terms"  # of the sum of their magnitudes, which a linear function has of the magnitudes


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    function: Callable
    inputs: Callable[[], tuple[torch.Tensor, ...]]
    bound: float  #: the largest error on any CPU, in ``unit``
    unit: str = RESULT
    constants: Callable[[], tuple[torch.Tensor, ...]] = tuple  #: which the program has, behind the inputs


EVERYWHERE = functools.cache(lambda: (values.everywhere(),))
PAIRS = functools.cache(lambda: values.pairs())


def _all(inputs, unit=RESULT, /, **functions) -> list[Case]:
    return [Case(name.rstrip("_"), f, inputs, bound, unit) for name, (f, bound) in functions.items()]


ELEMENTWISE = _all(
    EVERYWHERE,
    abs=(torch.abs, 0),
    neg=(torch.neg, 0),
    sign=(torch.sign, 0),
    ceil=(torch.ceil, 0),
    floor=(torch.floor, 0),
    round=(torch.round, 0),
    trunc=(torch.trunc, 0),
    frac=(torch.frac, 0),
    relu=(F.relu, 0),
    relu6=(F.relu6, 0),
    clamp=(lambda x: x.clamp(-1.5, 2), 0),
    hardtanh=(F.hardtanh, 0),
    square=(torch.square, 0.5),
    sqrt=(torch.sqrt, 0.5),
    reciprocal=(torch.reciprocal, 0.5),
    rsqrt=(torch.rsqrt, 0),
    exp=(torch.exp, 0),
    exp2=(torch.exp2, 0),
    expm1=(torch.expm1, 0),
    log=(torch.log, 0),
    log2=(torch.log2, 0),
    log10=(torch.log10, 0),
    log1p=(torch.log1p, 0),
    sin=(torch.sin, 0),
    cos=(torch.cos, 0),
    tan=(torch.tan, 0),
    asin=(torch.asin, 0),
    acos=(torch.acos, 0),
    atan=(torch.atan, 0),
    sinh=(torch.sinh, 0),
    cosh=(torch.cosh, 0),
    tanh=(torch.tanh, 0),
    asinh=(torch.asinh, 0),
    acosh=(torch.acosh, 0),
    atanh=(torch.atanh, 0),
    erf=(torch.erf, 0),
    sigmoid=(torch.sigmoid, 0),
    silu=(F.silu, 0),
    gelu=(F.gelu, 0),
    gelu_tanh=(lambda x: F.gelu(x, approximate="tanh"), 0),
    elu=(lambda x: F.elu(x, 0.75), 0),
    leaky_relu=(lambda x: F.leaky_relu(x, 0.25), 0.5),
    hardsigmoid=(F.hardsigmoid, 0),
    hardswish=(F.hardswish, 0),
    softplus=(F.softplus, 0),
    mish=(F.mish, 0),
    logsigmoid=(F.logsigmoid, 0),
    softsign=(F.softsign, 0),
    pow_2_5=(lambda x: x.pow(2.5), 0),
    pow_3=(lambda x: x.pow(3), 0),
    pow_half=(lambda x: x.pow(0.5), 0),
)

BINARY = _all(
    PAIRS,
    add=(torch.add, 0.5),
    sub=(torch.sub, 0.5),
    mul=(torch.mul, 0.5),
    div=(torch.div, 0.5),
    maximum=(torch.maximum, 0),
    minimum=(torch.minimum, 0),
    fmax=(torch.fmax, 0),
    fmin=(torch.fmin, 0),
    pow=(torch.pow, 0),
    atan2=(torch.atan2, 0),
    copysign=(torch.copysign, 0),
    fmod=(torch.fmod, 0),
    remainder=(torch.remainder, 0.5),
    div_floor=(lambda a, b: torch.div(a, b, rounding_mode="floor"), 0),
    squared_difference=(lambda a, b: (a - b).square(), 0),
)


@functools.cache
def _rows() -> tuple[torch.Tensor]:
    return (values.with_special(values.rows(64, 301)),)


@functools.cache
def _factors() -> tuple[torch.Tensor]:
    return (values.with_special(values.between(0.8, 1.25, 62 * 39 - 2).reshape(62, 39)),)


REDUCTIONS = [
    *_all(_rows, TERMS, sum=(lambda x: x.sum(1), 0), mean=(lambda x: x.mean(1), 0), cumsum=(lambda x: x.cumsum(1), 0)),
    *_all(_rows, amax=(lambda x: x.amax(1), 0), amin=(lambda x: x.amin(1), 0)),
    *_all(_factors, prod=(lambda x: x.prod(1), 0), cumprod=(lambda x: x.cumprod(1), 0)),
    *_all(
        _rows,
        var=(lambda x: x.var(1), 0),
        std=(lambda x: x.std(1), 0),
        norm=(lambda x: torch.linalg.vector_norm(x, dim=1), 0),
        logsumexp=(lambda x: x.logsumexp(1), 0),
    ),
    *_all(_rows, LARGEST, softmax=(lambda x: x.softmax(1), 0), log_softmax=(lambda x: x.log_softmax(1), 0)),
]


def _images() -> tuple[torch.Tensor]:
    """[N, C, H, W]"""
    return (values.with_special(values.rows(30, 12 * 7 * 9, seed=1)).reshape(-1, 12, 7, 9),)


@functools.cache
def _statistics() -> tuple[torch.Tensor, ...]:
    """Of 12 channels: mean, variance, weight, bias."""
    return tuple(values.between(0.5, 2, 10, seed) for seed in range(4))


NORMS = [
    *_all(
        _rows,
        LARGEST,
        layer_norm=(lambda x: F.layer_norm(x, (301,)), 0),
        rms_norm=(lambda x: F.rms_norm(x, (301,), eps=1e-6), 0),
    ),
    *_all(_images, LARGEST, group_norm=(lambda x: F.group_norm(x, 3), 0), instance_norm=(F.instance_norm, 0)),
    Case("batch_norm", F.batch_norm, _images, 0, LARGEST, _statistics),
]


def _normal(*shape: int, seed: int = 2) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@functools.cache
def _vectors() -> tuple[torch.Tensor]:
    """[N, K]"""
    return (values.with_special(values.rows(40, 259, seed=3).clamp(-1e30, 1e30)),)


@functools.cache
def _kernels(*shape: int) -> tuple[torch.Tensor]:
    return (_normal(*shape, seed=4),)


@functools.cache
def _small_images() -> tuple[torch.Tensor]:
    """As _images, but sums of products stay finite."""
    return (_images()[0].clamp(-1e30, 1e30),)


@functools.cache
def _grid() -> tuple[torch.Tensor]:
    return (torch.rand(len(_images()[0]), 5, 6, 2, generator=torch.Generator().manual_seed(6)) * 2.4 - 1.2,)


PRODUCTS = [
    Case("linear", F.linear, _vectors, 0, TERMS, lambda: (_normal(45, 259), _normal(45))),
    Case("matmul", torch.matmul, lambda: (*_vectors(), _normal(259, 45)), 0, TERMS),
    Case("conv2d", F.conv2d, _small_images, 0, TERMS, lambda: _kernels(20, 12, 3, 3)),
    Case("conv2d, 1 x 1", F.conv2d, _small_images, 0, TERMS, lambda: _kernels(20, 12, 1, 1)),
    Case("conv2d, depthwise", lambda x, w: F.conv2d(x, w, groups=12), _small_images, 0, TERMS, lambda: _kernels(12, 1, 3, 3)),
    Case("conv_transpose2d", F.conv_transpose2d, _small_images, 0, TERMS, lambda: _kernels(12, 20, 3, 3)),
]


@functools.cache
def _heads() -> tuple[torch.Tensor, ...]:
    """Query, key and value [N, H, L, E]: scores from small to large, some values not finite."""
    query, key, value = _normal(3, 4, 2, 33, 24, seed=5).unbind(0)
    value = value.clone()
    value[3, 1, 5, ::7], value[2, 0, 7, 3] = values.INFINITY, values.NAN
    return query.contiguous(), key * torch.tensor([0.1, 1, 4, 16]).reshape(4, 1, 1, 1), value


IMAGES = [
    Case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), _images, 0, TERMS),
    Case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), _images, 0, TERMS),
    Case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), _images, 0),
    Case("upsample, bilinear", lambda x: F.interpolate(x, (13, 5), mode="bilinear"), _images, 0, TERMS),
    Case("upsample, bicubic", lambda x: F.interpolate(x, (13, 5), mode="bicubic"), _images, 0, LARGEST),
    Case("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), _images, 0, LARGEST, _grid),
]


@functools.cache
def _sequence() -> tuple[torch.Tensor]:
    """[T, N, K]"""
    return (values.with_special(_normal(4 * 30, 16, seed=7)).reshape(-1, 1, 16)[:140].reshape(7, 20, 16),)


def _recurrent(gates: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    return functools.cache(lambda: tuple(0.3 * _normal(*s, seed=8) for s in ((gates * 12, 16), (gates * 12, 12))))


def _lstm(x, *weights):
    zeros = x.new_zeros(1, x.shape[1], 12)
    return torch.lstm(x, (zeros, zeros), weights, False, 1, 0.0, False, False, False)[0]


def _gru(x, *weights):
    return torch.gru(x, x.new_zeros(1, x.shape[1], 12), weights, False, 1, 0.0, False, False, False)[0]


SEQUENCES = [
    Case("attention", F.scaled_dot_product_attention, _heads, 0, LARGEST),
    Case("lstm", _lstm, _sequence, 0, LARGEST, _recurrent(4)),
    Case("gru", _gru, _sequence, 0, LARGEST, _recurrent(3)),
]

#: By the name of the family.
FAMILIES = {
    "elementwise": ELEMENTWISE,
    "elementwise, two operands": BINARY,
    "reduce": REDUCTIONS,
    "norm, softmax": NORMS,
    "products": PRODUCTS,
    "pool, resize": IMAGES,
    "attention, recurrent": SEQUENCES,
}
