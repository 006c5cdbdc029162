# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from float16_sums import Float16Sums  # noqa: E402


@pytest.mark.parametrize("bias", [True, False])
def test_linear_layers_lose_what_float16_cannot_hold(bias):
    layer, x = torch.nn.Linear(4096, 2, bias=bias).half().requires_grad_(False), torch.ones(3, 4096).half()
    layer.weight.fill_(1)
    if bias:
        layer.bias.fill_(8)
    with Float16Sums():
        assert (layer(x) == 2048 + 8 * bias).all()  # and 1 more is 2048 again
    assert (layer(x) == 4096 + 8 * bias).all()


@pytest.mark.parametrize(
    ("out", "kernel", "stride", "padding", "dilation", "groups"),
    [(8, 3, 1, 1, 1, 1), (12, 3, 2, 1, 1, 12), (6, (3, 5), (1, 2), (0, 2), 1, 3), (5, 3, 1, 2, 2, 1)],
)
def test_convolutions_of_small_integers_are_exact(out, kernel, stride, padding, dilation, groups):
    conv = torch.nn.Conv2d(12, out, kernel, stride, padding, dilation, groups).half().requires_grad_(False)
    torch.manual_seed(0)
    for weight in conv.parameters():
        weight.copy_(torch.randint(-2, 3, weight.shape))
    x = torch.randint(-3, 4, (2, 12, 9, 11)).half()
    with Float16Sums():
        actual = conv(x)
    assert torch.equal(actual, conv(x))
