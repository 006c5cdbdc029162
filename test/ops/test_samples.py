# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Every sample becomes one delegate call that computes what eager PyTorch does."""

import harness
import pytest
from executorch.backends import et_xnnpack
from samples import all_samples

SAMPLES = {s.name: s for s in all_samples()}
FIRST = set({name.split("_")[0]: name for name in reversed(SAMPLES)}.values())  # of each kind, such as ``conv2d``


def _param(name):
    return pytest.param(name, marks=() if name in FIRST else pytest.mark.sampled(case=name, of=6))


@pytest.fixture(params=map(_param, SAMPLES), scope="module")  # all tests of one sample in a row
def sample(request):
    return SAMPLES[request.param]


@pytest.fixture(params=(0, 1), ids=("all_threads", "one_thread"))
def num_threads(request):
    et_xnnpack.set_option("num_threads", request.param)
    yield request.param
    et_xnnpack.set_option("num_threads", 0)


def test_is_one_delegate_call(sample):
    lowered = harness.lower_sample(sample)
    assert lowered.outside == [], str(lowered.report)
    assert len(lowered.delegates) == 1, str(lowered.report)


def test_graph_equals_eager(sample):
    lowered = harness.lower_sample(sample)
    eager = sample.eager()
    stages = (lowered.graphs, {}), (lowered.optimized, {})
    for inputs in sample.calls():
        expected = eager(inputs)
        for graphs, states in stages:
            harness.assert_equal(harness.interpret(lowered, inputs, graphs, states), expected, sample)


@harness.needs_runtime
def test_blob_verifies(sample):
    for module in harness.lower_sample(sample).delegates.values():
        et_xnnpack.verify(module.processed_bytes)
        assert et_xnnpack.inspect(module.processed_bytes)


@harness.needs_runtime
def test_runtime_equals_eager(sample, num_threads):
    method = harness.load_method(harness.lower_sample(sample).buffer)
    eager = sample.eager()
    for inputs in sample.calls():
        harness.assert_equal(method.execute(inputs), eager(inputs), sample)
