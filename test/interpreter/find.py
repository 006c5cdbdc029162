# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that find the size of their result in data."""

import torch
from samples.find import define_nms

define_nms()

OPERATORS = {
    "Nonzero": lambda a, x: torch.nonzero(x),
    "RepeatIndices": lambda a, repeats: torch.repeat_interleave(repeats).long(),
    "NonMaxSuppression": lambda a, boxes, scores: torch.ops.torchvision.nms(boxes, scores, a.threshold),
}
