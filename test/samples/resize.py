# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of resized images."""

import math

import torch
import torch.nn.functional as F

from . import ANY_OPERATOR, BATCH, HEIGHT, LENGTH, WIDTH, Argument, Sample, Size, rand


def _to(mode, **options):
    return lambda x: F.interpolate(x, mode=mode, **options)


def _sample(mode, border, align_corners):
    return lambda x, grid: F.grid_sample(x, grid, mode, border, align_corners)


_PLACES = (0.3, math.nan, math.inf, -math.inf, 3e38, 1.5e38, -1e30, 1e10, -1234.5)
_NOWHERE = Argument((1, 9, 9, 2), lambda s, g: torch.cartesian_prod(*2 * [torch.tensor(_PLACES)]).reshape(s))

#: In float64 0.29 times 100 is 28.999999999999996.
_LONG = Size("long", 120, (120, 100, 7, 50, 99, 101))

SAMPLES = [
    Sample("bilinear_antialias", _to("bilinear", size=(5, 7), antialias=True), rand(BATCH, 3, 16, 9)),
    Sample("bilinear_antialias_larger", _to("bilinear", size=(19, 7), antialias=True), rand(2, 3, 5, 16)),
    Sample("bilinear_antialias_factor", _to("bilinear", scale_factor=0.4, antialias=True), rand(2, 3, 16, 9)),
    Sample(
        "bilinear_antialias_corners",
        _to("bilinear", size=(5, 7), antialias=True, align_corners=True),
        rand(2, 3, 16, 9),
        preserve=False,
    ),
    Sample("bicubic_antialias", _to("bicubic", size=(5, 7), antialias=True), rand(BATCH, 3, 16, 9)),
    Sample(
        "bicubic_antialias_corners",
        _to("bicubic", size=(19, 3), antialias=True, align_corners=True),
        rand(2, 3, 16, 9),
        config=ANY_OPERATOR,
        preserve=False,
    ),
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
    Sample("nearest1d", _to("nearest", size=11), rand(BATCH, 3, 7)),
    Sample("nearest1d_scale", _to("nearest", scale_factor=1.7), rand(2, 3, 7)),
    Sample("nearest1d_dynamic", _to("nearest", scale_factor=3), rand(2, 3, LENGTH)),
    Sample("nearest_exact1d", _to("nearest-exact", size=5), rand(2, 3, 12)),
    Sample("nearest_exact", _to("nearest-exact", size=(11, 3)), rand(BATCH, 3, 7, 5)),
    Sample("nearest_exact_scale", _to("nearest-exact", scale_factor=(1.7, 0.6)), rand(2, 3, 10, 11)),
    Sample("upsample_linear", _to("linear", size=11), rand(BATCH, 3, 7)),
    Sample("linear_corners", _to("linear", size=4, align_corners=True), rand(2, 3, 7)),
    Sample("linear_scale", _to("linear", scale_factor=1.7), rand(2, 3, 7)),
    Sample("upsample_linear_dynamic", _to("linear", scale_factor=2), rand(2, 3, LENGTH)),
    Sample("nearest3d", _to("nearest", scale_factor=1.5), rand(BATCH, 3, 4, 5, 6)),
    Sample("nearest_exact3d", _to("nearest-exact", size=(3, 7, 6)), rand(2, 3, 4, 5, 6)),
    Sample("trilinear", _to("trilinear", scale_factor=1.5), rand(BATCH, 3, 4, 5, 6)),
    Sample("trilinear_corners", _to("trilinear", size=(5, 7, 3), align_corners=True), rand(2, 3, 4, 5, 6)),
    Sample("trilinear_dynamic", _to("trilinear", scale_factor=2), rand(2, 3, 4, HEIGHT, WIDTH)),
    Sample("nearest_dynamic", _to("nearest", scale_factor=2), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("bilinear_dynamic", _to("bilinear", scale_factor=2), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("nearest_half_dynamic", _to("nearest", scale_factor=0.5), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("nearest_exact_scale_dynamic", _to("nearest-exact", scale_factor=(0.7, 1.1)), rand(2, 3, HEIGHT, WIDTH)),
    Sample("nearest1d_scale_dynamic", _to("nearest", scale_factor=0.29), rand(BATCH, 3, _LONG)),
    Sample(
        "bilinear_to_multiples",
        lambda x: F.interpolate(
            x, tuple(math.ceil(s / n) * n for s, n in zip(x.shape[2:], (2, 4), strict=True)), mode="bilinear"
        ),
        rand(BATCH, 3, HEIGHT, WIDTH),
        config=ANY_OPERATOR,
    ),
    Sample("bilinear_half_dynamic", _to("bilinear", scale_factor=0.5), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("bilinear_scale_dynamic", _to("bilinear", scale_factor=(1.7, 0.6)), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample(
        "bilinear_scale_dynamic_twice",
        lambda x: _to("bilinear", scale_factor=1.5)(_to("bilinear", scale_factor=0.7)(x)),
        rand(2, 3, HEIGHT, WIDTH),
    ),
    Sample("upsample_linear_scale_dynamic", _to("linear", scale_factor=1.7), rand(2, 3, LENGTH)),
    Sample("bicubic_dynamic", _to("bicubic", scale_factor=3), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("bicubic_scale_dynamic", _to("bicubic", scale_factor=(1.5, 0.7)), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample(
        "nearest_recomputed_dynamic",
        _to("nearest", scale_factor=(0.7, 1.5), recompute_scale_factor=True),
        rand(2, 3, HEIGHT, WIDTH),
    ),
    Sample(
        "bilinear_recomputed_dynamic",
        _to("bilinear", scale_factor=1.7, recompute_scale_factor=True),
        rand(BATCH, 3, HEIGHT, WIDTH),
    ),
    Sample(
        "bilinear_scale_of_pooled",
        lambda x: _to("bilinear", scale_factor=1.7)(F.max_pool2d(x, 3, 2, 1)),
        rand(2, 3, HEIGHT, WIDTH),
    ),
    Sample("trilinear_scale_dynamic", _to("trilinear", scale_factor=1.7), rand(2, 3, 4, HEIGHT, WIDTH)),
    Sample("bilinear_recomputed", _to("bilinear", scale_factor=1.7, recompute_scale_factor=True), rand(2, 3, 8, 9)),
    Sample("area", _to("area", size=(4, 3)), rand(2, 3, 8, 9)),
    *(
        Sample(
            f"grid_sample_{mode}_{border}{corners}",
            _sample(mode, border, bool(corners)),
            rand(2, 3, 5, 6),
            rand(2, 4, 3, 2),
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for border in ("zeros", "border", "reflection")
        for corners in ("", "_corners")
    ),
    *(
        Sample(
            f"grid_sample_nowhere_{mode}_{border}{corners}",
            _sample(mode, border, bool(corners)),
            rand(1, 2, 4, 7),
            _NOWHERE,
        )
        for mode in ("bilinear", "nearest", "bicubic")
        for border in ("zeros", "border", "reflection")
        for corners in ("", "_corners")
    ),
    Sample(
        "grid_sample_dynamic", _sample("bilinear", "zeros", False), rand(BATCH, 3, HEIGHT, 6), rand(BATCH, LENGTH, 3, 2)
    ),
    Sample(
        "grid_sample_far",
        _sample("bilinear", "reflection", False),
        rand(1, 2, 5, 6),
        rand(1, 9, 7, 2, low=-40, high=40),
        atol=1e-3,
    ),
    Sample("grid_sample_one_pixel", _sample("bilinear", "reflection", True), rand(1, 2, 1, 1), rand(1, 4, 3, 2)),
    Sample(
        "affine_grid",
        lambda x, t: F.grid_sample(x, F.affine_grid(t, (2, 3, 4, 5), False), align_corners=False),
        rand(2, 3, 6, 7),
        rand(2, 2, 3),
    ),
    # Scales that leave a size as it is, or double it, and are not 1 or 2.
    Sample("nearest_scale_of_one_size", _to("nearest", scale_factor=1.1), rand(2, 3, 5, 6)),
    Sample("nearest_scale_of_double_size", _to("nearest", scale_factor=(2.1, 1.1)), rand(2, 3, 4, 5)),
    Sample("nearest_scale_of_double_size_dynamic", _to("nearest", scale_factor=2.1), rand(2, 3, HEIGHT, WIDTH)),
    Sample("nearest1d_scale_of_double_size", _to("nearest", scale_factor=2.1), rand(2, 3, 4)),
    Sample("nearest3d_scale_of_double_size", _to("nearest", scale_factor=2.1), rand(2, 3, 4, 4, 4)),
    Sample("nearest_exact_scale_of_one_size", _to("nearest-exact", scale_factor=1.1), rand(2, 3, 5, 6)),
    Sample("linear_scale_of_one_size", _to("linear", scale_factor=1.1), rand(2, 3, 5)),
    Sample("bilinear_scale_of_one_size", _to("bilinear", scale_factor=(1.1, 2.0)), rand(2, 3, 5, 6)),
    Sample("bilinear_scale_of_one_size_dynamic", _to("bilinear", scale_factor=1.1), rand(2, 3, HEIGHT, WIDTH)),
    Sample("trilinear_scale_of_one_size", _to("trilinear", scale_factor=1.1), rand(2, 3, 4, 5, 6)),
]
