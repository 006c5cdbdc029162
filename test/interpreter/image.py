# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on images, with channels as the last axis."""

import torch
from executorch.backends.et_xnnpack.serialization.schema import ResizeKind

from .tensors import nchw, nhwc


def _resize(a, x):
    x = nchw(x)
    scales = [1 / s if s else None for s in (a.scale_height, a.scale_width)]
    if a.kind == ResizeKind.Nearest:
        y = torch.ops.aten.upsample_nearest2d(x, a.shape, *scales)
    elif a.kind == ResizeKind.NearestExact:
        y = torch.ops.aten._upsample_nearest_exact2d(x, a.shape, *scales)
    elif a.kind == ResizeKind.Bilinear:
        y = torch.ops.aten.upsample_bilinear2d(x, a.shape, a.align_corners, *scales)
    else:
        y = torch.ops.aten.upsample_bicubic2d(x, a.shape, a.align_corners, *scales)
    return nhwc(y)


def _grid_sample(a, x, grid):
    return nhwc(torch.grid_sampler_2d(nchw(x), grid, int(a.kind), int(a.padding_mode), a.align_corners))


OPERATORS = {
    "Resize2d": _resize,
    "GridSample": _grid_sample,
}
