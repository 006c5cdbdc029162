# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of operators whose results have sizes that are found in data."""

import torch
from torch import nn

from . import BATCH, LENGTH, Argument, Sample, bools, integers, new, rand


def at_most(x, bound: int):
    """Says how many there may be, without which ExecuTorch has no memory for them."""
    torch._check(x.shape[0] <= bound)
    return x


def _nms(boxes, scores, threshold):
    """What torchvision calls by this name, in plain PyTorch."""
    order = scores.sort(stable=True, descending=True)[1].tolist()
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept = []
    for i in order:
        low = torch.maximum(boxes[kept, :2], boxes[i, :2])
        size = (torch.minimum(boxes[kept, 2:], boxes[i, 2:]) - low).clamp(min=0)
        both = size[:, 0] * size[:, 1]
        if not (both / (area[kept] + area[i] - both) > threshold).any():
            kept.append(i)
    return torch.tensor(kept, dtype=torch.int64)


def define_nms() -> None:
    """Lets programs call ``torchvision::nms`` where torchvision is not installed."""
    if hasattr(torch.ops.torchvision, "nms"):
        return
    torch.library.define("torchvision::nms", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    torch.library.impl("torchvision::nms", "CPU", _nms)

    def fake(boxes, scores, threshold):
        size = torch.library.get_ctx().new_dynamic_size()
        return boxes.new_empty((size,), dtype=torch.int64)

    torch.library.register_fake("torchvision::nms", fake)


define_nms()


def _corners(*shape):
    """Boxes that overlap here and there."""

    def fill(shape, generator):
        low, size = torch.rand(*shape[:-1], 2, generator=generator), torch.rand(*shape[:-1], 2, generator=generator)
        return torch.cat([low, low + size / 2], -1)

    return Argument(shape, fill)


def _suppress(boxes, scores):
    return at_most(torch.ops.torchvision.nms(boxes, scores, 0.3), 17)


def _counted(x):
    x = x[x > 0]
    n = at_most(x, 12).shape[0]
    return x * torch.arange(n), torch.ones(n, 2)


def _two(x, y):
    x, y = at_most(x[x > 0], 12), at_most(torch.nonzero(y), 10)
    return x * 2, y[:, 0].float() @ torch.ones(y.shape[0]), (x[:, None] - y[:, 1].float()).sum()


def _changed_where(x, rows, numbers):
    """As adapters of languages and experts write what they make of the tokens that a mask picks."""
    y = x.clone()
    y[rows] = x[rows].softmax(-1)
    y[numbers] = y[numbers] * 2
    return y


def _changed_inside(x, mask):
    return torch.ops.aten.index_put(x, [None, mask], x[:, mask] * 2), x.index_put((x > 2,), x[x > 2] + 1, True)


def _stacked(x):
    """Where nothing is found a product of nothing, and a sum."""
    x = at_most(x[x[:, 0] > 0], 17)
    return x.t() @ x, torch.cat([x, torch.ones(2, 4)]), x.sum(0)


def _unique_all(x):
    found, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return at_most(found, 17), inverse, counts


class Detector(nn.Module):
    """A head on a feature map whose boxes above a score end in non-maximum suppression."""

    def __init__(self):
        super().__init__()
        self.features = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.boxes = nn.Conv2d(8, 4, 1)
        self.scores = nn.Conv2d(8, 1, 1)

    def forward(self, image):
        x = self.features(image).relu()
        boxes = self.boxes(x).flatten(2)[0].t()
        low, size = boxes[:, :2], boxes[:, 2:].exp()
        boxes = torch.cat([low - size / 2, low + size / 2], 1)
        scores = self.scores(x).flatten().sigmoid()
        likely = scores > 0.5
        boxes, scores = boxes[likely], scores[likely]
        kept = torch.ops.torchvision.nms(boxes, scores, 0.2)
        torch._check(kept.shape[0] <= 20)
        return boxes[kept], scores[kept]


class Counter(nn.Module):
    """Keeps how often each place was picked."""

    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(6))

    def forward(self, x):
        places = at_most(torch.nonzero(x > 0), 6)[:, 0]
        self.count.index_add_(0, places, torch.ones(places.shape[0]))
        return self.count * 1, places


SAMPLES = [
    Sample("nonzero", lambda x: at_most(torch.nonzero(x > 0), 12), rand(3, 4)),
    Sample("nonzero_integers", lambda x: at_most(torch.nonzero(x), 7), integers(7, low=-1, high=2)),
    Sample("nonzero_none", lambda x: at_most(torch.nonzero(x), 7), bools(7, true=0)),
    Sample("nonzero_inside", lambda x: torch.nonzero(x > 0).sum(0), rand(BATCH, LENGTH)),
    Sample("masked_select", lambda x, m: at_most(torch.masked_select(x, m), 17), rand(LENGTH), bools(LENGTH)),
    Sample("masked_select_broadcast", lambda x, m: at_most(x.masked_select(m), 12) * 2, rand(3, 4), bools(4)),
    Sample("mask_rows", lambda x, m: at_most(x[m], 17) @ torch.ones(4, 3), rand(LENGTH, 4), bools(LENGTH)),
    Sample("mask_middle", lambda x, m: x[:, m].sum(1), rand(2, 5, 3), bools(5)),
    Sample("put_where_picked", _changed_where, rand(LENGTH, 4), bools(LENGTH), bools(LENGTH, 4)),
    Sample("put_where_picked_inside", _changed_inside, integers(3, LENGTH), bools(LENGTH)),
    Sample("mask_of_two_axes", lambda x, m: at_most(x[m], 15), integers(3, 5, 2), bools(3, 5)),
    Sample("mask_dynamic", _stacked, rand(LENGTH, 4)),
    Sample("mask_and_sizes", _counted, rand(3, 4)),
    Sample("mask_and_nonzero", _two, rand(3, 4), integers(2, 5, low=0, high=2)),
    Sample("repeat_interleave_tensor", lambda r: at_most(torch.repeat_interleave(r), 9), integers(3, low=0, high=4)),
    Sample(
        "repeat_interleave_rows",
        lambda x, r: at_most(x.repeat_interleave(r, 0), 60) + 1,
        rand(LENGTH, 3),
        integers(LENGTH, low=0, high=4, dtype=torch.int32),
    ),
    Sample(
        "repeat_interleave_known",
        lambda x, r: x.repeat_interleave(r * 0 + 2, 1, output_size=8),
        rand(2, 4),
        integers(4),
    ),
    Sample("unique", lambda x: at_most(torch.unique(x), 12), integers(3, 4, low=0, high=6)),
    Sample("unique_all", _unique_all, integers(3, 4, low=0, high=6)),
    Sample("unique_all_dynamic", lambda x: _unique_all(x.round()), rand(LENGTH)),
    Sample(
        "unique_consecutive",
        lambda x: at_most(torch.unique_consecutive(x), 17) * 2,
        integers(LENGTH, low=0, high=3),
    ),
    Sample("nms", _suppress, _corners(LENGTH, 4), rand(LENGTH)),
    Sample("nms_float64", lambda b, s: _suppress(b.double(), s.double()), _corners(17, 4), rand(17)),
    Sample("detector", new(Detector), rand(1, 3, 16, 16)),
    Sample("state_of_found", new(Counter), rand(6)),
]
