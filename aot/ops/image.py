# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What operators on images share: [N, C, W] and [N, C, H, W] as NHWC and back."""

from ...serialization.schema import Size2D


def size2d(sizes, spatial: int, one_dimensional: int) -> Size2D:
    """ATen's list of one size for all axes or one for each; ``one_dimensional`` is the height of 1-D."""
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    sizes = sizes * spatial if len(sizes) == 1 else sizes
    return Size2D(one_dimensional, *sizes) if spatial == 1 else Size2D(*sizes)


def to_nhwc(c, x):
    """[N, C, W] or [N, C, H, W] -> [N, H, W, C]."""
    x = c.nhwc(x)
    return x if x.rank == 4 else c.reshape(x, (x.shape[0], 1, *x.shape[1:]))


def from_nhwc(c, x, spatial: int):
    """The inverse of ``to_nhwc``."""
    if spatial == 1:
        x = c.reshape(x, (x.shape[0], *x.shape[2:]))
    return c.nchw(x)
