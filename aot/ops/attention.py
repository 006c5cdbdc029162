# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Attention, kept whole."""

import math

import numpy as np

from ...serialization import schema
from ...serialization.schema import DType
from ..ir import dims
from .quantize import dequantize
from .registry import op
from .shape import slice_axis


def _check_shapes(c, query, key, value, enable_gqa):
    c.require(
        query.rank == key.rank == value.rank and query.rank >= 2,
        "query, key and value must have the same rank, at least 2",
    )
    c.require(key.shape[:-1] == value.shape[:-1], "key and value must have the same sizes but in the last axis")
    if not enable_gqa:
        same = query.shape[:-2] == key.shape[:-2]
        c.require(same, "query and key must have the same sizes but in the last two axes")
        return
    c.require(query.rank >= 3, "grouped query attention needs an axis of heads")
    c.require(query.shape[:-3] == key.shape[:-3], "query and key must have the same sizes before the axis of heads")
    heads = c.require_static(query.shape[-3], "the number of heads")
    groups = c.require_static(key.shape[-3], "the number of heads")
    c.require(groups > 0 and heads % groups == 0, "the number of heads of key must divide that of query")


@op(
    "aten.scaled_dot_product_attention.default",
    preserve=True,
    dtypes=(DType.Float32, DType.Bool),
)
def attention(c, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    c.require(c.out.dtype == DType.Float32, f"the result has type {c.out.dtype.name}, not Float32")
    c.require(dropout_p == 0, "attention with dropout is for training only")
    _check_shapes(c, query, key, value, enable_gqa)
    if attn_mask is not None:
        c.require(attn_mask.rank <= query.rank, "the mask has a higher rank than query")
        scores = (*query.shape[:-1], key.shape[-2])
        sizes = zip(reversed(attn_mask.shape), reversed(scores), strict=False)
        fits = all(size in (1, score) for size, score in sizes if dims.is_static((size, score)))
        c.require(fits, "the mask does not broadcast to the shape of the scores")
    attributes = schema.Attention(scale=_scale_of(c, scale, query), causal=bool(is_causal))
    return c.node(attributes, query, key, value, attn_mask, shape=c.out.shape)


def _scale_of(c, scale, query):
    if scale is None:
        scale = 1 / math.sqrt(c.require_static(query.shape[-1], "the size of a head"))
    c.require(isinstance(scale, (int, float)), "the scale must not depend on an input size")
    c.require(abs(scale) <= np.finfo(np.float32).max, f"the scale is {scale}, but must be a number of float32")
    return float(scale)


def _cached(c, query, key, value, start, mask, dropout, is_causal, scale, by_token=True, scales=()):
    """Attention to a cache that is filled up to the last row of query."""
    c.require(dropout == 0, "attention with dropout is for training only")
    c.require(mask is None or not is_causal, "attention takes a mask or is causal, not both")
    axis = 1 if by_token else 2
    heads, groups = (c.require_static(x.shape[3 - axis], "the number of heads") for x in (query, key))
    c.require(groups > 0 and heads % groups == 0, "the number of heads of key must divide that of query")
    c.require(key.shape[:-1] == value.shape[:-1], "key and value must have the same sizes but in the last axis")
    if mask is None and not is_causal:
        filled = start + query.shape[axis]
        key, value, *scales = (slice_axis(c, x, axis, 0, filled) for x in (key, value, *scales))
    attributes = schema.Attention(
        scale=_scale_of(c, scale, query), causal=is_causal, start=start if is_causal else 0, by_token=by_token
    )
    return c.node(
        attributes, query, key, value, *([mask, *scales] if scales or mask is not None else []), shape=c.out.shape
    )


@op("llama.custom_sdpa.default", preserve=True)
def custom_sdpa(c, query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale):
    return _cached(c, query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale)


@op("llama.custom_quantized_sdpa.default", preserve=True, dtypes=(DType.Float32, DType.Int8))
def custom_quantized_sdpa(
    c,
    query,
    key,
    value,
    start_pos,
    attn_mask,
    drpout_p,
    is_causal,
    scale,
    q_zero_points,
    q_scales,
    k_zero_points,
    k_scales,
    v_zero_points,
    v_scales,
    is_seq_at_dim_2,
):
    scales = (q_scales, q_zero_points, k_scales, k_zero_points, v_scales, v_zero_points)
    c.require(all(x is not None for x in scales), "a scale or zero point is missing")
    query = dequantize(c, query, q_scales, c.cast(q_zero_points, DType.Int32))
    by_token = not is_seq_at_dim_2
    return _cached(c, query, key, value, start_pos, attn_mask, drpout_p, is_causal, scale, by_token, scales[2:])
