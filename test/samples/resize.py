# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of resized images."""

import torch.nn.functional as F

from . import BATCH, Sample, rand


def _to(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


SAMPLES = [
    Sample("nearest", _to("nearest", scale_factor=2), rand(BATCH, 3, 5, 7)),
    Sample("nearest_size", _to("nearest", size=(7, 4)), rand(2, 3, 5, 6)),
    Sample("nearest_uneven", _to("nearest", scale_factor=(1.7, 0.6)), rand(2, 3, 10, 11)),
    Sample("nearest_channels_last", _to("nearest", scale_factor=3), rand(2, 3, 4, 5, channels_last=True)),
    Sample("bilinear", _to("bilinear", scale_factor=2), rand(BATCH, 3, 5, 7)),
    Sample("bilinear_size", _to("bilinear", size=(7, 4)), rand(2, 3, 5, 6)),
    Sample("bilinear_corners", _to("bilinear", size=(7, 4), align_corners=True), rand(2, 3, 5, 6)),
    Sample("bilinear_uneven", _to("bilinear", scale_factor=(1.7, 0.6)), rand(2, 3, 10, 11)),
    Sample("bilinear_to_one", _to("bilinear", size=(1, 1), align_corners=True), rand(2, 3, 5, 6)),
    Sample("bicubic", _to("bicubic", scale_factor=2), rand(2, 3, 5, 7)),
    Sample("bicubic_corners", _to("bicubic", size=(9, 4), align_corners=True), rand(2, 3, 5, 6)),
    Sample("bicubic_smaller", _to("bicubic", scale_factor=0.5), rand(2, 3, 10, 11)),
]
