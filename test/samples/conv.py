# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of convolutions."""

import torch
import torch.nn.functional as F
from torch import nn

from . import BATCH, HEIGHT, LENGTH, WIDTH, Sample, new, rand


def _conv_bn_relu():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())


def _conv_relu(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3), nn.ReLU())


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(4, 4, 3, padding=1)
        self.second = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.first(x))))


class RuntimeBias(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 3, 3, 3))

    def forward(self, x, bias):
        return F.conv2d(x, self.weight, bias)


class ComputedWeight(nn.Module):
    """A weight that is computed from parameters, as by a weight norm."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 3, 3, 3))
        self.scale = nn.Parameter(torch.randn(5, 1, 1, 1))

    def forward(self, x):
        norm = self.weight.pow(2).sum((1, 2, 3), keepdim=True).sqrt()
        return F.conv2d(x, self.weight * self.scale / norm)


SAMPLES = [
    Sample("conv2d", new(nn.Conv2d, 3, 5, 3), rand(2, 3, 9, 8)),
    Sample("conv2d_no_bias", new(nn.Conv2d, 3, 5, 3, bias=False), rand(2, 3, 9, 8)),
    Sample("conv2d_1x1", new(nn.Conv2d, 3, 5, 1), rand(2, 3, 9, 8)),
    Sample("conv2d_1x1_stride", new(nn.Conv2d, 3, 5, 1, stride=2), rand(2, 3, 9, 8)),
    Sample("conv2d_padding", new(nn.Conv2d, 3, 5, (3, 5), padding=(1, 2)), rand(2, 3, 9, 8)),
    Sample("conv2d_same", new(nn.Conv2d, 3, 5, 4, padding="same"), rand(2, 3, 9, 8)),
    Sample("conv2d_stride", new(nn.Conv2d, 3, 5, 3, stride=(2, 3), padding=1), rand(2, 3, 9, 11)),
    Sample("conv2d_dilation", new(nn.Conv2d, 3, 5, 3, dilation=(2, 1)), rand(2, 3, 9, 8)),
    Sample("conv2d_groups", new(nn.Conv2d, 6, 4, 3, groups=2), rand(2, 6, 9, 8)),
    Sample("conv2d_depthwise", new(nn.Conv2d, 6, 6, 3, padding=1, groups=6), rand(2, 6, 9, 8)),
    Sample("conv2d_depthwise_multiplier", new(nn.Conv2d, 6, 12, 3, groups=6), rand(2, 6, 9, 8)),
    Sample("conv2d_depthwise_stride", new(nn.Conv2d, 6, 6, 5, stride=2, padding=2, groups=6), rand(2, 6, 9, 8)),
    Sample("conv2d_depthwise_7x7", new(nn.Conv2d, 6, 6, 7, padding=3, groups=6), rand(1, 6, 9, 8)),
    Sample("conv2d_many_channels", new(nn.Conv2d, 37, 41, 3, padding=1), rand(1, 37, 6, 5), atol=1e-4),
    # In 16 bits these have kernels of their own.
    Sample("conv2d_large", new(nn.Conv2d, 48, 40, 3, padding=1), rand(BATCH, 48, 7, 6), atol=1e-4),
    Sample("conv2d_large_1x1", new(nn.Conv2d, 160, 112, 1), rand(2, 160, HEIGHT, 3), atol=1e-4),
    Sample(
        "conv2d_large_groups",
        new(nn.Conv2d, 96, 80, 3, stride=2, padding=(1, 2), dilation=(1, 2), groups=2),
        rand(2, 96, 9, 8),
        atol=1e-4,
    ),
    # These are computed with fewer multiplications.
    Sample("conv2d_tiles", new(nn.Conv2d, 32, 33, 3, padding=1), rand(BATCH, 32, HEIGHT, WIDTH), atol=1e-4),
    Sample("conv2d_tiles_no_padding", new(_conv_relu, 20, 48), rand(2, 20, HEIGHT, 16, channels_last=True), atol=1e-4),
    Sample("conv1d_large", new(nn.Conv1d, 80, 70, 3, padding=1), rand(BATCH, 80, LENGTH), atol=1e-4),
    Sample(
        "conv_transpose2d_large",
        new(nn.ConvTranspose2d, 40, 36, 4, stride=(2, 3), padding=1),
        rand(BATCH, 40, HEIGHT, 4),
        atol=1e-4,
    ),
    Sample(
        "conv_transpose1d_large", new(nn.ConvTranspose1d, 48, 64, 16, stride=8, padding=4), rand(2, 48, 7), atol=1e-4
    ),
    Sample("conv2d_runtime_bias", new(RuntimeBias), rand(2, 3, 9, 8), rand(5)),
    Sample("conv2d_channels_last", new(nn.Conv2d, 3, 5, 3), rand(2, 3, 9, 8, channels_last=True)),
    Sample("conv2d_dynamic_batch", new(nn.Conv2d, 3, 5, 3), rand(BATCH, 3, 9, 8)),
    Sample("conv2d_dynamic_size", new(nn.Conv2d, 3, 5, 3, stride=2, padding=1), rand(2, 3, HEIGHT, WIDTH)),
    Sample("conv2d_dynamic_all", new(nn.Conv2d, 3, 5, 3, padding=1), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("conv2d_bn_relu6", new(_conv_bn_relu), rand(BATCH, 3, 9, 8)),
    Sample("conv2d_residual", new(Residual), rand(2, 4, 9, 8)),
    Sample("conv2d_residual_channels_last", new(Residual), rand(2, 4, 9, 8, channels_last=True)),
    Sample("conv1d", new(nn.Conv1d, 3, 5, 3), rand(2, 3, 12)),
    Sample("conv1d_options", new(nn.Conv1d, 4, 6, 3, stride=2, padding=2, dilation=2, groups=2), rand(2, 4, 12)),
    Sample("conv1d_depthwise", new(nn.Conv1d, 4, 4, 3, padding=1, groups=4), rand(2, 4, 12)),
    Sample("conv1d_dynamic", new(nn.Conv1d, 3, 5, 3, padding=1), rand(BATCH, 3, LENGTH)),
    Sample("conv_transpose2d", new(nn.ConvTranspose2d, 3, 5, 3), rand(2, 3, 5, 4)),
    Sample("conv_transpose2d_no_bias", new(nn.ConvTranspose2d, 3, 5, 3, bias=False), rand(2, 3, 5, 4)),
    Sample("conv_transpose2d_stride", new(nn.ConvTranspose2d, 3, 5, 3, stride=2, padding=1), rand(2, 3, 5, 4)),
    Sample("conv_transpose2d_2x2", new(nn.ConvTranspose2d, 4, 6, 2, stride=2), rand(1, 4, 5, 4)),
    Sample(
        "conv_transpose2d_output_padding",
        new(nn.ConvTranspose2d, 3, 5, 3, stride=(2, 3), padding=1, output_padding=(1, 2)),
        rand(2, 3, 5, 4),
    ),
    Sample("conv_transpose2d_dilation", new(nn.ConvTranspose2d, 3, 5, 3, dilation=2), rand(2, 3, 5, 4)),
    Sample("conv_transpose2d_groups", new(nn.ConvTranspose2d, 6, 4, 3, groups=2), rand(2, 6, 5, 4)),
    Sample("conv_transpose2d_depthwise", new(nn.ConvTranspose2d, 6, 6, 3, stride=2, groups=6), rand(2, 6, 5, 4)),
    Sample(
        "conv_transpose2d_dynamic", new(nn.ConvTranspose2d, 3, 5, 4, stride=2, padding=1), rand(BATCH, 3, HEIGHT, 4)
    ),
    Sample(
        "conv_transpose1d",
        new(nn.ConvTranspose1d, 4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        rand(2, 4, 7),
    ),
    Sample(
        "conv_transpose1d_options",
        new(nn.ConvTranspose1d, 4, 6, 3, stride=3, dilation=2, output_padding=2),
        rand(2, 4, 7),
    ),
    Sample("conv_transpose1d_dynamic", new(nn.ConvTranspose1d, 4, 6, 4, stride=2, padding=1), rand(BATCH, 4, LENGTH)),
    Sample("conv1d_unbatched", new(nn.Conv1d, 3, 5, 3), rand(3, 12)),
    Sample("conv1d_same", new(nn.Conv1d, 3, 5, 4, padding="same", dilation=2), rand(2, 3, 12)),
    Sample("conv1d_valid", new(nn.Conv1d, 3, 5, 4, padding="valid"), rand(2, 3, 12)),
    Sample("conv2d_unbatched", new(nn.Conv2d, 3, 5, 3), rand(3, 9, 8)),
    Sample("conv2d_no_images", new(nn.Conv2d, 3, 5, 3), rand(0, 3, 9, 8)),
    Sample("conv2d_reflect", new(nn.Conv2d, 3, 5, 3, padding=1, padding_mode="reflect"), rand(BATCH, 3, HEIGHT, WIDTH)),
    Sample("conv2d_replicate", new(nn.Conv2d, 3, 5, 3, padding=(2, 1), padding_mode="replicate"), rand(2, 3, 9, 8)),
    Sample("conv2d_circular", new(nn.Conv2d, 3, 5, 3, padding=1, padding_mode="circular"), rand(2, 3, 9, 8)),
    Sample(
        "conv2d_runtime_weight",
        lambda x, w, b: F.conv2d(x, w, b, padding=1),
        rand(2, 3, 9, 8),
        rand(5, 3, 3, 3),
        rand(5),
    ),
    Sample(
        "conv2d_runtime_groups", lambda x, w: F.conv2d(x, w, stride=2, groups=2), rand(BATCH, 6, 9, 8), rand(4, 3, 3, 3)
    ),
    Sample("conv2d_runtime_depthwise", lambda x, w: F.conv2d(x, w, groups=3), rand(2, 3, HEIGHT, 8), rand(3, 1, 3, 3)),
    Sample("conv1d_runtime_weight", lambda x, w: F.conv1d(x, w), rand(2, 3, 12), rand(5, 3, 4)),
    Sample(
        "conv_transpose2d_runtime_weight",
        lambda x, w: F.conv_transpose2d(x, w, stride=2),
        rand(2, 3, 5, 4),
        rand(3, 5, 3, 3),
    ),
    Sample("conv2d_computed_weight", new(ComputedWeight), rand(2, 3, 9, 8)),
    Sample("conv3d", new(nn.Conv3d, 3, 5, 3), rand(2, 3, 5, 6, 4)),
    Sample(
        "conv3d_options",
        new(nn.Conv3d, 4, 6, (3, 2, 3), stride=(2, 2, 1), padding=(1, 0, 2), dilation=(2, 1, 1), groups=2),
        rand(2, 4, 7, 6, 5),
    ),
    Sample("conv3d_no_bias", new(nn.Conv3d, 3, 5, 2, bias=False), rand(2, 3, 5, 6, 4)),
    Sample("conv3d_same", new(nn.Conv3d, 3, 5, (3, 2, 1), padding="same"), rand(2, 3, 7, 6, 5)),
    Sample("conv3d_1x1x1", new(nn.Conv3d, 3, 5, 1), rand(2, 3, 4, 3, 5)),
    Sample("conv3d_patches", new(nn.Conv3d, 3, 5, (2, 4, 4), stride=(2, 4, 4)), rand(2, 3, 4, 8, 8), atol=1e-4),
    Sample("conv3d_depthwise", new(nn.Conv3d, 4, 4, 3, padding=1, groups=4), rand(2, 4, 5, 6, 4)),
    Sample("conv3d_unbatched", new(nn.Conv3d, 3, 5, 2), rand(3, 5, 6, 4)),
    Sample(
        "conv3d_relu", new(lambda: nn.Sequential(nn.Conv3d(3, 5, 3), nn.BatchNorm3d(5), nn.ReLU())), rand(2, 3, 5, 6, 4)
    ),
    Sample("conv3d_dynamic", new(nn.Conv3d, 3, 5, 3, stride=2, padding=1), rand(BATCH, 3, HEIGHT, WIDTH, 5)),
    Sample(
        "conv3d_runtime_weight",
        lambda x, w, b: F.conv3d(x, w, b),
        rand(2, 3, 5, 4, 4),
        rand(5, 3, 3, 3, 2),
        rand(5),
        atol=1e-4,
    ),
    Sample("conv_transpose3d", new(nn.ConvTranspose3d, 3, 5, 3), rand(2, 3, 4, 3, 5)),
    Sample(
        "conv_transpose3d_options",
        new(nn.ConvTranspose3d, 4, 6, 3, stride=(2, 1, 2), padding=(1, 0, 1), output_padding=(1, 0, 0), groups=2),
        rand(2, 4, 4, 3, 5),
    ),
    Sample(
        "conv_transpose3d_dilation",
        new(nn.ConvTranspose3d, 3, 5, 2, stride=3, dilation=(3, 1, 2), padding=(2, 0, 0)),
        rand(2, 3, 3, 3, 4),
    ),
    Sample("conv_transpose3d_2x2x2", new(nn.ConvTranspose3d, 4, 6, 2, stride=2), rand(1, 4, 3, 4, 5)),
    Sample("conv_transpose3d_wide_padding", new(nn.ConvTranspose3d, 3, 5, 2, padding=1), rand(1, 3, 4, 4, 5)),
    Sample(
        "conv_transpose3d_dynamic", new(nn.ConvTranspose3d, 3, 5, 4, stride=2, padding=1), rand(BATCH, 3, HEIGHT, 4, 3)
    ),
]
