# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pooling, with channels as the last axis."""

import math

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import AdaptivePoolKind

from .tensors import nchw, nhwc, padded


def _avg_pool2d(a, x):
    def window_sums(x):
        return F.avg_pool2d(x, tuple(a.kernel), tuple(a.stride), divisor_override=1)

    x = nchw(x)
    sums = window_sums(padded(x, a.padding))
    if a.divisor_override:
        return nhwc(sums / a.divisor_override)
    inside = padded(torch.ones_like(x), a.padding_counted, 1.0)
    rest = type(a.padding)(*(p - c for p, c in zip(a.padding, a.padding_counted, strict=True)))
    return nhwc(sums / window_sums(padded(inside, rest)))


def _max_pool2d(a, x):
    x = padded(nchw(x), a.padding, float("-inf"))
    y = F.max_pool2d(x, tuple(a.kernel), tuple(a.stride), dilation=tuple(a.dilation))
    return nhwc(y)


def _adaptive_pool2d(a, x):
    pool = {
        AdaptivePoolKind.Average: F.adaptive_avg_pool2d,
        AdaptivePoolKind.Max: F.adaptive_max_pool2d,
    }[a.kind]
    return nhwc(pool(nchw(x), tuple(a.output)))


def _max_pool_indices(a, x):
    x = x.movedim(-1, 1)
    if a.output is not None:
        y, indices = F.adaptive_max_pool3d(x, a.output, return_indices=True)
        return y.movedim(1, -1), indices.movedim(1, -1)
    _, _, *sizes = x.shape
    amounts = [n for pair in zip(a.before, a.after, strict=True) for n in reversed(pair)][::-1]
    padded = F.pad(x, amounts, value=float("-inf"))
    positions = torch.arange(math.prod(sizes)).reshape(sizes)
    positions = F.pad(positions, amounts, value=-1)
    windows, where = padded, positions
    for axis, (kernel, stride, dilation) in enumerate(zip(a.kernel, a.stride, a.dilation, strict=True)):
        span = (kernel - 1) * dilation + 1
        windows = windows.unfold(2 + axis, span, stride)[..., ::dilation]
        where = where.unfold(axis, span, stride)[..., ::dilation]
    windows, where = windows.flatten(-3), where.flatten(-3)
    order = torch.arange(windows.shape[-1])
    # The last NaN, else the first of the largest that are not padding.
    nan = torch.where(windows.isnan(), order, -1).amax(-1)
    largest = windows.nan_to_num(nan=float("-inf"), posinf=float("inf"), neginf=float("-inf"))
    largest = largest.amax(-1, keepdim=True)
    first = torch.where((windows == largest) & (where >= 0), order, order.numel()).amin(-1)
    chosen = torch.where(nan >= 0, nan, first)[..., None]
    where = where.expand(windows.shape)
    y, indices = windows.gather(-1, chosen)[..., 0], where.gather(-1, chosen)[..., 0]
    return y.movedim(1, -1), indices.movedim(1, -1)


OPERATORS = {
    "AvgPool2d": _avg_pool2d,
    "MaxPool2d": _max_pool2d,
    "AdaptivePool2d": _adaptive_pool2d,
    "MaxPoolIndices": _max_pool_indices,
}
