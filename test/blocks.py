# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What networks of images are made of."""

from torch import nn


def conv(i, o, kernel=3, stride=1, groups=1, act=nn.ReLU, bias=False):
    """A convolution whose output is as large as its input over its stride, a batch norm, and an activation or none."""
    layers = [
        nn.Conv2d(i, o, kernel, stride, kernel // 2, groups=groups, bias=bias),
        nn.BatchNorm2d(o),
    ]
    return nn.Sequential(*layers, *([act()] if act else []))


class Residual(nn.Module):
    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return x + self.layers(x)
