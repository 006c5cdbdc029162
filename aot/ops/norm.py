# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Normalizations."""

import numpy as np

from ...serialization import schema
from ...serialization.schema import BinaryKind
from .registry import op


@op("aten._native_batch_norm_legit_no_training.default")
def batch_norm(c, input, weight, bias, running_mean, running_var, eps):
    """x * scale + shift for each channel, axis 1; only the first result is computed."""
    for value in (weight, bias, running_mean, running_var):
        if value is not None:
            c.require_constant(value, "a parameter")
    scale = 1 / np.sqrt(running_var.array.astype(np.float64) + eps)
    if weight is not None:
        scale = scale * weight.array
    shift = -running_mean.array * scale
    if bias is not None:
        shift = shift + bias.array
    x = input
    channels = (-1, *[1] * (x.rank - 2))
    for kind, factor in ((BinaryKind.Mul, scale), (BinaryKind.Add, shift)):
        constant = c.constant(factor.astype(np.float32).reshape(channels))
        x = c.node(schema.Binary(kind=kind), x, constant, shape=x.shape)
    return x, None, None


def _layer_norm(c, x, normalized_shape, weight, bias, eps):
    attributes = schema.LayerNorm(axes=len(normalized_shape), epsilon=float(eps))
    return c.node(attributes, x, weight, bias, shape=x.shape)


@op("aten.layer_norm.default", preserve=True)
def layer_norm(c, input, normalized_shape, weight, bias, eps):
    return _layer_norm(c, input, normalized_shape, weight, bias, eps)


@op("aten.native_layer_norm.default")
def native_layer_norm(c, input, normalized_shape, weight, bias, eps):
    return _layer_norm(c, input, normalized_shape, weight, bias, eps), None, None
