# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Images made larger or smaller by repetition or interpolation."""

from ...serialization import schema
from ...serialization.schema import ResizeKind
from .registry import op


def _resize(c, x, kind, align_corners, scales):
    c.require(x.rank == 4, f"an image of rank {x.rank}")
    batch, channels, *size = c.out.shape
    # PyTorch's scales say how many times larger the output is; its kernels use the inverse.
    height, width = (1 / s if s else 0.0 for s in scales)
    attributes = schema.Resize2d(
        kind=kind,
        shape=tuple(size),
        align_corners=align_corners,
        scale_height=height,
        scale_width=width,
    )
    y = c.node(attributes, c.nhwc(x), shape=(batch, *size, channels))
    return c.nchw(y)


def _given(scale_factors):
    return (None, None) if scale_factors is None else tuple(scale_factors)


@op("aten.upsample_nearest2d.vec", preserve=True)
def upsample_nearest2d_vec(c, input, scale_factors):
    return _resize(c, input, ResizeKind.Nearest, False, _given(scale_factors))


@op("aten.upsample_bilinear2d.vec", preserve=True)
def upsample_bilinear2d_vec(c, input, align_corners, scale_factors):
    return _resize(c, input, ResizeKind.Bilinear, align_corners, _given(scale_factors))


@op("aten.upsample_bicubic2d.vec", preserve=True)
def upsample_bicubic2d_vec(c, input, align_corners, scale_factors):
    return _resize(c, input, ResizeKind.Bicubic, align_corners, _given(scale_factors))
