# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of float64: inputs, results and what is computed in between, as exact as in eager PyTorch."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import ANY_OPERATOR, BATCH, LENGTH, Argument, Sample, bools, integers, new, rand
from .state import Stateful


def doubles(*shape, low: float = -2, high: float = 2, channels_last: bool = False) -> Argument:
    """Uniformly distributed numbers, not one of which is a float32."""
    memory_format = torch.channels_last if channels_last else torch.contiguous_format

    def fill(sizes, generator):
        return torch.rand(sizes, generator=generator, dtype=torch.float64) * (high - low) + low

    return Argument(shape, fill, memory_format)


def _exact(name, program, *arguments, **options):
    options = {"rtol": 1e-13, "atol": 1e-13, "config": ANY_OPERATOR} | options
    return Sample(f"float64_{name}", program, *arguments, **options)


def _rope(positions, dim=16, theta=10000):
    """Rotations of positions, as FLUX has them."""
    scale = torch.arange(0, dim, 2, dtype=torch.float64) / dim
    angles = torch.einsum("...n,d->...nd", positions.double(), 1.0 / theta**scale)
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([cos, -sin, sin, cos], -1).unflatten(-1, (2, 2)).float()


def _timesteps(steps, size=32, scale=1000):
    """The sinusoidal embedding of diffusers, in float64."""
    half = size // 2
    exponent = -math.log(10000) * torch.arange(half, dtype=torch.float64) / half
    angles = scale * steps.double()[:, None] * exponent.exp()[None]
    return torch.cat([angles.cos(), angles.sin()], -1).float()


def _arithmetic(x, y):
    return (
        x + y,
        x - 0.1 * y,
        x * y / (y + 3),
        x // y,
        torch.remainder(x, y),
        torch.fmod(x, y),
        x.abs() ** y,
        x**3,
        (x + 3) ** -2,
        torch.atan2(x, y),
        torch.copysign(x, y),
        torch.fmax(x, y),
        torch.minimum(x, y),
    )


def _functions(x):
    positive = x.abs() + 0.01
    return (
        x.exp(),
        positive.log(),
        x.sin(),
        x.cos(),
        x.tan(),
        x.tanh(),
        x.sigmoid(),
        x.erf(),
        positive.sqrt(),
        positive.rsqrt(),
        positive.reciprocal(),
        x.floor(),
        x.ceil(),
        x.round(),
        x.trunc(),
        x.sign(),
        x.expm1(),
        x.sinh(),
        x.cosh(),
        x.asinh(),
        x.atan(),
        positive.log2(),
        positive.log10(),
        x.abs().log1p(),
        x.exp2(),
    )


def _activations(x):
    return (
        x.relu(),
        F.relu6(x * 4),
        F.hardtanh(x, -0.1, 0.7),
        x.clamp(-0.3, 0.1),
        x.clamp(min=0.3),
        F.leaky_relu(x, 0.1),
        F.elu(x, 0.3),
        F.selu(x),
        F.celu(x, 0.5),
        F.gelu(x),
        F.gelu(x, approximate="tanh"),
        F.silu(x),
        F.hardswish(x),
        F.hardsigmoid(x),
        F.softplus(x),
        F.mish(x),
    )


def _reductions(x):
    return (
        x.sum(),
        x.sum(1),
        x.mean((0, 2)),
        x.mean(-1, keepdim=True),
        x.amax(1),
        x.amin((1, 2)),
        x.prod(2),
        x.var(1),
        x.std((0, 1), correction=0),
        x.argmax(-1),
        x.argmin(1),
        x.cumsum(1),
        x.cumprod(2),
        x.norm(dim=-1),
        torch.logsumexp(x, 1),
    )


def _orders(x):
    values, indices = x.topk(3, -1)
    return *x.sort(-1), *x.sort(1, descending=True), values, indices, *x.median(-1), x.argsort(1)


def _casts(x, i, b, f):
    return (
        x.float(),
        x.long(),
        x.int(),
        (x * 30).to(torch.int8),
        x > 0,
        x.half(),
        x.bfloat16(),
        i.double() * 0.1,
        b.double(),
        f.double() * 0.1,
        f.half().double(),
    )


def _comparisons(x, y):
    return (
        x == y,
        x != y,
        x < y,
        x <= 0.1,
        x > y,
        x >= 0.1,
        torch.where(x > y, x, 0.1),
        torch.isnan(x),
        torch.isinf(x / 0),
    )


def _moves(x):
    return (
        x.permute(2, 0, 1),
        x[:, 1:3],
        torch.cat([x, x * 0.1], 1),
        x.flip(1),
        x.expand(2, *x.shape) + 0.1,
        F.pad(x, (1, 2), value=0.1),
        F.pad(x, (1, -1), value=-math.inf),
        F.pad(x, (2, 1), mode="reflect"),
        x.flatten(1).unfold(1, 4, 3),
        x.roll(1, 2),
        x.repeat(1, 2, 1),
        torch.tril(x),
    )


def _indices(x, i):
    row = i % 4
    return (
        x[:, row],
        x.gather(1, row[:, None, None].expand(-1, 2, 3)),
        x.index_select(2, row),
        x.index_add(1, row, torch.full((x.shape[0], 3, x.shape[2]), 0.1, dtype=torch.float64)),
        x.scatter(1, row[:, None, None].expand(-1, 2, 3), 0.1),
        x.scatter_reduce(1, row[:, None, None].expand(-1, 2, 3), x[:3], "amax"),
        x.masked_fill(x > 0.5, 0.1),
        torch.embedding(x[0], row),
    )


class Norms(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LayerNorm(8, dtype=torch.float64)
        self.group = nn.GroupNorm(2, 4, dtype=torch.float64)
        self.rms = nn.RMSNorm(8, dtype=torch.float64)
        self.batch = nn.BatchNorm1d(4, dtype=torch.float64)
        self.instance = nn.InstanceNorm1d(4)

    def forward(self, x):
        return self.layer(x), self.group(x), self.rms(x), self.batch(x), self.instance(x)


class Linears(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(19, 33, dtype=torch.float64)
        self.second = nn.Linear(33, 7, bias=False, dtype=torch.float64)

    def forward(self, x):
        return self.second(self.first(x).relu())


def _products(x, y):
    return x @ y, torch.bmm(x, y) * 0.1, torch.baddbmm(x, x, y @ x, beta=0.5, alpha=0.75), y[0] @ x, x[:, 0] @ y[0]


def _attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def _clock(m, x):
    m.time += 0.1
    return (x + m.time).float(), m.time * 1


def _fourier(x):
    y = torch.fft.rfft(x, norm="ortho")
    z = torch.fft.ifft(torch.fft.fft(torch.complex(x, -x), dim=1), dim=1)
    return torch.view_as_real(y), torch.fft.irfft(y * (1 + 2j), n=x.shape[2], norm="ortho"), z.real, z.abs()


_CUBE = doubles(3, 4, 5)

SAMPLES = [
    _exact("input_and_output", lambda x, y: x * 0.1 + y, doubles(BATCH, 3), doubles(3)),
    _exact("mean", lambda x: x.double().mean().float(), rand(3, 4)),
    _exact("mean_dynamic", lambda x: (x.double() / 3).mean(-1).float(), rand(BATCH, LENGTH), rtol=1e-6),
    _exact("rope", _rope, rand(1, 5, low=0, high=60)),
    _exact("rope_dynamic", _rope, integers(BATCH, LENGTH, low=0, high=60)),
    _exact("timesteps", _timesteps, rand(BATCH, low=0, high=1)),
    _exact(
        "size",
        lambda x: x / math.sqrt(3) + torch.arange(x.shape[0], dtype=torch.float64)[:, None] * 0.1,
        rand(BATCH, 3),
    ),
    _exact("arithmetic", _arithmetic, doubles(3, 5), doubles(3, 5)),
    _exact("arithmetic_dynamic", _arithmetic, doubles(BATCH, 1, LENGTH), doubles(4, 1)),
    _exact("fourier", _fourier, doubles(3, 5, 12)),
    _exact("fourier_dynamic", _fourier, doubles(BATCH, LENGTH, 9)),
    _exact("fourier_of_many", lambda x: torch.view_as_real(torch.fft.rfft(x)), doubles(600, 64)),
    _exact("fourier_prime", lambda x: torch.view_as_real(torch.fft.rfft(x)), doubles(3, 74)),
    _exact("functions", _functions, doubles(BATCH, 37)),
    _exact(
        "functions_within",
        lambda x: (x.asin(), x.acos(), x.atanh(), (x.abs() + 1).acosh()),
        doubles(33, low=-1, high=1),
    ),
    _exact("activations", _activations, doubles(BATCH, 33)),
    _exact("rounded", lambda x: (torch.round(x, decimals=2), torch.div(x, 0.3, rounding_mode="trunc")), doubles(3, 5)),
    _exact("reductions", _reductions, _CUBE),
    _exact("reductions_dynamic", _reductions, doubles(BATCH, 3, LENGTH), rtol=1e-12),
    _exact("orders", _orders, doubles(BATCH, 7, 5)),
    _exact("order_long", lambda x: x.sort(-1).indices, doubles(2, 1000)),
    _exact("softmax", lambda x: (x.softmax(-1), x.softmax(1), x.log_softmax(0)), doubles(BATCH, 3, LENGTH, high=40)),
    _exact("casts", _casts, doubles(BATCH, 5), integers(5), bools(5), rand(BATCH, 5)),
    _exact("comparisons", _comparisons, doubles(BATCH, 5), doubles(5)),
    _exact("scalar", lambda x, s: (x * s, s * 0.1, torch.where(x > 0, x, s)), rand(3, 4), doubles(), rtol=1e-6),
    _exact(
        "mixed",
        lambda x, f, i: (x + f, x * i, torch.where(x > 0, x, f), torch.cat([x, f])),
        _CUBE,
        rand(3, 4, 5),
        integers(5),
    ),
    _exact("moves", _moves, _CUBE),
    _exact(
        "moves_dynamic",
        lambda x: (x.transpose(1, 2), F.pad(x, (1, 2), value=0.1), torch.stack([x, x + 0.1])),
        doubles(BATCH, 3, LENGTH),
    ),
    _exact("channels_last", lambda x: F.pad(x * 0.1, (1, 1)), doubles(2, 3, 4, 5, channels_last=True)),
    _exact("indices", _indices, doubles(3, 4, 5), integers(3, low=0)),
    _exact("norms", new(Norms), doubles(BATCH, 4, 8)),
    _exact("linears", new(Linears), doubles(BATCH, 5, 19)),
    _exact("products", _products, doubles(3, 4, 17), doubles(3, 17, 4)),
    _exact("product_dynamic", torch.matmul, doubles(BATCH, 3, LENGTH), doubles(BATCH, LENGTH, 20)),
    _exact("product_long", torch.matmul, doubles(70, 600), doubles(600, 35), rtol=1e-12, atol=1e-12),
    _exact("attention", _attention, doubles(BATCH, 2, 5, 8), doubles(BATCH, 2, 6, 8), doubles(BATCH, 2, 6, 8)),
    _exact("state", new(lambda: Stateful(_clock, time=torch.zeros(3, dtype=torch.float64))), rand(BATCH, 3), rtol=1e-6),
    _exact("empty", lambda x: (x.sum(1), x * 0.1, x.mean(0)), doubles(3, 0)),
    # Numbers that only come of taking operators apart.
    _exact("addcmul_value", lambda x: torch.addcmul(x, x, x, value=0.1), doubles(BATCH, 3), rtol=1e-15),
    _exact("addcdiv_value", lambda x: torch.addcdiv(x, x, x.exp(), value=0.1), doubles(BATCH, 3), rtol=1e-14),
    _exact("softplus_beta", lambda x: F.softplus(x, beta=0.7), doubles(BATCH, 3)),
    _exact("celu_alpha", lambda x: F.celu(x, 0.7), doubles(BATCH, 3)),
    _exact("rsub_alpha", lambda x: torch.rsub(x, 0.1, alpha=2), doubles(BATCH, 3), rtol=1e-15),
    _exact("smooth_l1_loss", lambda x, y: F.smooth_l1_loss(x, y, beta=0.3), doubles(3, 4), doubles(3, 4)),
    _exact("huber_loss", lambda x, y: F.huber_loss(x, y, delta=0.3), doubles(3, 4), doubles(3, 4)),
    _exact("angles", lambda x: (torch.rad2deg(x), torch.deg2rad(x), torch.sinc(x)), doubles(BATCH, 3)),
    _exact("negated_linear", lambda x, w: -F.linear(x, w), doubles(4, 8), doubles(5, 8)),
]
