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
    bound: float  #: the largest error that is accepted, in ``unit``
    unit: str = RESULT
    constants: Callable[[], tuple[torch.Tensor, ...]] = tuple  #: which the program has, behind the inputs
    zeros_have_signs: bool = True  #: which are those of eager PyTorch


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
    rsqrt=(torch.rsqrt, 1.5),
    exp=(torch.exp, 1),
    exp2=(torch.exp2, 1.5),
    expm1=(torch.expm1, 3),
    log=(torch.log, 1),
    log2=(torch.log2, 1.5),
    log10=(torch.log10, 2),
    log1p=(torch.log1p, 3),
    sin=(torch.sin, 2),
    cos=(torch.cos, 2),
    tan=(torch.tan, 1),
    asin=(torch.asin, 2),
    acos=(torch.acos, 1.5),
    atan=(torch.atan, 2),
    sinh=(torch.sinh, 3),
    cosh=(torch.cosh, 1.5),
    tanh=(torch.tanh, 6),
    asinh=(torch.asinh, 3),
    acosh=(torch.acosh, 2),
    atanh=(torch.atanh, 3),
    erf=(torch.erf, 1.5),
    sigmoid=(torch.sigmoid, 3),
    silu=(F.silu, 3),
    elu=(lambda x: F.elu(x, 0.75), 2),
    leaky_relu=(lambda x: F.leaky_relu(x, 0.25), 0.5),
    hardsigmoid=(F.hardsigmoid, 1),
    softplus=(F.softplus, 3),
    logsigmoid=(F.logsigmoid, 3),
    softsign=(F.softsign, 1.5),
    **{f"pow {y}": (lambda x, y=y: x.pow(y), bound) for y, bound in ((0.5, 1), (2.5, 1), (3, 1.5))},
)

# Close to zero on the left, where a sum that cancels is multiplied by x. PyTorch computes it in the same way.
ELEMENTWISE += _all(
    EVERYWHERE,
    TERMS,
    gelu=(F.gelu, 2),
    gelu_tanh=(lambda x: F.gelu(x, approximate="tanh"), 2),
    hardswish=(F.hardswish, 2),
    mish=(F.mish, 3),
)

BINARY = _all(
    PAIRS,
    add=(torch.add, 0.5),
    sub=(torch.sub, 0.5),
    mul=(torch.mul, 0.5),
    div=(torch.div, 0.5),
    pow=(torch.pow, 1),
    atan2=(torch.atan2, 1.5),
    copysign=(torch.copysign, 0),
    fmod=(torch.fmod, 0),
    remainder=(torch.remainder, 0.5),
    div_floor=(lambda a, b: torch.div(a, b, rounding_mode="floor"), 2),
    squared_difference=(lambda a, b: (a - b).square(), 2),
)
BINARY.append(Case("prelu", F.prelu, lambda: (PAIRS()[0][:, None],), 0.5, constants=lambda: (torch.tensor([0.3]),)))
# Which of 0 and -0 is larger PyTorch leaves to the CPU.
BINARY += [
    Case(name, getattr(torch, name), PAIRS, 0, zeros_have_signs=False)
    for name in ("maximum", "minimum", "fmax", "fmin")
]


@functools.cache
def _rows() -> tuple[torch.Tensor]:
    return (values.with_special(values.rows(64, 301, (-140, 100))),)


@functools.cache
def _moderate_rows() -> tuple[torch.Tensor]:
    """Their squares are normal numbers, and so is the sum of these."""
    return (values.with_special(values.rows(64, 301, (-60, 50)), values.SQUARABLE),)


@functools.cache
def _factors() -> tuple[torch.Tensor]:
    return (values.with_special(values.between(0.8, 1.25, 62 * 39 - 2).reshape(62, 39)),)


REDUCTIONS = [
    *_all(
        _rows, TERMS, sum=(lambda x: x.sum(1), 1.5), mean=(lambda x: x.mean(1), 1.5), cumsum=(lambda x: x.cumsum(1), 1)
    ),
    *_all(_rows, amax=(lambda x: x.amax(1), 0), amin=(lambda x: x.amin(1), 0)),
    *_all(_factors, prod=(lambda x: x.prod(1), 8), cumprod=(lambda x: x.cumprod(1), 0.5)),
    *_all(_rows, logsumexp=(lambda x: x.logsumexp(1), 1)),
    *_all(
        _moderate_rows,
        var=(lambda x: x.var(1), 2),
        std=(lambda x: x.std(1), 2),
        norm=(lambda x: torch.linalg.vector_norm(x, dim=1), 1),
    ),
    *_all(_rows, LARGEST, softmax=(lambda x: x.softmax(1), 3), log_softmax=(lambda x: x.log_softmax(1), 1.5)),
]


@functools.cache
def _images() -> tuple[torch.Tensor]:
    """[N, C, H, W]: XNNPACK takes denormal numbers for zero in products and pools."""
    rows = values.rows(30, 12 * 7 * 9, (-60, 50), seed=1)
    return (values.with_special(rows, values.SQUARABLE).reshape(-1, 12, 7, 9),)


@functools.cache
def _statistics() -> tuple[torch.Tensor, ...]:
    """Of 12 channels: mean, variance, weight, bias."""
    return tuple(values.between(0.5, 2, 10, seed) for seed in range(4))


NORMS = [
    *_all(
        _moderate_rows,
        LARGEST,
        layer_norm=(lambda x: F.layer_norm(x, (301,)), 2),
        rms_norm=(lambda x: F.rms_norm(x, (301,), eps=1e-6), 1.5),
    ),
    *_all(_images, LARGEST, group_norm=(lambda x: F.group_norm(x, 3), 2), instance_norm=(F.instance_norm, 2)),
    Case("batch_norm", F.batch_norm, _images, 2, LARGEST, _statistics),
]


def _normal(*shape: int, seed: int = 2) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@functools.cache
def _vectors() -> tuple[torch.Tensor]:
    """[N, K]"""
    return (values.with_special(values.rows(40, 259, (-80, 90), seed=3)),)


@functools.cache
def _kernels(*shape: int) -> tuple[torch.Tensor]:
    return (_normal(*shape, seed=4),)


@functools.cache
def _grid() -> tuple[torch.Tensor]:
    """Positions that float32 holds."""
    generator = torch.Generator().manual_seed(6)
    return (torch.randint(-80, 80, (len(_images()[0]), 5, 6, 2), generator=generator) / 64,)


PRODUCTS = [
    Case("linear", F.linear, _vectors, 16, TERMS, lambda: (_normal(45, 259), _normal(45))),
    Case("matmul", torch.matmul, lambda: (*_vectors(), _normal(259, 45)), 4, TERMS),
    Case("conv2d", F.conv2d, _images, 8, TERMS, lambda: _kernels(20, 12, 3, 3)),
    Case("1 x 1 conv2d", F.conv2d, _images, 4, TERMS, lambda: _kernels(20, 12, 1, 1)),
    Case("depthwise conv2d", lambda x, w: F.conv2d(x, w, groups=12), _images, 4, TERMS, lambda: _kernels(12, 1, 3, 3)),
    Case("conv_transpose2d", F.conv_transpose2d, _images, 6, TERMS, lambda: _kernels(12, 20, 3, 3)),
]


@functools.cache
def _heads() -> tuple[torch.Tensor, ...]:
    """Query, key and value [N, H, L, E]: scores from small to large, some values not finite."""
    query, key, value = _normal(3, 4, 2, 33, 24, seed=5).unbind(0)
    value = value.clone()
    value[3, 1, 5, ::7], value[2, 0, 7, 3] = values.INFINITY, values.NAN
    return query.contiguous(), key * torch.tensor([0.1, 1, 4, 16]).reshape(4, 1, 1, 1), value


IMAGES = [
    Case("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), _images, 3, TERMS),
    Case("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 1), _images, 2, TERMS),
    Case("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), _images, 0),
    Case("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 4)), _images, 0),
    Case("nearest upsample", lambda x: F.interpolate(x, (13, 17), mode="nearest"), _images, 0),
    Case(
        "bilinear upsample",
        lambda x: F.interpolate(x, (13, 17), mode="bilinear", align_corners=True),
        _images,
        2,
        TERMS,
    ),
    Case("bicubic upsample", lambda x: F.interpolate(x, (14, 18), mode="bicubic"), _images, 4, LARGEST),
    Case(
        "grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), lambda: (*_images(), *_grid()), 3, LARGEST
    ),
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


def _rnn(x, *weights, relu):
    function = torch.rnn_relu if relu else torch.rnn_tanh
    return function(x, x.new_zeros(1, x.shape[1], 12), weights, False, 1, 0.0, False, False, False)[0]


def _turn(x, cos, sin):
    """A rotary embedding: of halves."""
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


@functools.cache
def _angles() -> tuple[torch.Tensor, ...]:
    angles = torch.arange(33)[:, None] * 0.7 ** torch.arange(12)
    return angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)


SEQUENCES = [
    Case("attention", F.scaled_dot_product_attention, _heads, 32, LARGEST),
    Case("lstm", _lstm, _sequence, 6, LARGEST, _recurrent(4)),
    Case("gru", _gru, _sequence, 6, LARGEST, _recurrent(3)),
    Case("rnn_tanh", functools.partial(_rnn, relu=False), _sequence, 8, LARGEST, _recurrent(1)),
    Case("rnn_relu", functools.partial(_rnn, relu=True), _sequence, 3, LARGEST, _recurrent(1)),
    Case("rotary embedding", _turn, lambda: _heads()[2:], 2, LARGEST, _angles),
]


@functools.cache
def _signals() -> tuple[torch.Tensor, ...]:
    """Real and imaginary part [N, 120], all of them finite: what is not reaches other results, in ways of its own."""
    return values.rows(40, 120, (-60, 50), seed=9), values.rows(40, 120, (-60, 50), seed=10)


@functools.cache
def _long_signals() -> tuple[torch.Tensor]:
    """[N, 74]: a length that is twice a prime number."""
    return (values.rows(40, 74, (-60, 50), seed=11),)


TRANSFORMS = [
    Case(name, lambda a, b, f=f: torch.view_as_real(f(torch.complex(a, b))), _signals, bound, LARGEST)
    for name, f, bound in (("fft", torch.fft.fft, 5), ("ifft", torch.fft.ifft, 5))
]
TRANSFORMS += [
    Case("irfft", lambda a, b: torch.fft.irfft(torch.complex(a, b), n=238), _signals, 5, LARGEST),
    Case("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), lambda: _signals()[:1], 5, LARGEST),
    Case("rfft of a prime length", lambda x: torch.view_as_real(torch.fft.rfft(x)), _long_signals, 8, LARGEST),
]


@functools.cache
def _places() -> tuple[torch.Tensor, ...]:
    """Rows of _rows() in any order; columns, for each row others; neither twice."""
    generator = torch.Generator().manual_seed(12)
    count, length = _rows()[0].shape
    columns = torch.rand(count, length, generator=generator).argsort(1)[:, :17]
    return torch.randperm(count, generator=generator)[:31], columns.contiguous()


def _rows_and_places() -> tuple[torch.Tensor, ...]:
    return (*_rows(), *_places())


@functools.cache
def _bags() -> tuple[torch.Tensor, ...]:
    """Indices, and where each bag begins; the third one is empty."""
    return torch.arange(60) * 7 % 86, torch.tensor([0, 5, 9, 9, 30])


def _bag(indices, offsets, table, mode):
    return F.embedding_bag(indices, table, offsets, mode=mode)


_THRESHOLD = 0.25
#: What computes nothing: every number is there as it was.
MOVES = [
    *_all(
        _rows,
        transpose=(lambda x: x.t(), 0),
        expand=(lambda x: x[:, None].expand(-1, 2, -1), 0),
        cat=(lambda x: torch.cat([x, x[:, :7]], 1), 0),
        slice_=(lambda x: x[3::2, 1:-1], 0),
        pad=(lambda x: F.pad(x, (1, 2), value=values.INFINITY), 0),
        where=(lambda x: torch.where(x > _THRESHOLD, x, -2.0), 0),
        sort=(lambda x: x.sort(dim=1, stable=True)[0], 0),
        topk=(lambda x: x.topk(5, 1)[0], 0),
        slice_scatter=(lambda x: torch.slice_scatter(x, -x[:, :5], 1, 3, 8), 0),
        masked_scatter=(lambda x: x.masked_scatter(x > _THRESHOLD, -x), 0),
    ),
    *_all(
        _rows_and_places,
        index=(lambda x, i, j: x[i], 0),
        gather=(lambda x, i, j: x.gather(1, j), 0),
        index_put=(lambda x, i, j: x.index_put((i,), -x[:31]), 0),
        scatter=(lambda x, i, j: x.scatter(1, j, -x), 0),
    ),
    *_all(
        _images,
        reflection_pad=(lambda x: F.pad(x, (2, 3, 1, 0), mode="reflect"), 0),
        replication_pad=(lambda x: F.pad(x, (2, 3, 1, 0), mode="replicate"), 0),
        circular_pad=(lambda x: F.pad(x, (2, 3, 1, 0), mode="circular"), 0),
    ),
]
#: Comparisons, and places that depend on them.
COMPARISONS = [
    *_all(
        PAIRS,
        eq=(torch.eq, 0),
        ne=(torch.ne, 0),
        lt=(torch.lt, 0),
        le=(torch.le, 0),
        gt=(torch.gt, 0),
        ge=(torch.ge, 0),
    ),
    *_all(EVERYWHERE, isnan=(torch.isnan, 0), isinf=(torch.isinf, 0)),
    *_all(_rows, argmax=(lambda x: x.argmax(1), 0), argmin=(lambda x: x.argmin(1), 0)),
    Case("argsort", lambda x: x.sort(dim=1, stable=True)[1], _rows, 0),
    Case("indices of max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True)[1], _images, 0),
    Case("any", lambda x: (x > _THRESHOLD).any(1), _rows, 0),
    Case("all", lambda x: (x > _THRESHOLD).all(1), _rows, 0),
]
CONVERSIONS = [
    Case("to float16 and back", lambda x: x.half().float(), EVERYWHERE, 0),
    Case("to bfloat16 and back", lambda x: x.bfloat16().float(), EVERYWHERE, 0),
    Case("to bool", torch.Tensor.bool, EVERYWHERE, 0),
]
#: Sums of elements that indices pick.
UPDATES = [
    Case("scatter_add", lambda x, i, j: x.scatter_add(1, j % 5, x), _rows_and_places, 2, TERMS),
    Case("index_add", lambda x, i, j: x.index_add(0, i % 7, x[:31]), _rows_and_places, 2, TERMS),
    Case("scatter_reduce amax", lambda x, i, j: x.scatter_reduce(1, j % 5, x, "amax"), _rows_and_places, 0),
    Case("embedding_bag sum", functools.partial(_bag, mode="sum"), _bags, 2, TERMS, _rows),
    Case("embedding_bag mean", functools.partial(_bag, mode="mean"), _bags, 2, TERMS, _rows),
    Case("embedding_bag max", functools.partial(_bag, mode="max"), _bags, 0, constants=_rows),
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
    "fourier transforms": TRANSFORMS,
    "moves": MOVES,
    "comparisons": COMPARISONS,
    "conversions": CONVERSIONS,
    "updates by index": UPDATES,
}
