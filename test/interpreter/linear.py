# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Products of matrices."""

import torch
import torch.nn.functional as F

from .quantize import dequantize, rounded
from .tensors import clamped


def _quantized_linear(a, x, weight, scale, bias=None, zero_point=None):
    if a.dynamic_quantization:
        x = rounded(x, 1)
    if a.bits == 4:
        weight = torch.stack([weight & 15, weight >> 4], -1).flatten(1).int() - 8
    zero_point = torch.zeros(scale.shape) if zero_point is None else zero_point
    return clamped(F.linear(x, dequantize(a, weight, scale, zero_point), bias), a.clamp)


OPERATORS = {
    "Linear": lambda a, x, w, bias=None: clamped(F.linear(x, w, bias), a.clamp),
    "BatchMatMul": lambda a, x, y: x @ (y.transpose(-2, -1) if a.transpose_b else y),
    "QuantizedLinear": _quantized_linear,
}
