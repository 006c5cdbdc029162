# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pooling, with channels as the last axis."""

import math

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import AdaptivePoolKind

from .tensors import nchw, nhwc, padded


def _padding_behind(kernel, stride, before, after, dilation, ceil_mode, size):
    """What ``padding`` behind an axis is when ``ceil_mode`` has added to it."""
    if not ceil_mode:
        return after
    span = (kernel - 1) * dilation + 1
    starts = [i * stride for i in range(size + before) if i * stride < size + before]
    whole = math.ceil((size + before + after - span) / stride) + 1
    return max(after, starts[:whole][-1] + span - size - before)


def _with_ceil_mode(a, x, dilation=(1, 1)):
    """``a.padding`` for the image ``x`` [N, C, H, W]."""
    (top, right, bottom, left), (height, width) = a.padding, x.shape[2:]
    bottom = _padding_behind(a.kernel.height, a.stride.height, top, bottom, dilation[0], a.ceil_mode, height)
    right = _padding_behind(a.kernel.width, a.stride.width, left, right, dilation[1], a.ceil_mode, width)
    return type(a.padding)(top=top, right=right, bottom=bottom, left=left)


def _avg_pool2d(a, x):
    def window_sums(x):
        return F.avg_pool2d(x, tuple(a.kernel), tuple(a.stride), divisor_override=1)

    x = nchw(x)
    padding = _with_ceil_mode(a, x)
    sums = window_sums(padded(x, padding))
    if a.divisor_override:
        return nhwc(sums / a.divisor_override)
    inside = padded(torch.ones_like(x), a.padding_counted, 1.0)
    rest = type(a.padding)(*(p - c for p, c in zip(padding, a.padding_counted, strict=True)))
    return nhwc(sums / window_sums(padded(inside, rest)))


def _max_pool2d(a, x):
    x = nchw(x)
    x = padded(x, _with_ceil_mode(a, x, a.dilation), float("-inf"))
    y = F.max_pool2d(x, tuple(a.kernel), tuple(a.stride), dilation=tuple(a.dilation))
    return nhwc(y)


def _adaptive_pool2d(a, x):
    pool = {
        AdaptivePoolKind.Average: F.adaptive_avg_pool2d,
        AdaptivePoolKind.Max: F.adaptive_max_pool2d,
    }[a.kind]
    return nhwc(pool(nchw(x), tuple(a.output or a.shape)))


def _max_pool_indices(a, x):
    x = x.movedim(-1, 1)
    if a.output is not None:
        y, indices = F.adaptive_max_pool3d(x, a.output, return_indices=True)
        return y.movedim(1, -1), indices.movedim(1, -1)
    _, _, *sizes = x.shape
    axes = zip(a.kernel, a.stride, a.before, a.after, a.dilation, sizes, strict=True)
    after = [_padding_behind(*axis, a.ceil_mode, size) for *axis, size in axes]
    amounts = [n for pair in zip(a.before, after, strict=True) for n in reversed(pair)][::-1]
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
