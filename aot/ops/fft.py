# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Fourier transforms along one axis: the custom operators of ``fft_ops``, with which ``complex_rules`` expresses the
others of complex numbers, as two real tensors."""

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS
from ...serialization.schema import FftKind, FftNorm
from .registry import op


def _transform(c, attributes, *inputs):
    outputs = [(out.dtype, out.shape) for out in c.outs]
    return c.multi_node(attributes, *inputs, outputs=outputs)


@op("et_xnnpack.fft_c2c.default", dtypes=WIDE_FLOATS)
def fft_c2c(c, real, imag, dim, norm, forward):
    kind = FftKind.Complex if forward else FftKind.Inverse
    return _transform(c, schema.Fft(kind=kind, axis=c.axis(dim, real.rank), norm=FftNorm(norm)), real, imag)


@op("et_xnnpack.fft_r2c.default", dtypes=WIDE_FLOATS)
def fft_r2c(c, x, dim, norm, onesided):
    axis = c.axis(dim, x.rank)
    attributes = schema.Fft(kind=FftKind.RealToComplex, axis=axis, norm=FftNorm(norm), full=not onesided)
    return _transform(c, attributes, x)


@op("et_xnnpack.fft_c2r.default", dtypes=WIDE_FLOATS)
def fft_c2r(c, real, imag, dim, norm, length):
    axis = c.axis(dim, real.rank)
    attributes = schema.Fft(kind=FftKind.ComplexToReal, axis=axis, norm=FftNorm(norm), length=length)
    return c.node(attributes, real, imag, shape=c.out.shape)
