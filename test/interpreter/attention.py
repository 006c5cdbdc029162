# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Attention and what it needs."""

import torch


def _attention(a, query, key, value, mask=None, *scales):
    if scales:
        key, value = (
            (x.float() - zero_point.float()) * scale
            for x, scale, zero_point in zip((key, value), scales[::2], scales[1::2], strict=True)
        )
    if a.by_token:
        query, key, value = (x.transpose(-2, -3) for x in (query, key, value))
    if query.dim() > 2 and query.shape[-3] != key.shape[-3]:
        group = query.shape[-3] // key.shape[-3]
        key, value = (x.repeat_interleave(group, -3) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * a.scale
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    if a.causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1 + a.start)
        scores = scores.masked_fill(future, float("-inf"))
    weights = torch.softmax(scores, -1)
    empty = (scores == float("-inf")).all(-1, keepdim=True)
    y = weights.masked_fill(empty, 0) @ value
    return y.transpose(-2, -3).contiguous() if a.by_token else y


def _rotary_embedding(a, x, cos, sin):
    parts = x.unflatten(-1, (-1, 2)) if a.interleaved else x.unflatten(-1, (2, -1))
    axis = -1 if a.interleaved else -2
    first, second = parts.unbind(axis)
    return x * cos + torch.stack((-second, first), axis).flatten(-2) * sin


OPERATORS = {
    "Attention": _attention,
    "RotaryEmbedding": _rotary_embedding,
}
