# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions, with channels as the last axis."""

import torch
import torch.nn.functional as F

from .quantize import rounded
from .tensors import clamped, nchw, nhwc, padded


def _conv2d(a, x, weight, bias=None):
    x = padded(nchw(rounded(x, 3) if a.dynamic_quantization else x), a.padding)
    y = F.conv2d(x, nchw(weight), bias, tuple(a.stride), 0, tuple(a.dilation), a.groups)
    return clamped(nhwc(y), a.clamp)


def _conv_transpose2d(a, x, weight, bias=None):
    outputs, *kernel, inputs = weight.shape
    weight = weight.reshape(a.groups, outputs // a.groups, *kernel, inputs)
    weight = weight.permute(0, 4, 1, 2, 3).reshape(a.groups * inputs, -1, *kernel)
    x = nchw(rounded(x, 3) if a.dynamic_quantization else x)
    y = F.conv_transpose2d(x, weight, bias, tuple(a.stride), 0, 0, a.groups, tuple(a.dilation))
    if bias is None:
        bias = torch.zeros(outputs)
    extra = a.output_padding
    y = F.pad(y - bias[:, None, None], (0, extra.width, 0, extra.height)) + bias[:, None, None]
    p = a.padding
    y = y[:, :, p.top : y.shape[2] - p.bottom, p.left : y.shape[3] - p.right]
    return clamped(nhwc(y), a.clamp)


OPERATORS = {
    "Conv2d": _conv2d,
    "ConvTranspose2d": _conv_transpose2d,
}
