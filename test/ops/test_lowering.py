# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Every sample becomes one delegate call whose graph computes what eager PyTorch does."""

import harness
import pytest
import torch
from samples import all_samples

SAMPLES = {s.name: s for s in all_samples()}


@pytest.fixture(params=SAMPLES, scope="module")  # all tests of one sample in a row
def sample(request):
    return SAMPLES[request.param]


def test_is_one_delegate_call(sample):
    lowered = harness.lower_sample(sample)
    assert lowered.outside == [], str(lowered.report)
    assert len(lowered.delegates) == 1, str(lowered.report)


def test_graph_equals_eager(sample):
    lowered = harness.lower_sample(sample)
    for inputs in sample.calls():
        with torch.no_grad():
            expected = harness.flat(sample.module(*inputs))
        for stage in ("graphs", "optimized"):
            actual = harness.interpret(lowered, inputs, getattr(lowered, stage))
            harness.assert_equal(actual, expected, sample)


def test_becomes_an_executorch_program(sample):
    assert harness.lower_sample(sample).manager.to_executorch().buffer
