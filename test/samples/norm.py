# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of normalizations."""

import torch
import torch.nn.functional as F
from torch import nn

from . import BATCH, HEIGHT, LENGTH, WIDTH, Sample, new, rand


class ConvGroupNorm(nn.Module):
    """What an image generator is made of; channels stay the last axis from one convolution to the next."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 6, 3, padding=1)
        self.norm = nn.GroupNorm(3, 6)
        self.second = nn.Conv2d(6, 4, 3, padding=1)

    def forward(self, x):
        return x + self.second(F.silu(self.norm(self.first(x))))


class WrittenRmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def _native_group_norm(x):
    return torch.native_group_norm(x, None, None, x.shape[0], 6, 12, 3, 1e-5)


def _batch_norm(x, mean, variance, weight=None, bias=None):
    return F.batch_norm(x, mean, variance, weight, bias)


def _rms_norm_in_rank3(x):
    """Its epsilon has more axes than ``x``, so the result has, too."""
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + torch.full((1, 1, 1), 1e-5))


SAMPLES = [
    Sample("batch_norm2d", new(nn.BatchNorm2d, 3), rand(2, 3, 4, 5)),
    Sample("batch_norm2d_plain", new(nn.BatchNorm2d, 3, affine=False), rand(2, 3, 4, 5)),
    Sample("batch_norm2d_dynamic", new(nn.BatchNorm2d, 3), rand(BATCH, 3, 4, 5)),
    Sample("batch_norm2d_decomposed", new(nn.BatchNorm2d, 3), rand(2, 3, 4, 5), preserve=False),
    Sample("batch_norm1d", new(nn.BatchNorm1d, 3), rand(2, 3, 4)),
    Sample("batch_norm1d_matrix", new(nn.BatchNorm1d, 3), rand(2, 3)),
    Sample("batch_norm3d", new(nn.BatchNorm3d, 3), rand(2, 3, 4, 2, 2)),
    Sample("layer_norm", new(nn.LayerNorm, 24), rand(2, 5, 24)),
    Sample("layer_norm_decomposed", new(nn.LayerNorm, 24), rand(2, 5, 24), preserve=False),
    Sample("layer_norm_rank1", new(nn.LayerNorm, 7), rand(7)),
    Sample("layer_norm_two_axes", new(nn.LayerNorm, (5, 7)), rand(2, 3, 5, 7)),
    Sample("layer_norm_plain", new(nn.LayerNorm, 24, elementwise_affine=False), rand(5, 24)),
    Sample("layer_norm_no_bias", new(nn.LayerNorm, 24, bias=False), rand(5, 24)),
    Sample("layer_norm_epsilon", new(nn.LayerNorm, 24, eps=0.1), rand(5, 24)),
    Sample("layer_norm_one_element", new(nn.LayerNorm, 1), rand(5, 1)),
    Sample("layer_norm_wide", new(nn.LayerNorm, 771), rand(3, 771)),
    Sample("layer_norm_large_mean", new(nn.LayerNorm, 64), rand(4, 64, low=999, high=1001), atol=2e-3),
    Sample("layer_norm_dynamic", new(nn.LayerNorm, 24), rand(BATCH, LENGTH, 24)),
    Sample("layer_norm_runtime_weight", lambda x, w, b: F.layer_norm(x, (8,), w, b), rand(3, 8), rand(8), rand(8)),
    Sample(
        "layer_norm_statistics", lambda x: torch.native_layer_norm(x, (4, 5), None, None, 1e-5), rand(BATCH, 3, 4, 5)
    ),
    Sample("batch_norm_runtime", _batch_norm, rand(2, 3, 4, 5), rand(3), rand(3, low=0.1), rand(3), rand(3)),
    Sample("batch_norm_runtime_plain", _batch_norm, rand(BATCH, 3), rand(3), rand(3, low=0.1)),
    Sample("batch_norm_of_batch", lambda x: F.batch_norm(x, None, None, training=True), rand(BATCH, 3, 4, 5)),
    Sample(
        "batch_norm_of_batch_affine",
        lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
        rand(4, 3),
        rand(3),
        rand(3),
    ),
    Sample("group_norm", new(nn.GroupNorm, 3, 6), rand(2, 6, 4, 5)),
    Sample("group_norm_one_group", new(nn.GroupNorm, 1, 6), rand(2, 6, 4, 5)),
    Sample("group_norm_each_channel", new(nn.GroupNorm, 6, 6), rand(2, 6, 4, 5)),
    Sample("group_norm_plain", new(nn.GroupNorm, 3, 6, affine=False), rand(2, 6, 7)),
    Sample("group_norm_rank2", new(nn.GroupNorm, 3, 12), rand(BATCH, 12)),
    Sample("group_norm_rank5", new(nn.GroupNorm, 3, 6), rand(2, 6, 2, 3, 4)),
    Sample("group_norm_epsilon", new(nn.GroupNorm, 2, 4, eps=0.1), rand(2, 4, 3, 3)),
    Sample("group_norm_channels_last", new(nn.GroupNorm, 3, 6), rand(2, 6, 4, 5, channels_last=True)),
    Sample("group_norm_conv", new(ConvGroupNorm), rand(BATCH, 4, HEIGHT, WIDTH)),
    Sample("group_norm_many_pixels", new(nn.GroupNorm, 2, 4), rand(1, 4, 40, 41, channels_last=True)),
    Sample("group_norm_dynamic", new(nn.GroupNorm, 3, 6), rand(BATCH, 6, HEIGHT, WIDTH)),
    Sample("group_norm_decomposed", new(nn.GroupNorm, 3, 6), rand(2, 6, 4, 5), preserve=False),
    Sample("group_norm_statistics", _native_group_norm, rand(BATCH, 6, 3, 4)),
    Sample("group_norm_runtime_weight", lambda x, w, b: F.group_norm(x, 2, w, b), rand(3, 4, 5), rand(4), rand(4)),
    Sample("instance_norm1d", new(nn.InstanceNorm1d, 3), rand(2, 3, 7)),
    Sample("instance_norm2d", new(nn.InstanceNorm2d, 3, affine=True), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample(
        "instance_norm2d_running", new(nn.InstanceNorm2d, 3, affine=True, track_running_stats=True), rand(2, 3, 7, 5)
    ),
    Sample("instance_norm2d_unbatched", new(nn.InstanceNorm2d, 3), rand(3, 7, 5)),
    Sample("instance_norm2d_decomposed", new(nn.InstanceNorm2d, 3, affine=True), rand(BATCH, 3, 4, 5), preserve=False),
    Sample("instance_norm3d", new(nn.InstanceNorm3d, 3), rand(2, 3, 4, 3, 5)),
    Sample("rms_norm", new(nn.RMSNorm, 24), rand(BATCH, LENGTH, 24)),
    Sample("rms_norm_two_axes", new(nn.RMSNorm, (5, 7), eps=1e-3), rand(2, 3, 5, 7)),
    Sample("rms_norm_plain", new(nn.RMSNorm, 37, elementwise_affine=False), rand(5, 37)),
    Sample("rms_norm_rank1", new(nn.RMSNorm, 7), rand(7)),
    Sample("rms_norm_zeros", new(nn.RMSNorm, 8), rand(3, 8, low=0, high=0)),
    Sample("rms_norm_runtime_weight", lambda x, w: F.rms_norm(x, (8,), w), rand(3, 8), rand(8)),
    Sample("rms_norm_written", new(WrittenRmsNorm, 24), rand(BATCH, LENGTH, 24)),
    Sample("rms_norm_decomposed", new(nn.RMSNorm, 24), rand(2, 5, 24), preserve=False),
    Sample("fused_rms_norm", lambda x, w: torch.ops.aten._fused_rms_norm(x, (8,), w, 1e-6)[0], rand(3, 8), rand(8)),
    Sample("rms_norm_written_rank3", _rms_norm_in_rank3, rand(4, 8)),
]
