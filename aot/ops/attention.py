# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Attention, kept whole."""

import math

from ...serialization import schema
from ...serialization.schema import DType
from .registry import op


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
    if scale is None:
        scale = 1 / math.sqrt(c.require_static(query.shape[-1], "the size of a head"))
    c.require(isinstance(scale, (int, float)), "the scale must not depend on an input size")
    attributes = schema.Attention(scale=float(scale), causal=bool(is_causal))
    return c.node(attributes, query, key, value, attn_mask, shape=c.out.shape)
