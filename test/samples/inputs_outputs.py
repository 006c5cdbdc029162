# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of unusual inputs and outputs of a program, and of their layouts."""

import torch
import torch.nn.functional as F
from torch import nn

from . import BATCH, LENGTH, Sample, new, rand


class Branches(nn.Module):
    """An image and a vector as outputs."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        y = F.relu(self.conv(x))
        return y, self.fc(y.mean((2, 3)))


class Weights(nn.Module):
    """Returns what it computes with: a parameter, a buffer and a constant, and a buffer that nothing else reads."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.tied = nn.Linear(4, 4)
        self.tied.weight = self.fc.weight
        self.register_buffer("shift", torch.rand(4))
        self.register_buffer("unread", torch.rand(3))

    def forward(self, x):
        scale = torch.tensor([1.0, 2.0, 3.0, 4.0])
        y = self.tied(self.fc(x) + self.shift) * scale
        return y, self.fc.weight, self.tied.weight, self.shift, self.unread, scale, self.fc.bias


_IMAGE = rand(2, 3, 6, 5)
_IMAGE_CHANNELS_LAST = rand(2, 3, 6, 5, channels_last=True)

SAMPLES = [
    Sample("two_outputs", lambda x: (x + 1, x * 2), rand(3, 4)),
    Sample("output_twice", lambda x: (lambda y: (y, y))(x + 1), rand(3, 4)),
    Sample("output_and_intermediate", lambda x: (lambda y: (y, y * 2))(x + 1), rand(3, 4)),
    Sample("input_as_output", lambda x: (x, x + 1), rand(3, 4)),  # Robustness: G4
    Sample("unused_input", lambda x, y: x + 1, rand(3, 4), rand(2)),
    Sample("same_input_twice", lambda x, y: (x * y, y - x), rand(3, 4), rand(3, 4)),
    Sample("weights_as_outputs", new(Weights), rand(BATCH, 4)),
    Sample("image_and_vector", new(Branches), _IMAGE),
    Sample("image_and_vector_channels_last", new(Branches), _IMAGE_CHANNELS_LAST),
    Sample("channels_last", lambda x: x + 1, _IMAGE_CHANNELS_LAST),
    Sample("channels_last_dynamic", lambda x: x + 1, rand(BATCH, 3, 6, 5, channels_last=True)),
    Sample("mixed_layouts", torch.add, _IMAGE, _IMAGE_CHANNELS_LAST),
    Sample("channels_last_flattened", lambda x: x.flatten(1) * 2, _IMAGE_CHANNELS_LAST),
    Sample("channels_last_one_channel", lambda x: x + 1, rand(2, 1, 6, 5, channels_last=True)),
    Sample("channels_last_one_pixel", lambda x: x + 1, rand(2, 3, 1, 1, channels_last=True)),
    Sample("zero_size", lambda x: F.relu(x) + 1, rand(0, 4)),
    Sample("size_from_other_input", lambda x, y: x[:, : y.shape[1]] * y, rand(BATCH, 20), rand(BATCH, LENGTH)),
]
