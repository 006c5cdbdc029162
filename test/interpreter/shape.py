# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that move elements, and those that make them of sizes."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import PadMode


def _slice(a, x):
    index = a.start + a.step * torch.arange(a.size)
    return x.index_select(a.axis, index)


def _pad(a, x):
    amounts = [n for pair in zip(a.before, a.after, strict=True) for n in reversed(pair)]
    if a.mode == PadMode.Constant:
        return F.pad(x, amounts[::-1], value=a.value)
    for axis, (before, after) in enumerate(zip(a.before, a.after, strict=True)):
        size, index = x.shape[axis], torch.arange(-before, x.shape[axis] + after)
        if a.mode == PadMode.Reflect:
            index = torch.where(index < 0, -index, index)
            index = torch.where(index >= size, 2 * size - 2 - index, index)
        else:
            index = index.clamp(0, size - 1) if a.mode == PadMode.Replicate else index % size
        x = x.index_select(axis, index)
    return x


OPERATORS = {
    "Reshape": lambda a, x: x.reshape(a.shape),
    "Transpose": lambda a, x: x.permute(a.perm),
    "Expand": lambda a, x: x.expand(a.shape),
    "Concat": lambda a, *xs: torch.cat(xs, a.axis),
    "Slice": _slice,
    "Pad": _pad,
    "Iota": lambda a: torch.arange(a.size),
    "SizeValue": lambda a: torch.tensor(a.size),
}
