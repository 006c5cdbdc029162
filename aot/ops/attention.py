# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Attention, kept whole."""

import math

from ...serialization import schema
from ...serialization.schema import DType
from .registry import op


def _check_shapes(c, query, key, value, enable_gqa):
    c.require(
        query.rank == key.rank == value.rank and query.rank >= 2,
        "query, key and value of different ranks",
    )
    c.require(key.shape[:-1] == value.shape[:-1], "key and value that differ in leading sizes")
    if not enable_gqa:
        same = query.shape[:-2] == key.shape[:-2]
        c.require(same, "query and key that differ in leading sizes")
        return
    c.require(query.rank >= 3, "grouped heads without an axis of heads")
    c.require(query.shape[:-3] == key.shape[:-3], "query and key that differ in leading sizes")
    heads = c.require_static(query.shape[-3], "a number of heads")
    groups = c.require_static(key.shape[-3], "a number of heads")
    c.require(groups > 0 and heads % groups == 0, "heads of key that do not divide those of query")


@op(
    "aten.scaled_dot_product_attention.default",
    preserve=True,
    dtypes=(DType.Float32, DType.Bool),
)
def attention(c, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa):
    c.require(c.out.dtype == DType.Float32, f"a result of type {c.out.dtype.name}")
    c.require(dropout_p == 0, "attention with dropout")
    _check_shapes(c, query, key, value, enable_gqa)
    if attn_mask is not None:
        c.require(attn_mask.rank <= query.rank, "a mask of higher rank than query")
    if scale is None:
        scale = 1 / math.sqrt(c.require_static(query.shape[-1], "a head size"))
    c.require(isinstance(scale, (int, float)), "a scale that depends on an input size")
    attributes = schema.Attention(scale=float(scale), causal=bool(is_causal))
    return c.node(attributes, query, key, value, attn_mask, shape=c.out.shape)
