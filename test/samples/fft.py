# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of Fourier transforms and of computing with complex numbers."""

import math

import torch
from torch import nn

from . import BATCH, LENGTH, Sample, Size, new, rand

_FRAMES = Size("frames", 9, (9, 3, 8, 5, 4))
_SAMPLES = Size("samples", 100, (100, 40, 97, 64, 33))


def _pairs(function):
    """A program of real tensors [..., 2] from one of complex tensors."""

    def program(*operands):
        y = function(*(torch.view_as_complex(x) for x in operands))
        return torch.view_as_real(y) if y.is_complex() else y

    return program


def _of_complex(name, function, *shapes):
    """With one operand or several of pairs."""
    return Sample(name, _pairs(function), *(rand(*shape, 2) for shape in shapes or ((BATCH, 6),)))


_TRANSFORMS = {
    "fft": torch.fft.fft,
    "ifft": torch.fft.ifft,
    "fft_ortho": lambda x: torch.fft.fft(x, norm="ortho"),
    "ifft_forward": lambda x: torch.fft.ifft(x, norm="forward"),
    "fft_first": lambda x: torch.fft.fft(x, dim=0),
    "fft_longer": lambda x: torch.fft.fft(x, n=8),
    "fft_shorter": lambda x: torch.fft.fft(x, n=3),
    "irfft": torch.fft.irfft,
    "irfft_odd": lambda x: torch.fft.irfft(x, n=11),
    "irfft_ortho": lambda x: torch.fft.irfft(x, norm="ortho"),
    "hfft": torch.fft.hfft,
    "fftshift": torch.fft.fftshift,
}


class _Istft(nn.Module):
    """With a window of its own, as vocoders have it."""

    def __init__(self, size, step, **options):
        super().__init__()
        self.size, self.step, self.options = size, step, options
        self.register_buffer("window", torch.hann_window(size))

    def forward(self, real, imag):
        x = torch.complex(real, imag)
        return torch.istft(x, self.size, self.step, window=self.window, **self.options)


class _Stft(nn.Module):
    def __init__(self, size, step, **options):
        super().__init__()
        self.size, self.step, self.options = size, step, options
        self.register_buffer("window", torch.hamming_window(size))

    def forward(self, x):
        return torch.stft(x, self.size, self.step, window=self.window, return_complex=True, **self.options).abs()


class _SpectralConv(nn.Module):
    """The layer of a Fourier neural operator."""

    def __init__(self, channels, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(channels, channels, modes, modes, dtype=torch.complex64) / channels)

    def forward(self, x):
        y = torch.fft.rfft2(x)
        m = self.modes
        kept = torch.einsum("bixy,ioxy->boxy", y[..., :m, :m], self.weight)
        full = torch.zeros(x.shape[0], kept.shape[1], y.shape[2], y.shape[3], dtype=torch.complex64)
        full[..., :m, :m] = kept
        return torch.fft.irfft2(full, s=x.shape[-2:])


class _Rotary(nn.Module):
    """Rotary embeddings as Llama's first code has them."""

    def __init__(self, size, length):
        super().__init__()
        angles = torch.outer(torch.arange(length).float(), 10000 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("freqs", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        z = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        y = z * self.freqs[: x.shape[1]].view(1, x.shape[1], 1, -1)
        return torch.view_as_real(y).flatten(3)


class _Conjugated(nn.Module):
    """Constants that PyTorch has not conjugated or negated yet."""

    def __init__(self):
        super().__init__()
        self.register_buffer("buffer", torch.randn(5, dtype=torch.complex64).conj())
        self.register_buffer("negative", torch.randn(5, dtype=torch.complex64).conj().imag, persistent=False)
        self.weight = nn.Parameter(torch.randn(5, dtype=torch.complex64).conj())

    def forward(self, x):
        z = torch.view_as_complex(x)
        return torch.view_as_real(z * self.buffer + self.weight * self.negative)


class _StateSpace(nn.Module):
    """A diagonal state space layer (S4D): a convolution with a kernel of complex powers, by Fourier transforms."""

    def __init__(self, channels, states, length):
        super().__init__()
        self.length = length
        self.log_step = nn.Parameter(torch.rand(channels) - 3)
        self.log_real = nn.Parameter(torch.full((channels, states), math.log(0.5)))
        self.imag = nn.Parameter(math.pi * torch.arange(states).repeat(channels, 1).float())
        self.c = nn.Parameter(torch.randn(channels, states, 2))

    def forward(self, x):
        a = -torch.exp(self.log_real) + 1j * self.imag
        step = torch.exp(self.log_step)
        a_step = a * step.unsqueeze(-1)
        c = torch.view_as_complex(self.c) * (torch.exp(a_step) - 1.0) / a
        powers = torch.exp(a_step.unsqueeze(-1) * torch.arange(self.length))
        kernel = 2 * torch.einsum("hn,hnl->hl", c, powers).real
        n = 2 * self.length
        y = torch.fft.irfft(torch.fft.rfft(x, n=n) * torch.fft.rfft(kernel, n=n), n=n)
        return y[..., : self.length]


_ARITHMETIC = {
    "add": (lambda x: x + x.conj() * 2j, ()),
    "sub": (lambda x: 3.0 - x, ()),
    "div": (lambda x, y: x / y, ((BATCH, 6), (6,))),
    "div_real": (lambda x, y: x / y.real, ((BATCH, 6), (6,))),
    "over_zero": (lambda x: torch.nan_to_num((x / 0j).real, posinf=1, neginf=-1), ()),
    "number_over": (lambda x: (1 + 2j) / x, ()),
    "mul": (lambda x, y: x * y, ((BATCH, 6), (6,))),
    "mul_real": (lambda x, y: x * y.imag, ((BATCH, 6), (6,))),
    "neg": (lambda x: -x, ()),
    "conj": (lambda x: x.conj().resolve_conj(), ()),
    "abs": (torch.abs, ()),
    "angle": (torch.angle, ()),
    "sgn": (torch.sgn, ()),
    "exp": (torch.exp, ()),
    "log": (torch.log, ()),
    "sqrt": (torch.sqrt, ()),
    "square": (lambda x: x**2, ()),
    "power": (lambda x: x**1.5, ()),
    "sin": (torch.sin, ()),
    "cos": (torch.cos, ()),
    "sinh": (torch.sinh, ()),
    "cosh": (torch.cosh, ()),
    "tanh": (torch.tanh, ()),
    "tanh_large": (lambda x: torch.tanh(x * 100), ()),
    "tan": (torch.tan, ()),
    "expm1": (torch.expm1, ()),
    "log1p_small": (lambda x: torch.log1p(x * 1e-4) * 1e4, ()),
    "log2": (torch.log2, ()),
    "log10": (torch.log10, ()),
    "sigmoid": (torch.sigmoid, ()),
    "rsqrt": (torch.rsqrt, ()),
    "power_of_tensors": (lambda x, y: x**y, ((BATCH, 6), (6,))),
    "power_of_zero": (lambda x: (x - x) ** (x + 2), ()),
    "power_complex_number": (lambda x: (x - x[:, :1]) ** (1.5 + 0.5j), ()),
    "log1p_large": (lambda x: torch.log1p(x * 1e25), ()),
    "sigmoid_large": (lambda x: torch.log(torch.sigmoid(x * 30).abs() + 1e-30), ()),
    "power_of_real": (lambda x: x.abs() ** x, ()),
    "power_of_number": (lambda x: 2.5**x, ()),
    "prod": (lambda x: x.prod(-1), ()),
    "prod_of_none": (lambda x: x[0, 0].prod(0), ()),
    "prod_of_five": (lambda x: x[:, :5].prod(1, keepdim=True), ()),
    "norm": (lambda x: torch.linalg.vector_norm(x, dim=-1), ()),
    "is_finite": (lambda x: torch.isfinite(1 / (x - x)).float(), ()),
    "reciprocal": (torch.reciprocal, ()),
    "matmul": (lambda x, y: x @ y, ((BATCH, 4, 6), (6, 3))),
    "bmm": (torch.bmm, ((BATCH, 4, 6), (BATCH, 6, 3))),
    "einsum": (lambda x, y: torch.einsum("bi,io->bo", x, y), ((BATCH, 6), (6, 3))),
    "sum": (lambda x: x.sum(-1), ()),
    "mean": (lambda x: x.mean(-1, keepdim=True), ()),
    "cumsum": (lambda x: x.cumsum(0), ()),
    "equal": (lambda x: (x == x.real).float(), ()),
}


def _written(x, y):
    z = x.clone()
    z[0] = y
    z[:, 1] = 3
    return z


_MOVED = {
    "view": lambda x: x.view(-1, 2, 3),
    "permute": lambda x: x.permute(1, 0),
    "transposed_view": lambda x: x.t().reshape(-1),
    "slice": lambda x: x[:, 1:5:2],
    "cat": lambda x: torch.cat([x, x.real], 1),
    "stack": lambda x: torch.stack([x, x.conj()]),
    "expand": lambda x: x.unsqueeze(0).expand(3, -1, -1),
    "repeat": lambda x: x.repeat(1, 2),
    "flip": lambda x: x.flip(1),
    "roll": lambda x: x.roll(2, 1),
    "select": lambda x: x[:, 2],
    "split": lambda x: x.split(4, 1)[1],
    "pad": lambda x: torch.nn.functional.pad(x, (1, 2)),
    "index": lambda x: x[:, torch.tensor([3, 0, 3])],
    "where": lambda x: torch.where(x.real > 0, x, 1j * x),
    "zeros": lambda x: torch.zeros_like(x) + x[0],
    "zeros_of_real": lambda x: torch.zeros_like(x, dtype=torch.float32) + x.real,
    "new_zeros_of_real": lambda x: x.new_zeros(6, dtype=torch.float32) + x.real,
    "full_of_real": lambda x: torch.full_like(x, 2, dtype=torch.float32) + x.new_full((6,), 3, dtype=torch.int64),
    "ones_of_real": lambda x: torch.ones_like(x, dtype=torch.float32) + x.new_ones(6, dtype=torch.float32),
    "empty_of_real": lambda x: torch.empty_like(x, dtype=torch.float32).fill_(2) + x.new_empty(6).fill_(1j).imag,
    "from_real": lambda x: x.real.to(torch.complex64),
    "unbind": lambda x: x.unbind(1)[3],
    "cat_integers": lambda x: torch.cat([x, torch.arange(6)[None]]),
    "where_integers": lambda x: torch.where(x.real > 0, x, torch.arange(6)),
    "written_integers": lambda x: _written(x, torch.arange(6)),
    "gathered": lambda x: torch.gather(x, 1, torch.tensor([[3, 0, 3]]).expand(x.shape[0], 3)),
    "to_bool": lambda x: torch.complex(x.real.relu(), x.imag.relu()).to(torch.bool),
    "sum_double": lambda x: x.sum(1, dtype=torch.complex128),
    "cumsum_double": lambda x: x.cumsum(1, dtype=torch.complex128),
    "prod_double": lambda x: x.prod(1, dtype=torch.complex128),
    "mixed_double": lambda x: x.real + x.to(torch.complex128)[0, 0],
    "power_of_negative": lambda x: torch.pow(-x.real.abs() - 0.1, x),
    "power_of_negative_number": lambda x: (-x.real.abs() - 0.1) ** 1j,
    "power_of_integers": lambda x: torch.pow(torch.arange(-3, 3) * 2 + 1, x),
    "power_of_number_zero": lambda x: torch.pow(0, torch.complex(x.real.abs() + 0.1, x.imag)),
}

SAMPLES = [
    *(_of_complex(name, function) for name, function in _TRANSFORMS.items()),
    Sample("rfft", lambda x: torch.view_as_real(torch.fft.rfft(x)), rand(BATCH, 10)),
    Sample("rfft_odd", lambda x: torch.view_as_real(torch.fft.rfft(x)), rand(BATCH, 9)),
    Sample("rfft_first", lambda x: torch.view_as_real(torch.fft.rfft(x, dim=0)), rand(12, BATCH)),
    Sample("rfft_dynamic", lambda x: torch.fft.rfft(x, norm="forward").abs(), rand(3, LENGTH)),
    Sample("rfft_prime", lambda x: torch.view_as_real(torch.fft.rfft(x)), rand(3, 74)),
    Sample("rfft_one", lambda x: torch.view_as_real(torch.fft.rfft(x)), rand(3, 1)),
    Sample("fft_of_real", lambda x: torch.view_as_real(torch.fft.fft(x)), rand(BATCH, 10)),
    Sample("fft2", lambda x: torch.view_as_real(torch.fft.fft2(x)), rand(BATCH, 6, 5)),
    Sample("rfft2", lambda x: torch.view_as_real(torch.fft.rfft2(x)), rand(BATCH, 6, 5)),
    Sample("irfft2", _pairs(torch.fft.irfft2), rand(BATCH, 6, 5, 2)),
    Sample("fftn", lambda x: torch.fft.fftn(x).real, rand(3, 4, 5)),
    Sample("conj_imag", lambda x: torch.complex(x, x + 1).conj().imag, rand(BATCH, 10)),
    Sample("ihfft", lambda x: torch.view_as_real(torch.fft.ihfft(x).resolve_conj()), rand(BATCH, 10)),
    Sample("stft", new(_Stft, 16, 4), rand(2, 100)),
    Sample("stft_dynamic", new(_Stft, 16, 4), rand(BATCH, _SAMPLES)),
    Sample("stft_not_centered", new(_Stft, 12, 5, center=False, normalized=True), rand(2, 100)),
    Sample("istft", new(_Istft, 16, 4), rand(2, 9, 12), rand(2, 9, 12)),
    Sample("istft_dynamic", new(_Istft, 16, 4), rand(BATCH, 9, _FRAMES), rand(BATCH, 9, _FRAMES)),
    Sample("istft_uneven", new(_Istft, 14, 4), rand(2, 8, 12), rand(2, 8, 12)),
    Sample("istft_length", new(_Istft, 16, 4, length=50), rand(2, 9, 12), rand(2, 9, 12)),
    Sample("spectral_conv", new(_SpectralConv, 3, 4), rand(BATCH, 3, 12, 12)),
    Sample("rotary_of_complex", new(_Rotary, 8, 20), rand(2, LENGTH, 3, 8)),
    Sample("conjugated", new(_Conjugated), rand(BATCH, 5, 2)),
    Sample("state_space", new(_StateSpace, 3, 4, 20), rand(BATCH, 3, 20)),
    Sample("polar", lambda r, a: torch.view_as_real(torch.polar(r, a)), rand(BATCH, 5), rand(BATCH, 5)),
    Sample("complex", lambda r, i: torch.view_as_real(torch.complex(r, i)), rand(BATCH, 5), rand(5)),
    Sample("exp_of_imaginary", lambda x: torch.exp(1j * x).imag, rand(BATCH, 5)),
    *(_of_complex(f"complex_{name}", f, *shapes) for name, (f, shapes) in _ARITHMETIC.items()),
    *(_of_complex(f"complex_{name}", function) for name, function in _MOVED.items()),
]
