# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Custom operators: Fourier transforms along one axis, of complex numbers as two real tensors.

Each has ``norm``: 0 leaves the sums as they are, 1 divides them by the square root of the length, 2 by the length.
"""

import torch

_LIBRARY = torch.library.Library("et_xnnpack", "FRAGMENT")
_aten = torch.ops.aten

_LIBRARY.define("fft_c2c(Tensor real, Tensor imag, int dim, int norm, bool forward) -> (Tensor, Tensor)")
_LIBRARY.define("fft_r2c(Tensor x, int dim, int norm, bool onesided) -> (Tensor, Tensor)")
_LIBRARY.define("fft_c2r(Tensor real, Tensor imag, int dim, int norm, SymInt length) -> Tensor")


def _parts(y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return y.real.contiguous(), y.imag.contiguous()


def _c2c(real, imag, dim, norm, forward):
    return _parts(_aten._fft_c2c(torch.complex(real, imag), [dim], norm, forward))


def _r2c(x, dim, norm, onesided):
    return _parts(_aten._fft_r2c(x, [dim], norm, onesided))


def _c2r(real, imag, dim, norm, length):
    return _aten._fft_c2r(torch.complex(real, imag), [dim], norm, length).contiguous()


def _resized(x: torch.Tensor, dim: int, size) -> torch.Tensor:
    shape = list(x.shape)
    shape[dim] = size
    return x.new_empty(shape)


def _shape_c2c(real, imag, dim, norm, forward):
    return real.new_empty(real.shape), real.new_empty(real.shape)


def _shape_r2c(x, dim, norm, onesided):
    size = x.shape[dim] // 2 + 1 if onesided else x.shape[dim]
    return _resized(x, dim, size), _resized(x, dim, size)


def _shape_c2r(real, imag, dim, norm, length):
    return _resized(real, dim, length)


# Without shapes of their own, programs would be traced through complex numbers: a third of lowering a Fourier operator.
for _name, _function, _shape in (
    ("fft_c2c", _c2c, _shape_c2c),
    ("fft_r2c", _r2c, _shape_r2c),
    ("fft_c2r", _c2r, _shape_c2r),
):
    _LIBRARY.impl(_name, _function, "CompositeExplicitAutograd")
    torch.library.register_fake(f"et_xnnpack::{_name}", _shape, lib=_LIBRARY)

fft_c2c = torch.ops.et_xnnpack.fft_c2c.default
fft_r2c = torch.ops.et_xnnpack.fft_r2c.default
fft_c2r = torch.ops.et_xnnpack.fft_c2r.default
