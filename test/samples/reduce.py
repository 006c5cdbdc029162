# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of reductions."""

import torch

from . import BATCH, HEIGHT, LENGTH, Sample, rand

SAMPLES = [
    Sample("mean", lambda x: x.mean(-1), rand(3, 4, 5)),
    Sample("mean_keepdim", lambda x: x.mean(1, keepdim=True), rand(3, 4, 5)),
    Sample("mean_two_axes", lambda x: x.mean((0, 2)), rand(3, 4, 5)),
    Sample("mean_images", lambda x: x.mean((2, 3)), rand(BATCH, 4, 5, 6)),
    Sample("mean_dynamic", lambda x: x.mean(1), rand(BATCH, LENGTH, 5)),
    Sample("mean_all", torch.mean, rand(3, 4, 5)),
    Sample("mean_rank0", torch.mean, rand()),
    Sample("sum", lambda x: x.sum(0), rand(3, 4, 5)),
    Sample("sum_negative_axes", lambda x: x.sum((-1, -3), keepdim=True), rand(3, 4, 5)),
    Sample("sum_all", torch.sum, rand(3, 4, 5)),
    Sample("sum_no_axes", lambda x: x.sum(()), rand(3, 4, 5)),
    Sample("sum_rank6", lambda x: x.sum((1, 4)), rand(2, 3, 2, 2, 3, 2)),
    Sample("sum_empty", lambda x: x.sum(0), rand(0, 5)),
    Sample("sum_one_element", lambda x: x.sum(1), rand(5, 1)),
    Sample("sum_dynamic_all", torch.sum, rand(BATCH, HEIGHT, LENGTH), rtol=1e-4, atol=1e-4),
]
