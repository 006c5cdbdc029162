# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Normalization."""

import math

import torch
import torch.nn.functional as F


def _layer_norm(a, x, weight=None, bias=None):
    return torch.native_layer_norm(x, x.shape[x.dim() - a.axes :], weight, bias, a.epsilon)


def _rms_norm(a, x, weight=None):
    return F.rms_norm(x, x.shape[x.dim() - a.axes :], weight, a.epsilon)


def _group_norm(a, x, weight=None, bias=None):
    x = x.movedim(a.axis, 1)
    batch, channels, *rest = x.shape
    y, mean, rstd = torch.native_group_norm(
        x.contiguous(), weight, bias, batch, channels, math.prod(rest), a.groups, a.epsilon
    )
    return y.movedim(1, a.axis), mean, rstd


OPERATORS = {
    "LayerNorm": _layer_norm,
    "RmsNorm": _rms_norm,
    "GroupNorm": _group_norm,
}
