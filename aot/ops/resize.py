# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Images made larger or smaller by repetition or interpolation, or sampled at given places.

Rows are images of height 1; volumes are resized as images, then in depth.
"""

import numpy as np

from ...serialization import schema
from ...serialization.schema import GridPaddingMode, ResizeKind, SampleKind
from .nhwc import volume_to_columns, volume_to_images
from .registry import Int8, op


def _image(c, x, kind, size, align_corners, scales, whole_steps=False):
    """[N, H, W, C] resized to ``size``."""
    attributes = schema.Resize2d(
        kind=kind,
        shape=tuple(size),
        align_corners=align_corners,
        scale_height=scales[0],
        scale_width=scales[1],
        whole_steps=whole_steps,
    )
    return c.node(attributes, x, shape=(x.shape[0], *size, x.shape[3]))


def _resize(c, x, spatial, kind, align_corners, scale_factors):
    c.require(x.rank == spatial + 2, f"the input has rank {x.rank}, not {spatial + 2}")
    batch, channels, *size = c.out.shape
    # PyTorch's scales say how many times larger the output is; its kernels use the inverse.
    scales = [1 / s if s else 0.0 for s in scale_factors or [None] * spatial]
    image = c.nhwc(x)
    if spatial == 1:
        image = c.reshape(image, (batch, 1, *image.shape[1:]))
        image = _image(c, image, kind, (1, *size), align_corners, (0.0, *scales))
        return c.nchw(c.reshape(image, (batch, *size, channels)))
    if spatial == 2:
        whole_steps = kind == ResizeKind.Nearest and any(scales)  # PyTorch has such cases for images only
        return c.nchw(_image(c, image, kind, size, align_corners, scales, whole_steps))
    depth = image.shape[1]
    images = volume_to_images(c, image)
    images = _image(c, images, kind, size[1:], align_corners, scales[1:])
    columns = volume_to_columns(c, images, batch, depth)
    columns = _image(c, columns, kind, (size[0], columns.shape[2]), align_corners, (scales[0], 0.0))
    return c.nchw(c.reshape(columns, (batch, *size, channels)))


def _nearest(target: str, spatial: int, kind: ResizeKind) -> None:
    @op(target, preserve=True, int8=Int8.SAME if spatial < 3 else None)
    def lower(c, input, scale_factors):
        return _resize(c, input, spatial, kind, False, scale_factors)


_nearest("aten.upsample_nearest1d.vec", 1, ResizeKind.Nearest)
_nearest("aten.upsample_nearest2d.vec", 2, ResizeKind.Nearest)
_nearest("aten.upsample_nearest3d.vec", 3, ResizeKind.Nearest)
_nearest("aten._upsample_nearest_exact1d.vec", 1, ResizeKind.NearestExact)
_nearest("aten._upsample_nearest_exact2d.vec", 2, ResizeKind.NearestExact)
_nearest("aten._upsample_nearest_exact3d.vec", 3, ResizeKind.NearestExact)


def _interpolation(target: str, spatial: int, kind: ResizeKind) -> None:
    @op(target, preserve=True, int8=Int8.OWN if spatial < 3 else None)
    def lower(c, input, align_corners, scale_factors):
        return _resize(c, input, spatial, kind, align_corners, scale_factors)


_interpolation("aten.upsample_linear1d.vec", 1, ResizeKind.Bilinear)
_interpolation("aten.upsample_bilinear2d.vec", 2, ResizeKind.Bilinear)
_interpolation("aten.upsample_trilinear3d.vec", 3, ResizeKind.Bilinear)
_interpolation("aten.upsample_bicubic2d.vec", 2, ResizeKind.Bicubic)


def _triangle(x):
    return np.maximum(1 - np.abs(x), 0)


def _cubic(x, a=-0.5):
    x = np.abs(x)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _antialiased(size: int, out: int, filter, radius: int, align_corners: bool, factor) -> np.ndarray:
    """How much of each of ``size`` pixels each of ``out`` is: [out, size].

    The filter is as wide as the image becomes smaller, and is cut off at the edge.
    """
    if align_corners:
        scale = (size - 1) / (out - 1) if out > 1 else 0.0
    else:
        scale = 1 / factor if factor else size / out
    width = max(scale, 1.0)
    weights = np.zeros((out, size))
    for i in range(out):
        center = scale * (i + 0.5)
        first = max(int(center - radius * width + 0.5), 0)
        last = min(int(center + radius * width + 0.5), size)
        part = filter((np.arange(first, last) - center + 0.5) / width)
        weights[i, first:last] = part / (part.sum() or 1)
    return weights.astype(np.float32)


def _antialias(filter, radius: int, *targets: str) -> None:
    @op(*targets, preserve=True)
    def lower(c, **arguments):
        """Two products with constant matrices, along the rows and along the columns."""
        x = arguments.get("input", arguments.get("self"))
        factors = arguments.get("scale_factors") or (arguments.get("scales_h"), arguments.get("scales_w"))
        align_corners = arguments["align_corners"]
        for axis, factor in ((3, factors[1]), (2, factors[0])):
            before, after = (c.require_static(s[axis], "the size of an image") for s in (x.shape, c.out.shape))
            matrix = c.constant(_antialiased(before, after, filter, radius, align_corners, factor))
            order = (0, 1, 3, 2)
            x = x if axis == 3 else c.transpose(x, order)
            x = c.node(schema.Linear(), x, matrix, None, shape=(*x.shape[:-1], after))
            x = x if axis == 3 else c.transpose(x, order)
        return x


_antialias(_triangle, 1, "aten._upsample_bilinear2d_aa.default", "aten._upsample_bilinear2d_aa.vec")
_antialias(_cubic, 2, "aten._upsample_bicubic2d_aa.default", "aten._upsample_bicubic2d_aa.vec")


@op("aten.grid_sampler_2d.default")
def grid_sampler_2d(c, input, grid, interpolation_mode, padding_mode, align_corners):
    attributes = schema.GridSample(
        kind=SampleKind(interpolation_mode),
        padding_mode=GridPaddingMode(padding_mode),
        align_corners=bool(align_corners),
    )
    batch, channels, *size = c.out.shape
    return c.nchw(c.node(attributes, c.nhwc(input), grid, shape=(batch, *size, channels)))
