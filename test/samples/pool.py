# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of pooling."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import ANY_OPERATOR, BATCH, EVEN, HEIGHT, WIDTH, Argument, Sample, new, rand

_WITH_NAN = Argument(
    (1, 2, 6, 6),
    lambda shape, g: torch.rand(shape, generator=g).index_fill_(3, torch.tensor([2]), math.nan),
)
_VOLUME_WITH_NAN = Argument(
    (1, 2, 4, 6, 6),
    lambda shape, g: torch.rand(shape, generator=g).index_fill_(3, torch.tensor([2]), math.nan),
)
_INFINITE = Argument((1, 2, 6, 6), lambda shape, g: torch.full(shape, -math.inf))
_NEGATIVE = rand(2, 3, 7, 6, low=-3, high=-1)


def _on_twice(pool):
    """``pool`` of an image twice as high: torch.export takes ``ceil_mode`` where it knows the rest of a division."""
    return lambda x: pool(torch.cat([x, -x], 2))


def _on_three_times(pool):
    """``pool`` of an image three times as high and two rows more: its last window would begin in the padding."""
    return lambda x: pool(F.pad(torch.cat([x, -x, x], 2), (0, 0, 2, 0), value=0.5))


SAMPLES = [
    Sample("avg_pool2d", new(nn.AvgPool2d, 2), rand(2, 3, 8, 6)),
    Sample("avg_pool2d_odd", new(nn.AvgPool2d, (3, 2), stride=2), rand(2, 3, 8, 7)),
    Sample("avg_pool2d_padding", new(nn.AvgPool2d, 3, stride=2, padding=1), rand(2, 3, 8, 7)),
    Sample(
        "avg_pool2d_exclude_padding",
        new(nn.AvgPool2d, 3, stride=2, padding=1, count_include_pad=False),
        rand(2, 3, 8, 7),
    ),
    Sample("avg_pool2d_ceil", new(nn.AvgPool2d, 3, stride=2, ceil_mode=True), rand(2, 3, 8, 6)),
    Sample(
        "avg_pool2d_ceil_padding",
        new(nn.AvgPool2d, 3, stride=2, padding=1, ceil_mode=True),
        rand(2, 3, 8, 7),
    ),
    Sample(
        "avg_pool2d_ceil_exclude_padding",
        new(nn.AvgPool2d, 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
        rand(2, 3, 8, 7),
    ),
    Sample("avg_pool2d_ceil_last_dropped", new(nn.AvgPool2d, 2, stride=4, padding=1, ceil_mode=True), rand(1, 2, 7, 8)),
    Sample("avg_pool2d_divisor", new(nn.AvgPool2d, 3, padding=1, divisor_override=2), rand(2, 3, 8, 7)),
    Sample("avg_pool2d_1x1", new(nn.AvgPool2d, 1, stride=2), rand(2, 3, 8, 7)),
    Sample("avg_pool2d_unbatched", new(nn.AvgPool2d, 2), rand(3, 8, 6)),
    Sample("avg_pool2d_channels_last", new(nn.AvgPool2d, 2), rand(2, 3, 8, 6, channels_last=True)),
    Sample("avg_pool2d_dynamic", new(nn.AvgPool2d, 3, stride=2, padding=1), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("avg_pool2d_ceil_dynamic", _on_twice(nn.AvgPool2d(3, 2, ceil_mode=True)), rand(BATCH, 3, HEIGHT, 8)),
    Sample(
        "avg_pool2d_ceil_padding_dynamic",
        _on_twice(nn.AvgPool2d(3, 2, 1, ceil_mode=True)),
        rand(BATCH, 3, HEIGHT, 8),
    ),
    Sample(
        "avg_pool2d_ceil_last_dropped_dynamic",
        _on_three_times(nn.AvgPool2d(2, 3, 1, ceil_mode=True, count_include_pad=False)),
        rand(2, 3, HEIGHT, 8),
    ),
    Sample("avg_pool1d", new(nn.AvgPool1d, 3, stride=2, padding=1), rand(2, 3, 9)),
    Sample("avg_pool1d_ceil", new(nn.AvgPool1d, 3, stride=2, ceil_mode=True), rand(2, 3, 8)),
    Sample("avg_pool1d_dynamic", new(nn.AvgPool1d, 2), rand(BATCH, 3, EVEN)),
    Sample("max_pool2d", new(nn.MaxPool2d, 2), rand(2, 3, 8, 6)),
    Sample("max_pool2d_odd", new(nn.MaxPool2d, (3, 2), stride=2), rand(2, 3, 8, 7)),
    Sample("max_pool2d_padding", new(nn.MaxPool2d, 3, stride=2, padding=1), _NEGATIVE),
    Sample("max_pool2d_dilation", new(nn.MaxPool2d, 3, stride=1, dilation=2, padding=1), _NEGATIVE),
    Sample("max_pool2d_ceil", new(nn.MaxPool2d, 3, stride=2, ceil_mode=True), rand(2, 3, 8, 6, high=-1)),
    Sample("max_pool2d_ceil_padding", new(nn.MaxPool2d, 3, stride=2, padding=1, ceil_mode=True), _NEGATIVE),
    Sample("max_pool2d_1x1", new(nn.MaxPool2d, 1, stride=2), rand(2, 3, 8, 7)),
    Sample("max_pool2d_nan", new(nn.MaxPool2d, 2), _WITH_NAN),
    Sample("max_pool2d_unbatched", new(nn.MaxPool2d, 2), rand(3, 8, 6)),
    Sample("max_pool2d_dynamic", new(nn.MaxPool2d, 3, stride=2, padding=1), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("max_pool2d_ceil_dynamic", _on_twice(nn.MaxPool2d(3, 2, ceil_mode=True)), rand(BATCH, 3, HEIGHT, 7)),
    Sample(
        "max_pool2d_ceil_last_dropped_dynamic",
        _on_three_times(nn.MaxPool2d(2, 3, 1, ceil_mode=True)),
        rand(2, 3, HEIGHT, 8),
    ),
    Sample("max_pool2d_decomposed", new(nn.MaxPool2d, 2), rand(2, 3, 8, 6), preserve=False),
    Sample("max_pool2d_unused_indices", lambda x: F.max_pool2d(x, 2, return_indices=True)[0], rand(2, 3, 8, 6)),
    Sample("max_pool1d", new(nn.MaxPool1d, 3, stride=2, padding=1), rand(2, 3, 9)),
    Sample("adaptive_avg_pool2d_1x1", new(nn.AdaptiveAvgPool2d, 1), rand(2, 3, 8, 6)),
    Sample("adaptive_avg_pool2d_dynamic", new(nn.AdaptiveAvgPool2d, 1), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("adaptive_avg_pool2d_divisible", new(nn.AdaptiveAvgPool2d, (4, 3)), rand(2, 3, 8, 6)),
    Sample("adaptive_avg_pool2d", new(nn.AdaptiveAvgPool2d, (3, 5)), rand(2, 3, 8, 7)),
    Sample("adaptive_avg_pool2d_larger", new(nn.AdaptiveAvgPool2d, 7), rand(2, 3, 3, 4)),
    Sample("adaptive_avg_pool2d_dynamic_size", new(nn.AdaptiveAvgPool2d, 3), rand(2, 3, HEIGHT, WIDTH)),
    Sample("adaptive_avg_pool2d_decomposed", new(nn.AdaptiveAvgPool2d, (3, 5)), rand(2, 3, 8, 7), preserve=False),
    Sample("adaptive_avg_pool2d_one_axis", new(nn.AdaptiveAvgPool2d, (None, 3)), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample(
        "adaptive_avg_pool2d_like",
        lambda x, y: F.adaptive_avg_pool2d(x, y.shape[-2:]) + y,
        rand(2, 3, 7, 9),
        rand(2, 3, HEIGHT, WIDTH),
    ),
    Sample(
        "adaptive_avg_pool2d_at_least",
        lambda x: F.adaptive_avg_pool2d(x, (max(9, x.shape[-2]), max(8, x.shape[-1]))),
        rand(2, 3, HEIGHT, WIDTH),
        config=ANY_OPERATOR,
    ),
    Sample("adaptive_avg_pool1d", new(nn.AdaptiveAvgPool1d, 4), rand(2, 3, 9)),
    Sample("adaptive_avg_pool1d_one", new(nn.AdaptiveAvgPool1d, 1), rand(2, 3, 9)),
    Sample("adaptive_max_pool1d", new(nn.AdaptiveMaxPool1d, 3), rand(2, 3, 8)),
    Sample("adaptive_max_pool1d_one", new(nn.AdaptiveMaxPool1d, 1), rand(2, 3, WIDTH)),
    Sample("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5)), rand(2, 3, 8, 7), config=ANY_OPERATOR),
    Sample(
        "adaptive_max_pool2d_divisible", lambda x: F.adaptive_max_pool2d(x, 2), rand(2, 3, 8, 6), config=ANY_OPERATOR
    ),
    Sample("adaptive_max_pool2d_nan", lambda x: F.adaptive_max_pool2d(x, 4), _WITH_NAN, config=ANY_OPERATOR),
    Sample("avg_pool3d", new(nn.AvgPool3d, 2), rand(2, 3, 4, 6, 5)),
    Sample("avg_pool3d_uneven", new(nn.AvgPool3d, (2, 3, 1), (1, 2, 1), (1, 1, 0)), rand(2, 3, 5, 6, 5)),
    Sample("avg_pool3d_flat", new(nn.AvgPool3d, (1, 2, 2)), rand(2, 3, 3, 6, 5)),
    Sample(
        "avg_pool3d_ceil",
        new(nn.AvgPool3d, (2, 3, 2), 2, (1, 1, 0), ceil_mode=True, count_include_pad=False),
        rand(2, 3, 5, 6, 5),
    ),
    Sample("avg_pool3d_ceil_counted", new(nn.AvgPool3d, 3, 2, 1, ceil_mode=True), rand(2, 3, 6, 6, 5)),
    Sample("avg_pool3d_divisor", new(nn.AvgPool3d, 2, padding=1, divisor_override=3), rand(2, 3, 4, 6, 5)),
    Sample("avg_pool3d_unbatched", new(nn.AvgPool3d, 2), rand(3, 4, 6, 5)),
    Sample("avg_pool3d_dynamic", new(nn.AvgPool3d, 3, 2, 1), rand(BATCH, 3, HEIGHT, WIDTH, 6)),
    Sample(
        "avg_pool3d_ceil_dynamic",
        _on_twice(nn.AvgPool3d(3, 2, 1, ceil_mode=True, count_include_pad=False)),
        rand(BATCH, 3, HEIGHT, 5, 6),
    ),
    Sample("local_response_norm", new(nn.LocalResponseNorm, 3), rand(2, 6, 4, 5)),
    Sample("max_pool3d", new(nn.MaxPool3d, 2), rand(2, 3, 4, 6, 5)),
    Sample("max_pool3d_options", new(nn.MaxPool3d, 3, 2, 1, 2, ceil_mode=True), rand(2, 3, 7, 6, 8, high=-1)),
    Sample("max_pool3d_flat", new(nn.MaxPool3d, (1, 2, 2)), rand(2, 3, 3, 6, 5)),
    Sample("max_pool3d_nan", new(nn.MaxPool3d, 2), _VOLUME_WITH_NAN),
    Sample("max_pool3d_dynamic", new(nn.MaxPool3d, 3, 2, 1), rand(BATCH, 3, HEIGHT, WIDTH, 6)),
    Sample("max_pool1d_indices", new(nn.MaxPool1d, 3, 2, 1, return_indices=True), rand(2, 3, 8)),
    Sample("max_pool2d_indices", new(nn.MaxPool2d, 3, 2, 1, return_indices=True), rand(2, 3, 8, 6)),
    Sample("max_pool2d_indices_only", lambda x: F.max_pool2d(x, 2, return_indices=True)[1], rand(2, 3, 8, 6)),
    Sample("max_pool2d_indices_dilation", new(nn.MaxPool2d, 2, 1, 1, 2, return_indices=True), rand(2, 3, 8, 6)),
    Sample("max_pool2d_indices_ceil", new(nn.MaxPool2d, 3, 2, ceil_mode=True, return_indices=True), rand(2, 3, 8, 6)),
    Sample(
        "max_pool2d_indices_ceil_dynamic",
        _on_twice(nn.MaxPool2d(3, 2, ceil_mode=True, return_indices=True)),
        rand(BATCH, 3, HEIGHT, 8),
    ),
    Sample("max_pool2d_indices_nan", new(nn.MaxPool2d, 2, return_indices=True), _WITH_NAN),
    Sample(
        "max_pool2d_indices_equal", new(nn.MaxPool2d, 3, 1, 1, return_indices=True), rand(1, 2, 5, 6, low=1, high=1)
    ),
    Sample("max_pool2d_indices_infinite", new(nn.MaxPool2d, 3, 2, 1, return_indices=True), _INFINITE),
    Sample("max_pool2d_indices_unbatched", new(nn.MaxPool2d, 2, return_indices=True), rand(3, 8, 6)),
    Sample(
        "max_pool2d_indices_dynamic", new(nn.MaxPool2d, 3, 2, 1, return_indices=True), rand(BATCH, 3, HEIGHT, WIDTH)
    ),
    Sample("max_pool3d_indices", new(nn.MaxPool3d, 2, return_indices=True), rand(2, 3, 4, 6, 5)),
    Sample("max_pool3d_indices_options", new(nn.MaxPool3d, 3, 2, 1, return_indices=True), rand(2, 3, 7, 6, 8)),
    Sample("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), rand(2, 3, 8, 6)),
    Sample("lp_pool2d", new(nn.LPPool2d, 2, 3), rand(2, 3, 9, 8)),
    Sample("adaptive_avg_pool3d", new(nn.AdaptiveAvgPool3d, (3, 5, 2)), rand(2, 3, 7, 8, 6)),
    Sample("adaptive_avg_pool3d_one", new(nn.AdaptiveAvgPool3d, 1), rand(2, 3, 7, 8, 6)),
    Sample("adaptive_avg_pool3d_depth", new(nn.AdaptiveAvgPool3d, (None, 2, 3)), rand(2, 3, 5, 8, 7)),
    Sample("adaptive_avg_pool3d_empty", new(nn.AdaptiveAvgPool3d, (2, 0, 3)), rand(2, 3, 5, 8, 7)),
    Sample(
        "adaptive_max_pool3d_empty",
        lambda x: (F.adaptive_max_pool3d(x, (2, 0, 3)), *F.adaptive_max_pool3d(x, (2, 3, 0), return_indices=True)),
        rand(2, 3, 5, 8, 7),
        config=ANY_OPERATOR,
    ),
    Sample("adaptive_avg_pool3d_unbatched", new(nn.AdaptiveAvgPool3d, 2), rand(3, 6, 8, 6)),
    Sample("adaptive_avg_pool3d_dynamic", new(nn.AdaptiveAvgPool3d, 3), rand(2, 3, HEIGHT, WIDTH, 6)),
    Sample("adaptive_avg_pool3d_decomposed", new(nn.AdaptiveAvgPool3d, 3), rand(2, 3, 7, 8, 6), preserve=False),
    Sample(
        "adaptive_max_pool1d_indices",
        new(nn.AdaptiveMaxPool1d, 4, return_indices=True),
        rand(2, 3, 9),
        config=ANY_OPERATOR,
    ),
    Sample(
        "adaptive_max_pool2d_indices",
        new(nn.AdaptiveMaxPool2d, (3, 5), return_indices=True),
        rand(BATCH, 3, 8, 7),
        config=ANY_OPERATOR,
    ),
    Sample(
        "adaptive_max_pool2d_indices_dynamic",
        new(nn.AdaptiveMaxPool2d, 3, return_indices=True),
        rand(2, 3, HEIGHT, WIDTH),
        config=ANY_OPERATOR,
    ),
    Sample("adaptive_max_pool3d", new(nn.AdaptiveMaxPool3d, (3, 5, 2)), rand(2, 3, 7, 8, 6), config=ANY_OPERATOR),
    Sample(
        "adaptive_max_pool3d_indices",
        new(nn.AdaptiveMaxPool3d, 2, return_indices=True),
        rand(2, 3, 7, 8, 6),
        config=ANY_OPERATOR,
    ),
]
