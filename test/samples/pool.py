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
_NEGATIVE = rand(2, 3, 7, 6, low=-3, high=-1)

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
    Sample("adaptive_avg_pool1d", new(nn.AdaptiveAvgPool1d, 4), rand(2, 3, 9)),
    Sample("adaptive_avg_pool1d_one", new(nn.AdaptiveAvgPool1d, 1), rand(2, 3, 9)),
    Sample("adaptive_max_pool2d", lambda x: F.adaptive_max_pool2d(x, (3, 5)), rand(2, 3, 8, 7), config=ANY_OPERATOR),
    Sample("adaptive_max_pool2d_divisible", lambda x: F.adaptive_max_pool2d(x, 2), rand(2, 3, 8, 6), config=ANY_OPERATOR),
    Sample("adaptive_max_pool2d_nan", lambda x: F.adaptive_max_pool2d(x, 4), _WITH_NAN, config=ANY_OPERATOR),
]
