# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators on images, with channels as the last axis."""

import torch
from executorch.backends.et_xnnpack.serialization.schema import ResizeKind

from .tensors import nchw, nhwc


def _nearest_rows(x, size: int, scale):
    """[N, C, rows, columns] with ``size`` rows."""
    n, channels, rows, columns = x.shape
    lines = x.movedim(2, -1).reshape(n, channels * columns, rows)
    lines = torch.ops.aten.upsample_nearest1d(lines, [size], scale)
    return lines.reshape(n, channels, columns, size).movedim(-1, 2)


def _resize(a, x):
    x = nchw(x)
    scales = [1 / s if s else None for s in (a.scale_height, a.scale_width)]
    if a.kind == ResizeKind.Nearest and not a.whole_steps:
        y = _nearest_rows(_nearest_rows(x.mT, a.shape[1], scales[1]).mT, a.shape[0], scales[0])
    elif a.kind == ResizeKind.Nearest:
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
