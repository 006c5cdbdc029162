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


for _name, _function in (("fft_c2c", _c2c), ("fft_r2c", _r2c), ("fft_c2r", _c2r)):
    _LIBRARY.impl(_name, _function, "CompositeExplicitAutograd")

fft_c2c = torch.ops.et_xnnpack.fft_c2c.default
fft_r2c = torch.ops.et_xnnpack.fft_r2c.default
fft_c2r = torch.ops.et_xnnpack.fft_c2r.default
