# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions and products of known models, one layer each, for ``xnnpack_versions.py``."""

import torch
from models import Model
from torch import nn


def _convolution(inputs: int, outputs: int, size: int, kernel: int = 1, stride: int = 1) -> Model:
    name = f"conv {kernel}x{kernel}{f'/{stride}' if stride > 1 else ''} {inputs}-{outputs} at {size}"
    return Model(
        name,
        lambda: nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2),
        lambda: (torch.randn(1, inputs, size, size),),
        f"1 x {inputs} x {size} x {size}",
    )


def _linear(rows: int, inputs: int, outputs: int) -> Model:
    return Model(
        f"linear {rows}x{inputs}-{outputs}",
        lambda: nn.Linear(inputs, outputs),
        lambda: (torch.randn(rows, inputs),),
        f"{rows} x {inputs}",
    )


#: Of ResNet-50 and of vision transformers: weights within and beyond the caches, and many rows.
LARGE = [
    _convolution(64, 64, 56, 3),
    _convolution(128, 128, 28, 3),
    _convolution(256, 256, 14, 3),
    _convolution(512, 512, 7, 3),
    _convolution(64, 256, 56),
    _convolution(1024, 256, 14),
    _convolution(512, 2048, 7),
    _convolution(3, 64, 224, 7, 2),
    _linear(197, 384, 1536),
    _linear(128, 1536, 384),
    _linear(3136, 96, 384),
    _linear(1, 768, 3072),
    _linear(1, 1280, 1000),
    _linear(64, 512, 1000),
]
#: Of MobileNetV3: few output channels, which are not a multiple of XNNPACK's tiles.
NARROW = [
    _convolution(3, 16, 224, 3, 2),
    _convolution(16, 16, 112),
    _convolution(64, 24, 56),
    _convolution(24, 72, 56),
    _convolution(72, 40, 28),
    _convolution(120, 40, 28),
    _convolution(240, 80, 14),
    _convolution(480, 112, 14),
    _convolution(672, 160, 7),
    _convolution(960, 8, 14),
    _convolution(960, 1, 14),
    _linear(49, 96, 40),
    _linear(49, 576, 24),
    _linear(196, 64, 80),
]
LAYERS = [*LARGE, *NARROW]
