# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions that kernels of ours take from XNNPACK, at sizes below those that they were chosen for."""

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from torch import nn

pytestmark = harness.needs_runtime

CONVOLUTIONS = {
    "transposed_phases": lambda: nn.ConvTranspose2d(8, 20, 4, 2, 1),
    "transposed_pixels": lambda: nn.ConvTranspose2d(8, 33, 2, 2),
    "transposed_gaps": lambda: nn.ConvTranspose2d(8, 16, 2, 3, output_padding=1, groups=1),
    "transposed_to_few_channels": lambda: nn.ConvTranspose2d(16, 3, 4, 2, 1),
    "transposed_gaps_to_one_channel": lambda: nn.ConvTranspose2d(16, 1, 2, 3, output_padding=1),
    "to_few_channels": lambda: nn.Conv2d(32, 3, 9, padding=4),
    "to_one_channel": lambda: nn.Conv2d(16, 1, 3, padding=1),
    "mostly_padding": lambda: nn.Conv2d(16, 24, 3, padding=9, dilation=9),
    "mostly_padding_with_stride": lambda: nn.Conv2d(16, 24, 3, stride=2, padding=8, dilation=8),
    "groups_of_4": lambda: nn.Conv2d(32, 32, 3, padding=1, groups=8),
    "groups_of_2_with_stride": lambda: nn.Conv2d(32, 32, 3, stride=2, padding=2, groups=16),
    "two_outputs_a_channel": lambda: nn.Conv2d(6, 12, 7, stride=2, padding=3, groups=6),
    "three_outputs_a_channel": lambda: nn.Conv2d(17, 51, 3, padding=1, groups=17),
}


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last], ids=["contiguous", "channels_last"])
@pytest.mark.parametrize("make", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
@torch.no_grad()
def test_sizes_below_the_bound(make, layout):
    torch.manual_seed(0)
    conv = make()
    model = nn.Sequential(conv, nn.ReLU6()).eval()
    dims = {
        axis: torch.export.Dim(name, min=least, max=bound)
        for axis, name, least, bound in ((0, "n", 1, 3), (2, "h", 3, 19), (3, "w", 3, 23))
    }
    example = torch.randn(3, conv.in_channels, 19, 23).to(memory_format=layout)
    lowered = harness.lower_exported(torch.export.export(model, (example,), dynamic_shapes=(dims,)))
    assert lowered.outside == [], str(lowered.report)
    for threads in (1, 0):
        with et_xnnpack.load_options(num_threads=threads):
            method = harness.load_method(lowered.buffer)
        for sizes in ((3, 19, 23), (1, 3, 3), (2, 5, 4), (1, 10, 7), (3, 19, 23)):
            x = torch.randn(sizes[0], conv.in_channels, *sizes[1:]).to(memory_format=layout)
            torch.testing.assert_close(method.execute((x,))[0], model(x), rtol=1e-4, atol=1e-5)
