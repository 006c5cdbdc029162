# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of convolutions."""

import torch
import torch.nn.functional as F
from torch import nn

from . import BATCH, HEIGHT, LENGTH, WIDTH, Sample, new, rand


def _conv_bn_relu():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())


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
    Sample("conv_transpose2d_dynamic", new(nn.ConvTranspose2d, 3, 5, 4, stride=2, padding=1), rand(BATCH, 3, HEIGHT, 4)),
    Sample("conv_transpose1d", new(nn.ConvTranspose1d, 4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), rand(2, 4, 7)),
]
