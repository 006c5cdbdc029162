# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of softmax."""

import math

import torch
import torch.nn.functional as F

from . import BATCH, LENGTH, Sample, rand, values


def _softmax(axis):
    return lambda x: F.softmax(x, axis)


SAMPLES = [
    Sample("softmax", _softmax(-1), rand(3, 4, 5)),
    Sample("softmax_first_axis", _softmax(0), rand(3, 4, 5)),
    Sample("softmax_middle_axis", _softmax(1), rand(3, 4, 5, 2)),
    Sample("softmax_rank0", _softmax(0), rand()),
    Sample("softmax_rank1", _softmax(0), rand(7)),
    Sample("softmax_rank6", _softmax(-1), rand(2, 1, 2, 3, 2, 5)),
    Sample("softmax_large_values", _softmax(-1), rand(4, 33, low=-300, high=300)),
    Sample("softmax_masked", _softmax(-1), values(0.5, -math.inf, 1, -math.inf)),
    Sample("softmax_all_masked", _softmax(-1), values(-math.inf, -math.inf)),
    Sample("softmax_wide", _softmax(-1), rand(2, 1031)),
    Sample("softmax_dynamic", _softmax(-1), rand(BATCH, 2, LENGTH)),
    Sample("softmax_dynamic_first", _softmax(0), rand(LENGTH, BATCH)),
    Sample("softmax_of_sum", lambda x, m: torch.softmax(x + m, -1), rand(2, 2, 4, 5), rand(4, 5)),
]
