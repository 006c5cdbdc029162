# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Single operators at sizes that models use, for ``operators.py``."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from models import Model
from torch import nn

rand, randn = torch.rand, torch.randn


class Function(nn.Module):
    """A function by its name in ``FUNCTIONS``, so that other processes can load it."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name

    def forward(self, *inputs):
        return FUNCTIONS[self.name](*inputs)


class First(nn.Module):
    """The first result of a module that has several."""

    def __init__(self, module: nn.Module):
        super().__init__()
        self.module = module

    def forward(self, *inputs):
        return self.module(*inputs)[0]


def ids(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)


def rotary(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


def gated(x, y, z):
    """A run of pointwise operators: one pass over memory instead of six."""
    return torch.clamp(x * torch.sigmoid(1.7 * y) + z, -3, 3) * 0.5 + y


def positions(mask):
    return torch.cumsum(mask, 1) * mask + 1


def attend(q, k, v, *mask, causal=False):
    return F.scaled_dot_product_attention(q, k, v, *mask, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])


#: name -> function and its inputs
_FUNCTIONS: dict[str, tuple[Callable, Callable[[], tuple]]] = {
    "attention 128": (attend, lambda: tuple(randn(1, 12, 128, 64) for _ in range(3))),
    "attention 1024": (attend, lambda: tuple(randn(1, 8, 1024, 64) for _ in range(3))),
    "attention causal, 2 of 8 heads": (
        lambda q, k, v: attend(q, k, v, causal=True),
        lambda: (randn(1, 8, 512, 64), randn(1, 2, 512, 64), randn(1, 2, 512, 64)),
    ),
    "attention masked": (attend, lambda: (*(randn(1, 12, 128, 64) for _ in range(3)), rand(1, 1, 128, 128) > 0.2)),
    "attention, one query": (attend, lambda: (randn(1, 8, 1, 64), randn(1, 8, 1024, 64), randn(1, 8, 1024, 64))),
    "rotary embedding": (rotary, lambda: (randn(1, 8, 256, 64), rand(256, 64), rand(256, 64))),
    "permute heads": (lambda x: x.permute(0, 2, 1, 3).contiguous(), lambda: (rand(1, 512, 12, 64),)),
    "roll": (lambda x: torch.roll(x, (3, 3), (1, 2)), lambda: (rand(1, 56, 56, 96),)),
    "repeat": (lambda x: x.repeat(1, 4, 1), lambda: (rand(1, 128, 384),)),
    "stack": (lambda x, y: torch.stack([x, y], -1).flatten(-2), lambda: (rand(1, 512, 384), rand(1, 512, 384))),
    "flip": (lambda x: x.flip(-1), lambda: (rand(1, 3, 224, 224),)),
    "pixel shuffle": (lambda x: F.pixel_shuffle(x, 2), lambda: (rand(1, 64, 56, 56),)),
    "masked fill": (lambda x, m: x.masked_fill(m, -math.inf), lambda: (randn(1, 12, 128, 128), rand(128, 128) > 0.5)),
    "where of a comparison": (lambda x, y: torch.where(x > y, x, y * 2), lambda: (randn(1 << 20), randn(1 << 20))),
    "logic": (lambda x, y: (x > 0) & (y < 1) | (x < -1), lambda: (randn(1 << 20), randn(1 << 20))),
    "positions, int64": (positions, lambda: ((rand(8, 512) > 0.1).long(),)),
    "int64 arithmetic": (lambda x, y: (x * 3 + y) // 7, lambda: (ids(1000, 1 << 18), ids(1000, 1 << 18))),
    "index_select": (lambda x, i: x.index_select(0, i), lambda: (rand(4096, 256), ids(4096, 1024))),
    "gather": (lambda x, i: x.gather(1, i), lambda: (rand(256, 4096), ids(4096, 256, 1024))),
    "index_put": (lambda x, i, v: x.index_put((i,), v), lambda: (rand(2048, 256), ids(2048, 64), rand(64, 256))),
    "scatter_add": (
        lambda x, i, v: x.scatter_add(0, i, v),
        lambda: (rand(1024, 128), ids(1024, 512, 128), rand(512, 128)),
    ),
    "upsample nearest": (lambda x: F.interpolate(x, scale_factor=2), lambda: (rand(1, 64, 56, 56),)),
    "upsample bilinear": (
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False),
        lambda: (rand(1, 64, 56, 56),),
    ),
    "upsample bicubic": (lambda x: F.interpolate(x, (224, 224), mode="bicubic"), lambda: (rand(1, 3, 96, 96),)),
    "amax": (lambda x: x.amax(-1), lambda: (rand(256, 4096),)),
    "argmax": (lambda x: x.argmax(-1), lambda: (rand(256, 4096),)),
    "sum of rows": (lambda x: x.sum(0), lambda: (rand(256, 4096),)),
    "var": (lambda x: x.var(-1), lambda: (rand(256, 4096),)),
    "prod": (lambda x: x.prod(-1), lambda: (rand(256, 4096) + 0.5,)),
    "any": (lambda x: (x > 2).any(-1), lambda: (rand(256, 4096),)),
    "topk": (lambda x: x.topk(50)[0], lambda: (randn(1, 32000),)),
    "sort": (lambda x: x.sort(-1)[0], lambda: (randn(16, 4096),)),
    "cumsum": (lambda x: x.cumsum(-1), lambda: (rand(256, 1024),)),
    "gelu": (F.gelu, lambda: (randn(128, 3072),)),
    "erf": (torch.erf, lambda: (randn(1 << 20),)),
    "exp": (torch.exp, lambda: (randn(1 << 20),)),
    "log1p": (torch.log1p, lambda: (rand(1 << 20),)),
    "expm1": (torch.expm1, lambda: (randn(1 << 20),)),
    "atan": (torch.atan, lambda: (randn(1 << 20),)),
    "sin": (torch.sin, lambda: (randn(1 << 20),)),
    "isnan": (torch.isnan, lambda: (randn(1 << 20),)),
    "pow": (lambda x: x**2.5, lambda: (rand(1 << 20),)),
    "remainder": (lambda x: x.remainder(0.7), lambda: (randn(1 << 20),)),
    "softplus": (F.softplus, lambda: (randn(1 << 20),)),
    "softmax": (lambda x: x.softmax(-1), lambda: (randn(12, 128, 128),)),
    "softmax of channels": (lambda x: x.softmax(1), lambda: (randn(1, 64, 56, 56),)),
    "log_softmax": (lambda x: x.log_softmax(-1), lambda: (randn(64, 8192),)),
    "pointwise run": (gated, lambda: tuple(randn(1 << 20) for _ in range(3))),
    "convolution, weights at run time": (
        lambda x, w: F.conv2d(x, w, padding=1),
        lambda: (randn(1, 32, 28, 28), randn(32, 32, 3, 3)),
    ),
    "reflection pad": (lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), lambda: (rand(1, 64, 56, 56),)),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        lambda: (rand(1, 64, 56, 56), rand(1, 56, 56, 2) * 2 - 1),
    ),
}

_MODULES: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple]]] = {
    "layer_norm": (lambda: nn.LayerNorm(768), lambda: (randn(1, 512, 768),)),
    "rms_norm": (lambda: nn.RMSNorm(768), lambda: (randn(1, 512, 768),)),
    "group_norm": (lambda: nn.GroupNorm(32, 320), lambda: (randn(1, 320, 32, 32),)),
    "instance_norm": (lambda: nn.InstanceNorm2d(64), lambda: (randn(1, 64, 64, 64),)),
    "embedding": (lambda: nn.Embedding(30522, 384), lambda: (ids(30522, 1, 128),)),
    "conv1d": (lambda: nn.Conv1d(80, 384, 3, padding=1), lambda: (randn(1, 80, 3000),)),
    "conv3d": (lambda: nn.Conv3d(16, 32, 3, padding=1), lambda: (randn(1, 16, 8, 28, 28),)),
    "depthwise 3x3": (lambda: nn.Conv2d(96, 96, 3, padding=1, groups=96), lambda: (randn(1, 96, 56, 56),)),
    "depthwise 3x3, stride 2": (
        lambda: nn.Conv2d(144, 144, 3, 2, 1, groups=144),
        lambda: (randn(1, 144, 56, 56),),
    ),
    "depthwise 5x5": (lambda: nn.Conv2d(480, 480, 5, padding=2, groups=480), lambda: (randn(1, 480, 14, 14),)),
    "inverted residual": (
        lambda: nn.Sequential(
            *(nn.Conv2d(24, 144, 1), nn.ReLU6()),
            *(nn.Conv2d(144, 144, 3, padding=1, groups=144), nn.ReLU6()),
            nn.Conv2d(144, 24, 1),
        ),
        lambda: (randn(1, 24, 56, 56),),
    ),
    "depthwise 7x7": (lambda: nn.Conv2d(96, 96, 7, padding=3, groups=96), lambda: (randn(1, 96, 56, 56),)),
    "max_pool1d": (lambda: nn.MaxPool1d(3, 2), lambda: (randn(1, 64, 4096),)),
    "avg_pool3d": (lambda: nn.AvgPool3d(2), lambda: (randn(1, 32, 16, 28, 28),)),
    "adaptive_avg_pool2d": (lambda: nn.AdaptiveAvgPool2d(7), lambda: (randn(1, 256, 10, 10),)),
    "lstm": (lambda: First(nn.LSTM(128, 128, batch_first=True)), lambda: (randn(1, 64, 128),)),
    "gru": (lambda: First(nn.GRU(128, 128, batch_first=True)), lambda: (randn(1, 64, 128),)),
}

FUNCTIONS = {name: function for name, (function, _) in _FUNCTIONS.items()}


def _size(inputs: Callable[[], tuple]) -> str:
    return ", ".join(" x ".join(map(str, t.shape)) for t in inputs())


def _case(name: str, make: Callable[[], nn.Module], inputs: Callable[[], tuple]) -> Model:
    return Model(name, make, inputs, _size(inputs))


CASES = [_case(name, lambda name=name: Function(name), inputs) for name, (_, inputs) in _FUNCTIONS.items()]
CASES += [_case(name, make, inputs) for name, (make, inputs) in _MODULES.items()]
