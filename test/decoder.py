# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A small language model of today's usual kind, with a KV cache of fixed length."""

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 67
    width: int = 32
    layers: int = 2
    heads: int = 4
    key_heads: int = 2
    hidden: int = 72
    length: int = 16  #: tokens in the cache

    @property
    def head_width(self) -> int:
        return self.width // self.heads


class RMSNorm(nn.Module):
    def __init__(self, width, epsilon=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.epsilon = epsilon

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.epsilon) * self.weight


def _rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Attention(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config = c = config
        self.query = nn.Linear(c.width, c.width, bias=False)
        self.key = nn.Linear(c.width, c.key_heads * c.head_width, bias=False)
        self.value = nn.Linear(c.width, c.key_heads * c.head_width, bias=False)
        self.out = nn.Linear(c.width, c.width, bias=False)
        self.register_buffer("keys", torch.zeros(1, c.key_heads, c.length, c.head_width))
        self.register_buffer("values", torch.zeros(1, c.key_heads, c.length, c.head_width))

    def forward(self, x, positions, cos, sin, mask):
        def heads(y):
            return y.unflatten(-1, (-1, self.config.head_width)).transpose(1, 2)

        query = _rotate(heads(self.query(x)), cos, sin)
        self.keys.index_copy_(2, positions, _rotate(heads(self.key(x)), cos, sin))
        self.values[:, :, positions] = heads(self.value(x))
        y = F.scaled_dot_product_attention(query, self.keys, self.values, mask, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.attention_norm = RMSNorm(config.width)
        self.attention = Attention(config)
        self.norm = RMSNorm(config.width)
        self.gate = nn.Linear(config.width, config.hidden, bias=False)
        self.up = nn.Linear(config.width, config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def forward(self, x, *rest):
        x = x + self.attention(self.attention_norm(x), *rest)
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Tokens [1, T] at positions [T] -> scores [1, T, vocabulary] of the next ones."""

    def __init__(self, config: Config = Config()):
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.head.weight = self.embedding.weight
        frequencies = 10000 ** (-torch.arange(0, config.head_width, 2) / config.head_width)
        angles = torch.arange(config.length)[:, None] * frequencies
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("slots", torch.arange(config.length))

    def forward(self, tokens, positions):
        x = self.embedding(tokens)
        mask = self.slots[None] <= positions[:, None]
        for layer in self.layers:
            x = layer(x, positions, self.cos[positions], self.sin[positions], mask)
        return self.head(self.norm(x))
