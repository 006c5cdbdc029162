# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What operators on images share: [N, C, W], [N, C, H, W] and [N, C, D, H, W] as NHWC and back.

Where an operator works along each axis by itself, a volume is an image of height D and
width H * W after it was one of depth * batch images.
"""

from ...serialization.schema import Size2D


def sizes_of(sizes, spatial: int) -> list[int]:
    """ATen's list of one size for all axes or one for each."""
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    return sizes * spatial if len(sizes) == 1 else sizes


def size2d(sizes, spatial: int, one_dimensional: int) -> Size2D:
    """The same as a size; ``one_dimensional`` is the height of 1-D."""
    sizes = sizes_of(sizes, spatial)
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


def volume_to_images(c, x):
    """[N, D, H, W, C] -> [N * D, H, W, C]."""
    batch, depth, *image = x.shape
    return c.reshape(x, (batch * depth, *image))


def volume_to_columns(c, x, batch, depth):
    """[N * D, H, W, C] -> [N, D, H * W, C]."""
    _, height, width, channels = x.shape
    return c.reshape(x, (batch, depth, height * width, channels))
