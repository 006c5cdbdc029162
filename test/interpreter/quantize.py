# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Quantization."""

from types import SimpleNamespace

import torch
from executorch.backends.et_xnnpack.serialization.schema import DType, QParamsKind

from .tensors import torch_dtype


def _blocks(x, parameter):
    """A scale or zero point for each element of ``x``."""
    for axis, blocks in enumerate(parameter.shape):
        parameter = parameter.repeat_interleave(x.shape[axis] // max(blocks, 1), axis)
    return parameter


def _quantize(a, x, scale, zero_point):
    q = torch.round(x * (1.0 / _blocks(x, scale))) + _blocks(x, zero_point)
    return q.clamp(a.min, a.max).nan_to_num(0).to(torch_dtype(a.dtype))


def dequantize(a, x, scale, zero_point):
    return (x.float() - _blocks(x, zero_point)) * _blocks(x, scale)


def stored(quantization, x):
    """What is left of ``x`` when it is stored so."""
    if quantization is None:
        return x
    info = torch.iinfo(torch_dtype(quantization.dtype))
    scale, zero_point = (torch.from_numpy(p) for p in (quantization.scale, quantization.zero_point))
    q = (torch.round(x * (1.0 / scale)) + zero_point).clamp(info.min, info.max).nan_to_num(0)
    return (q - zero_point) * scale


def _choose_qparams(a, x):
    axes = tuple(range(x.dim() - a.axes, x.dim()))
    low, high = (x.amin(axes, True), x.amax(axes, True)) if axes else (x, x)
    low, high = low.clamp(max=0), high.clamp(min=0)
    if a.kind == QParamsKind.Symmetric:
        scale = torch.maximum(-low, high) / ((a.max - a.min) / 2)
        scale = scale.clamp(min=a.epsilon)
        return scale, torch.full_like(scale, (a.max + a.min + 1) // 2).int()
    scale = ((high - low) / (a.max - a.min)).clamp(min=a.epsilon)
    zero_point = a.min - torch.round(low / scale)
    if a.kind == QParamsKind.Nearest:
        from_low = (a.min + low / scale) + (a.max + high / scale) > 0
        zero_point = torch.round(torch.where(from_low, a.min - low / scale, a.max - high / scale))
    return scale, zero_point.clamp(a.min, a.max).int()


def rounded(x, axes):
    """Rounded to 8 bits, with parameters for the last axes."""
    a = SimpleNamespace(kind=QParamsKind.Nearest, axes=axes, min=-128, max=127, epsilon=2**-23, dtype=DType.Int8)
    parameters = _choose_qparams(a, x)
    return dequantize(a, _quantize(a, x, *parameters), *parameters)


OPERATORS = {
    "Quantize": _quantize,
    "Dequantize": dequantize,
    "ChooseQParams": _choose_qparams,
}
