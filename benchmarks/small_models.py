# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Models of which a call takes microseconds, for ``small_calls.py``."""

import torch
from models import Model
from torch import nn


class Perceptron(nn.Module):
    """Five linear layers with ReLU: ten operators. [1, 32] -> [1, 32]."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(layer for _ in range(5) for layer in (nn.Linear(32, 32), nn.ReLU())))

    def forward(self, x):
        return self.layers(x)


class LstmStep(nn.Module):
    """One step of an LSTM: x [1, 64], h and c [1, 64] -> h and c."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(64, 64)

    def forward(self, x, h, c):
        return self.cell(x, (h, c))


SMALL = [
    Model("relu of 16 numbers", nn.ReLU, lambda: (torch.randn(16),), "16"),
    Model("perceptron of 10 operators", Perceptron, lambda: (torch.randn(1, 32),), "1 x 32"),
    Model("step of an LSTM", LstmStep, lambda: tuple(torch.randn(1, 64) for _ in range(3)), "3 of 1 x 64"),
]
