# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is not delegated, each with the reason that the user reads."""

import math

import harness
import pytest
import torch
import torch.nn.functional as F
from samples import ANY_OPERATOR, HEIGHT, Argument, Sample, bools, integers, rand
from samples.find import define_nms

define_nms()


def of_type(dtype, *shape):
    return Argument(shape, lambda s, g: torch.rand(s, generator=g, dtype=dtype))


REFUSALS = [
    (
        Sample("no_row", lambda x: torch.linalg.inv_ex(x)[0], rand(3, 3), config=ANY_OPERATOR),
        "aten.linalg_inv_ex.default",
        "et_xnnpack does not support this operator",
    ),
    (
        Sample("run_time_size", lambda b, s: torch.ops.torchvision.nms(b, s, 0.5), rand(3, 4), rand(3)),
        "torchvision.nms.default",
        "how large a result is is known at run time only, and without a bound ExecuTorch cannot hold it; "
        "torch._check(size <= bound) says one",
    ),
    (
        Sample("pooled_volume", torch.nn.AdaptiveAvgPool3d((None, 2, 2)), rand(1, 2, HEIGHT, 4, 4)),
        "aten._adaptive_avg_pool3d.default",
        "the output size of a volume must not depend on an input size",
    ),
    (
        Sample("mask_and_index", lambda x, m, i: x[m, i].sum(), rand(3, 4), bools(3), integers(1, low=0, high=4)),
        "aten.index.Tensor",
        "a mask cannot be combined with other indices",
    ),
    (
        Sample("shift", lambda x: x << 31, integers(3, dtype=torch.int32), config=ANY_OPERATOR),
        "aten.__lshift__.Scalar",
        "Int32 cannot be shifted by 31 bits",
    ),
    (
        Sample("complex", torch.asin, of_type(torch.complex64, 3), config=ANY_OPERATOR),
        "aten.asin.default",
        "et_xnnpack has no rule for this operator on complex numbers",
    ),
    (
        Sample("double", lambda x: F.avg_pool2d(x, 2), of_type(torch.float64, 1, 2, 4, 4)),
        "aten.avg_pool2d.default",
        "it does not take operands of type Float64",
    ),
]


@pytest.mark.parametrize("sample, target, reason", REFUSALS, ids=[r[0].name for r in REFUSALS])
def test_reason(sample, target, reason):
    report = harness.lower_sample(sample).report
    assert (target, reason) in {(r.target, r.reason) for r in report.refusals}, str(report)


ATTENTION = [
    Sample("large_mask", lambda q, m: F.scaled_dot_product_attention(q, q, q, m), rand(1, 4, 5, 8), rand(3, 1, 5, 5)),
    Sample("large_scale", lambda q: F.scaled_dot_product_attention(q, q, q, scale=1e39), rand(1, 4, 8)),
]


@pytest.mark.parametrize("sample", ATTENTION, ids=lambda sample: sample.name)
def test_attention_that_is_not_taken_whole_is_decomposed(sample):
    """A program asks for it all the same, and the operators that it is made of are taken."""
    (delegated,) = harness.lower_sample(sample).report.delegated
    assert "aten.scaled_dot_product_attention.default" not in delegated
    assert "aten.bmm.default" in delegated


def test_a_size_that_is_rounded_while_it_may_be_negative():
    """Sizes are rounded down in the delegate, -3.5 would become -4."""
    sample = Sample("rounded", lambda x: x.new_ones(math.trunc((x.shape[0] - 20) * 0.5) + 20), rand(HEIGHT, 4))
    (refusal,) = harness.lower_sample(sample).report.refusals
    assert refusal.target == "aten.full.default"
    assert "TruncToInt" in refusal.reason and "cannot be computed in the delegate" in refusal.reason
