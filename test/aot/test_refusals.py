# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is not delegated, each with the reason that the user reads."""

import harness
import pytest
import torch
import torch.nn.functional as F
from samples import Argument, Sample, new, rand
from torch import nn


class UpdatedWeight(nn.Module):
    """A convolution whose weight changes in every call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.rand(4, 3, 1, 1))

    def forward(self, x):
        self.weight.mul_(0.5)
        return F.conv2d(x, self.weight)


def of_type(dtype, *shape):
    return Argument(shape, lambda s, g: torch.rand(s, generator=g, dtype=dtype))

REFUSALS = [
    (Sample("no_row", lambda x: torch.cumsum(x, 1), rand(3, 4)), "aten.cumsum.default", "no row for this operator"),
    (Sample("half", lambda x: x + x, of_type(torch.float16, 3)), "aten.add.Tensor", "dtype float16"),
    (Sample("double", lambda x: x + x, of_type(torch.float64, 3)), "aten.add.Tensor", "dtype float64"),
    (Sample("conv3d", new(nn.Conv3d, 2, 3, 3), rand(1, 2, 5, 5, 5)), "aten.convolution.default", "a 3-D convolution"),
    (
        Sample("conv_runtime_weight", F.conv2d, rand(1, 3, 5, 5), rand(4, 3, 3, 3)),
        "aten.convolution.default",
        "a weight that is not a constant",
    ),
    (
        Sample("conv_updated_weight", new(UpdatedWeight), rand(1, 3, 5, 5)),
        "aten.convolution.default",
        "a weight that is not a constant",
    ),
    (
        Sample("max_pool_indices", lambda x: F.max_pool2d(x, 2, return_indices=True), rand(1, 2, 4, 4)),
        "aten.max_pool2d_with_indices.default",
        "the indices of a max pool",
    ),
]


@pytest.mark.parametrize("sample, target, reason", REFUSALS, ids=[r[0].name for r in REFUSALS])
def test_reason(sample, target, reason):
    report = harness.lower_sample(sample).report
    assert (target, reason) in {(r.target, r.reason) for r in report.refusals}, str(report)
