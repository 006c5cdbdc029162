# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Linear layers that round each row of their input to 8 bits, with every number of rows that tiles leave over."""

import functools

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from harness import lower_exported
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerAxis, PerGroup, quantize_

MOST = 70  # rows: more than four tiles of the largest that XNNPACK has
WEIGHTS = {
    "int4 in groups": (torch.int4, PerGroup(32)),
    "int4 per channel": (torch.int4, PerAxis(0)),
    "int8 per channel": (torch.int8, PerAxis(0)),
}


@functools.lru_cache
def lower(name):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(256, 192)).eval()
    dtype, granularity = WEIGHTS[name]
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity)
    quantize_(model, config)
    rows = ({0: torch.export.Dim("rows", min=1, max=128)},)
    return model, lower_exported(torch.export.export(model, (torch.randn(3, 256),), dynamic_shapes=rows))


@harness.needs_runtime
@pytest.mark.parametrize("threads", (1, 0))  # 0: all there are
@pytest.mark.parametrize("name", WEIGHTS)
def test_each_row_is_what_it_is_alone(name, threads):
    model, lowered = lower(name)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    with et_xnnpack.load_options(num_threads=threads):
        method = harness.load_method(lowered.buffer)
    generator = torch.Generator().manual_seed(1)
    # No two rows have the same scale or zero point, and a wrong one shows.
    x = torch.randn(MOST, 256, generator=generator) + torch.randn(MOST, 1, generator=generator)
    x *= torch.logspace(-1, 1, MOST)[:, None]
    alone = torch.cat([method.execute((row[None],))[0].clone() for row in x])
    with torch.no_grad():
        expected = model(x)
    size = expected.abs().amax(dim=1, keepdim=True)
    assert ((alone - expected).abs() / size).max() < 0.03  # a step of 8 bits here and there
    for count in range(1, MOST + 1):
        for rows in (slice(count), slice(MOST - count, MOST)):
            actual = method.execute((x[rows],))[0]
            assert ((actual - alone[rows]).abs() / size[rows]).max() < 1e-5, f"{count} rows"
