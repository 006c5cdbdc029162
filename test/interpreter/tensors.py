# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tensors and what several operators do with them."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.arrays import DTYPES, convert
from executorch.backends.et_xnnpack.serialization.schema import DType


def torch_dtype(dtype: DType) -> torch.dtype:
    return getattr(torch, dtype.name.lower())


def tensor(array) -> torch.Tensor:
    dtype = DTYPES[array.dtype]
    if dtype == DType.BFloat16:
        return torch.from_numpy(convert(array, DType.Float32).copy()).bfloat16()
    return torch.from_numpy(array.copy())


def clamped(y, clamp):
    return y if clamp is None else y.clamp(clamp.min, clamp.max)


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def padded(x, p, value=0.0):
    return F.pad(x, (p.left, p.right, p.top, p.bottom), value=value)
