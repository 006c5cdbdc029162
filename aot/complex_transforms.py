# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What Fourier transforms are in terms of real and imaginary parts."""

import torch

from .complex_arithmetic import RULES
from .complex_rules import any_rule, joined, parts_of, rule
from .fft_ops import fft_c2c, fft_c2r, fft_r2c

_aten = torch.ops.aten

__all__ = ["RULES"]  # with those of ``complex_arithmetic`` and ``complex_rules``


@any_rule(_aten._fft_r2c.default)
def _fft_r2c(x, dim, normalization, onesided):
    real, imag = fft_r2c(x, dim[-1], normalization, onesided)
    for axis in reversed(dim[:-1]):
        real, imag = fft_c2c(real, imag, axis, normalization, True)
    return joined(real, imag)


@rule(_aten._fft_c2c.default)
def _fft_c2c(x, dim, normalization, forward):
    if not dim:
        return _aten.clone(x)
    real, imag = parts_of(x)
    for axis in reversed(dim):
        real, imag = fft_c2c(real, imag, axis, normalization, forward)
    return joined(real, imag)


@rule(_aten._fft_c2r.default)
def _fft_c2r(x, dim, normalization, last_dim_size):
    real, imag = parts_of(x)
    for axis in dim[:-1]:
        real, imag = fft_c2c(real, imag, axis, normalization, False)
    return fft_c2r(real, imag, dim[-1], normalization, last_dim_size)


@any_rule(_aten.unfold_backward.default)
def _unfold_backward(parts, input_sizes, dim, size, step):
    """The sum of overlapping parts, where ``istft`` puts them: shifted by whole steps, and added."""
    steps = -(-size // step)
    dim = dim % len(input_sizes)
    if steps > _MOST_STEPS:
        return NotImplemented
    parts = _aten.constant_pad_nd(parts, [0, steps * step - size])
    # [..., count, ..., size] to [..., size, count, ...], so that each piece of a step is contiguous in the result
    parts = parts.movedim((dim, -1), (-2, -1))
    total = None
    for i in range(steps):
        piece = parts[..., i * step : (i + 1) * step]
        piece = _aten.constant_pad_nd(piece, [0, 0, i, steps - 1 - i])
        total = piece if total is None else total + piece
    flat = total.reshape(*total.shape[:-2], total.shape[-2] * step)
    length = input_sizes[dim]
    whole = flat.shape[-1]
    # What no part covers is 0.
    flat = flat[..., :length] if whole >= length else _aten.constant_pad_nd(flat, [0, length - whole])
    return flat.movedim(-1, dim)


_MOST_STEPS = 32
