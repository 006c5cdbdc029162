# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of softmax and its logarithm."""

import math

import torch
import torch.nn.functional as F

from . import BATCH, LENGTH, Sample, integers, rand, values


def _softmax(axis):
    return lambda x: F.softmax(x, axis)


def _log_softmax(axis):
    return lambda x: F.log_softmax(x, axis)


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
    Sample("log_softmax", _log_softmax(-1), rand(4, 33)),
    Sample("log_softmax_middle_axis", _log_softmax(1), rand(3, 4, 5, 2)),
    Sample("log_softmax_rank0", _log_softmax(0), rand()),
    Sample("log_softmax_large_values", _log_softmax(-1), rand(4, 33, low=-300, high=300)),
    Sample("log_softmax_masked", _log_softmax(-1), values(0.5, -math.inf, 1, -math.inf)),
    Sample("log_softmax_all_masked", _log_softmax(-1), values(-math.inf, -math.inf)),
    Sample("log_softmax_far_below", _log_softmax(-1), values(0, -200, 1e4, math.nan)),
    Sample("log_softmax_first_axis", _log_softmax(0), rand(37, 19)),
    Sample("log_softmax_rank6", _log_softmax(-3), rand(2, 1, 2, 3, 2, 5)),
    Sample("log_softmax_wide", _log_softmax(-1), rand(2, 1031)),
    Sample("log_softmax_empty", _log_softmax(-1), rand(2, 0)),
    Sample("log_softmax_dynamic", _log_softmax(-1), rand(BATCH, 2, LENGTH)),
    Sample("log_softmax_image", _log_softmax(1), rand(BATCH, 5, 6, 7)),
    Sample("cross_entropy", F.cross_entropy, rand(4, 9), integers(4, low=0)),
    Sample("logsumexp", lambda x: torch.logsumexp(x, -1), rand(4, 33, low=-300, high=300)),
]
