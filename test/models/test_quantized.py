# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Whole quantized networks against PyTorch, which computes the same program operator by operator.

Each operator is within one step of its result (test/ops/test_quantized.py). A step up or down early in a
network moves what follows, which may add up to a second one.
"""

import functools

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.runtime import Runtime
from harness import needs_runtime
from quantized_models import mobile_net, quantize, res_net
from torch import nn

MODELS = {"mobile_net": mobile_net, "res_net": res_net}
FORMATS = (torch.contiguous_format, torch.channels_last)


def images(batch, seed, layout):
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(batch, 3, 40, 36, generator=generator) * 2 - 1
    return (x.contiguous(memory_format=layout),)


@functools.lru_cache
def lower(name, layout):
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.running_mean.uniform_(-0.1, 0.1)
            m.running_var.uniform_(0.5, 2)
    batch = ({0: torch.export.Dim("batch", min=1, max=20)},)
    calibration = [images(4, seed, layout) for seed in (1, 2)]
    return model, *quantize(model, images(2, 0, layout), dynamic_shapes=batch, more_inputs=calibration)


def decibels(signal, error):
    return 10 * torch.log10(signal.square().mean() / error.square().mean().clamp(min=1e-20)).item()


@needs_runtime
@pytest.mark.parametrize("layout", FORMATS, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_equals_the_program_operator_by_operator(name, layout):
    model, converted, lowered = lower(name, layout)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    assert lowered.report.float_fallbacks == []
    (graph,) = lowered.optimized.values()
    producer = graph.producers[graph.outputs[0].value]
    step = graph.values[producer.inputs[0]].quantization.scale.item()
    programs = [Runtime.get().load_program(lowered.buffer) for _ in range(2)]  # each keeps what it has loaded
    with et_xnnpack.load_options(num_threads=1):
        alone = programs[0].load_method("forward")
    methods = (programs[1].load_method("forward"), alone)
    for seed, batch in enumerate((2, 20, 1, 5)):
        inputs = images(batch, 10 + seed, layout)
        with torch.no_grad():
            expected, exact = converted(*inputs), model(*inputs)
        results = [method.execute(inputs)[0].clone() for method in methods]
        assert torch.equal(*results)  # whatever the number of threads
        steps = ((results[0] - expected) / step).round().abs()
        assert steps.max() <= 2 and (steps > 0).float().mean() <= 0.15
        assert decibels(exact, results[0] - exact) > decibels(exact, expected - exact) - 1 > 40
        assert torch.equal(results[0].argmax(1), expected.argmax(1))
