# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of attention."""

import functools
import math

import torch
import torch.nn.functional as F
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401 - registers operators
from torch import nn

from . import ANY_OPERATOR, BATCH, LENGTH, Argument, Sample, Size, bools, integers, new, rand

_attention = F.scaled_dot_product_attention
_KEYS = Size("keys", 13, (13, 13, 5, 1, 8, 2, 13))
_LEFT_PADDED = Argument((2, 1, 5, 6), lambda s, g: torch.arange(6).expand(s) >= torch.tensor(6))
_NO_KEY_FOR_ROW = Argument((5, 6), lambda s, g: torch.ones(s, dtype=torch.bool).tril(-1))
_MASKED_OUT = Argument((5, 6), lambda s, g: torch.zeros(s).masked_fill(torch.ones(s).triu(2) > 0, -math.inf))


def _option(**options):
    return functools.partial(_attention, **options)


def _masked(q, k, v, mask):
    return _attention(q, k, v, attn_mask=mask)


class SelfAttention(nn.Module):
    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        return self.out(_attention(q, k, v).transpose(1, 2).flatten(2))


def _angles(tokens, size):
    return torch.outer(torch.arange(tokens), 100.0 ** -(torch.arange(size) / size))


def _turn_halves(x, positions=None):
    """Rotary embeddings as GPT-NeoX and Llama in transformers have them."""
    angles = (
        _angles(x.shape[-2], x.shape[-1] // 2)
        if positions is None
        else positions[..., None] * _angles(2, x.shape[-1] // 2)[1]
    )
    angles = torch.cat([angles, angles], -1)
    first, second = x.chunk(2, -1)
    return x * angles.cos() + torch.cat([-second, first], -1) * angles.sin()


def _turn_two_halves(x):
    angles = _angles(x.shape[-2], x.shape[-1] // 2)
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def _turn_pairs(x):
    """As GPT-J has them."""
    angles = _angles(x.shape[-2], x.shape[-1] // 2).repeat_interleave(2, -1)
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2)
    return x * angles.cos() + turned * angles.sin()


def _turn_complex(x):
    """As the first Llama had them, written out."""
    angles = _angles(x.shape[-2], x.shape[-1] // 2)
    cos, sin = angles.cos(), angles.sin()
    real, imaginary = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
    return torch.stack([real * cos - imaginary * sin, real * sin + imaginary * cos], -1).flatten(-2)


def _turn_a_part(x):
    return torch.cat([_turn_halves(x[..., :6]), x[..., 6:]], -1)


def _cached(start, causal, scale=None):
    def attend(q, k, v, mask=None):
        return torch.ops.llama.custom_sdpa(q, k, v, start, mask, 0.0, causal, scale)

    return attend


def _cached_integers(q, q_scale, q_zero, k, k_scale, k_zero, v, v_scale, v_zero):
    scales = q_zero, q_scale, k_zero, k_scale, v_zero, v_scale
    return torch.ops.llama.custom_quantized_sdpa(q, k, v, 7, None, 0.0, True, None, *scales)


def _by_token(length=LENGTH, batch=2):
    return rand(batch, length, 6, 8), rand(batch, 30, 2, 8), rand(batch, 30, 2, 8)


def _integers(*shape):
    def int8(*shape):
        return integers(*shape, low=-128, high=127, dtype=torch.int8)

    return int8(*shape), rand(*shape[:-1], 1, low=0.01, high=0.02), int8(*shape[:-1], 1)


def _qkv(leading, length=5, keys=6, size=8, value_size=8, kv_leading=None):
    kv = leading if kv_leading is None else kv_leading
    return rand(*leading, length, size), rand(*kv, keys, size), rand(*kv, keys, value_size)


SAMPLES = [
    Sample("attention", _attention, *_qkv((2, 3))),
    Sample("attention_rank2", _attention, *_qkv(())),
    Sample("attention_rank3", _attention, *_qkv((2,))),
    Sample("attention_rank5", _attention, *_qkv((2, 1, 3))),
    Sample("attention_value_size", _attention, *_qkv((2, 3), value_size=11)),
    Sample("attention_one_query", _attention, *_qkv((2, 3), length=1, keys=33)),
    Sample("attention_one_key", _attention, *_qkv((2, 3), keys=1)),
    Sample("attention_long", _attention, *_qkv((1, 2), length=70, keys=131, size=32, value_size=32)),
    Sample("attention_causal", _option(is_causal=True), *_qkv((2, 3), length=6, keys=6)),
    Sample("attention_causal_wide", _option(is_causal=True), *_qkv((2, 3), length=4, keys=9)),
    Sample("attention_causal_tall", _option(is_causal=True), *_qkv((2, 3), length=9, keys=4)),
    Sample("attention_scale", _option(scale=0.3), *_qkv((2, 3))),
    Sample("attention_mask", _masked, *_qkv((2, 3)), rand(5, 6)),
    Sample("attention_mask_full", _masked, *_qkv((2, 3)), rand(2, 3, 5, 6)),
    Sample("attention_mask_broadcast", _masked, *_qkv((2, 3)), rand(2, 1, 1, 6)),
    Sample("attention_mask_infinite", _masked, *_qkv((2, 3)), _MASKED_OUT),
    Sample("attention_bool_mask", _masked, *_qkv((2, 3)), bools(5, 6)),
    Sample("attention_bool_mask_broadcast", _masked, *_qkv((2, 3)), bools(2, 1, 1, 6)),
    Sample("attention_bool_mask_empty_row", _masked, *_qkv((2, 3)), _NO_KEY_FOR_ROW),
    Sample("attention_bool_mask_all_false", _masked, *_qkv((2, 3)), _LEFT_PADDED),
    Sample("attention_grouped", _option(enable_gqa=True), *_qkv((2, 6), kv_leading=(2, 2))),
    Sample("attention_one_group", _option(enable_gqa=True), *_qkv((2, 6), kv_leading=(2, 1))),
    Sample("attention_dynamic", _attention, *_qkv((BATCH, 2), LENGTH, _KEYS)),
    Sample("attention_dynamic_mask", _masked, *_qkv((BATCH, 2), LENGTH, _KEYS), rand(LENGTH, _KEYS)),
    Sample("attention_dynamic_causal", _option(is_causal=True), *_qkv((BATCH, 2), LENGTH, LENGTH)),
    Sample("attention_cached", _cached(5, True), *_by_token(), config=ANY_OPERATOR),
    Sample("attention_cached_one", _cached(29, True, 0.5), *_by_token(1), config=ANY_OPERATOR),
    Sample("attention_cached_all", _cached(3, False), *_by_token(), config=ANY_OPERATOR),
    Sample("attention_cached_mask", _cached(0, False), *_by_token(5), rand(5, 30), config=ANY_OPERATOR),
    Sample(
        "attention_cached_integers",
        _cached_integers,
        *_integers(2, LENGTH, 6, 8),
        *_integers(2, 30, 2, 8),
        *_integers(2, 30, 2, 8),
        config=ANY_OPERATOR,
    ),
    Sample("self_attention", new(SelfAttention), rand(2, 7, 16)),
    Sample("self_attention_dynamic", new(SelfAttention), rand(BATCH, LENGTH, 16)),
    Sample("rotary_halves", _turn_halves, rand(BATCH, 3, LENGTH, 8)),
    Sample("rotary_two_halves", _turn_two_halves, rand(BATCH, 3, LENGTH, 8)),
    Sample("rotary_pairs", _turn_pairs, rand(BATCH, 3, LENGTH, 8)),
    Sample("rotary_complex", _turn_complex, rand(BATCH, 3, LENGTH, 8)),
    Sample("rotary_part", _turn_a_part, rand(2, 3, 5, 11)),
    Sample("rotary_positions", _turn_halves, rand(2, 3, LENGTH, 16), rand(LENGTH, high=50)),
]
