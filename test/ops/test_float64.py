# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Every sample also runs in float64: it gives what eager PyTorch does, and what stays outside says why."""

import fnmatch
import itertools

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends import et_xnnpack
from samples import ANY_OPERATOR, Sample, all_samples, in_dtype, rand
from samples.float64 import doubles

#: Operators without a kernel of float64. They stay outside.
FLOAT32_ONLY = ("*conv*", "*pool*", "*upsample*", "*grid_sampl*", "*histc*", "et_xnnpack.*")
NO_KERNEL = "it does not take operands of type Float64"
#: In the names of samples: integers and their scales, and what computes cosines or a scale in float32 in eager PyTorch,
#: too, or in what ExecuTorch makes of it.
LEFT_OUT = (
    "linear_",
    "quantize",
    "choose",
    "attention_cached",
    "embedding_bag",
    "lstm",
    "gru",
    "rnn",
    "rotary",
    "trilinear",
)


def _samples():
    for sample in all_samples():
        if not sample.name.startswith("float64") and not any(name in sample.name for name in LEFT_OUT):
            wide = in_dtype(sample, torch.float64)
            if wide is not None:
                yield pytest.param(wide, id=sample.name)


def _run(lowered):
    if et_xnnpack.is_available():
        return harness.load_method(lowered.buffer).execute
    return lambda inputs: harness.interpret(lowered, inputs, lowered.optimized, {})


@pytest.mark.sampled(of=8)
@pytest.mark.parametrize("sample", _samples())
def test_equals_eager(sample):
    lowered = harness.lower_sample(sample)
    without_kernel = [r.target for r in lowered.report.refusals if r.reason == NO_KERNEL]
    if without_kernel:
        for target in without_kernel:
            name = target.removeprefix("aten.")
            assert any(fnmatch.fnmatch(name, pattern) for pattern in FLOAT32_ONLY), str(lowered.report)
        return
    assert lowered.outside == [], str(lowered.report)
    assert len(lowered.delegates) == 1, str(lowered.report)
    run, eager = _run(lowered), sample.eager()
    for inputs in itertools.islice(sample.calls(), 3):
        harness.assert_equal(run(inputs), eager(inputs), sample)


def _refusals(program, *arguments):
    sample = Sample("refused", program, *arguments, config=ANY_OPERATOR)
    return {(r.target, r.reason) for r in harness.lower_sample(sample).report.refusals}


def test_says_what_computes_in_float32_only():
    weight = torch.ones(2, 3, 3, 3, dtype=torch.float64)
    assert _refusals(lambda x: F.conv2d(x, weight), doubles(1, 3, 5, 5)) == {
        ("aten.convolution.default", "it does not take operands of type Float64")
    }
    assert _refusals(lambda x: F.avg_pool2d(x, 2), doubles(1, 3, 4, 4)) == {
        ("aten.avg_pool2d.default", "it does not take operands of type Float64")
    }


def test_numbers_keep_their_digits():
    """ExecuTorch makes tensors of float32 of them."""
    sample = Sample("numbers", lambda x: (x * 0.1 + 1e300, 0.3 - x, x > 0.1), doubles(7), config=ANY_OPERATOR)
    lowered = harness.lower_sample(sample)
    for inputs in sample.calls():
        for actual, expected in zip(_run(lowered)(inputs), sample.expected(inputs), strict=True):
            assert torch.equal(actual, expected)


def test_constants_are_folded_as_eager_computes_them():
    def program(x):
        frequencies = 1.0 / 10000 ** (torch.arange(0, 8, 2, dtype=torch.float64) / 8)
        return x.double() * frequencies

    sample = Sample("folded", program, rand(3, 4), config=ANY_OPERATOR)
    lowered = harness.lower_sample(sample)
    (graph,) = lowered.optimized.values()
    assert sorted(node.op for node in graph.nodes) == ["Binary", "Cast"]
    for inputs in sample.calls():
        assert torch.equal(_run(lowered)(inputs)[0], sample.expected(inputs)[0])


def test_zeros_keep_the_sign_that_they_have_in_eager():
    def program(x):
        return x.relu(), x.clamp(min=0.0), x.clamp(max=0.0), x.clamp(0.0, 1.0)

    zeros = torch.tensor([0.0, -0.0] * 10, dtype=torch.float64)
    sample = Sample("zeros", program, doubles(20), config=ANY_OPERATOR)
    for actual, expected in zip(_run(harness.lower_sample(sample))([zeros]), program(zeros), strict=True):
        assert torch.equal(actual, expected) and torch.equal(actual.signbit(), expected.signbit())
