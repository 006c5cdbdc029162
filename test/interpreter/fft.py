# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Fourier transforms."""

import torch
from executorch.backends.et_xnnpack.serialization.schema import FftKind, FftNorm

_FORWARD = {FftNorm.Unscaled: "backward", FftNorm.RootLength: "ortho", FftNorm.Length: "forward"}
_INVERSE = {FftNorm.Unscaled: "forward", FftNorm.RootLength: "ortho", FftNorm.Length: "backward"}


def _fft(a, real, imag=None):
    if a.kind == FftKind.ComplexToReal:
        y = torch.fft.irfft(torch.complex(real, imag), a.length, dim=a.axis, norm=_INVERSE[a.norm])
        return (y.contiguous(),)
    if a.kind == FftKind.Inverse:
        y = torch.fft.ifft(torch.complex(real, imag), dim=a.axis, norm=_INVERSE[a.norm])
    elif a.kind == FftKind.Complex:
        y = torch.fft.fft(torch.complex(real, imag), dim=a.axis, norm=_FORWARD[a.norm])
    else:
        transform = torch.fft.fft if a.full else torch.fft.rfft
        y = transform(real, dim=a.axis, norm=_FORWARD[a.norm])
    return y.real.contiguous(), y.imag.contiguous()


OPERATORS = {"Fft": _fft}
