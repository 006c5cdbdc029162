# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions and linear layers that give their output to elementwise operators a part at a time."""

import functools

import harness
import pytest
import torch
from blocks import Residual, conv
from cpu import HAS_BFLOAT16, MULTIPLIES_BFLOAT16_IN_VECTORS
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from torch import nn

pytestmark = harness.needs_runtime

LED = "row of a pass over the parts of the first result of this step."
# of images: batch, height and width
SIZES = ((2, 9, 12), (1, 1, 1), (1, 4, 4), (3, 7, 5), (1, 20, 24), (4, 3, 17), (0, 5, 6))


class Masked(nn.Module):
    """Operands of several shapes join the pass, and its result is read in two types."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(24, 33, 1)
        self.depthwise = nn.Conv2d(33, 33, 3, padding=1, groups=33)
        self.scale = nn.Parameter(torch.randn(1, 33, 1, 1))

    def forward(self, x):
        rows = x.mean((1, 3), keepdim=True)  # [N, 1, H, 1]
        pixels = x.mean(1, keepdim=True)  # [N, 1, H, W]
        y = (self.conv(x) * self.scale + rows) * pixels * 0.5
        z = self.depthwise(y) * rows
        return z, y, y.float() + 1


class Tokens(nn.Module):
    """Pixels as tokens, with attention."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 96)
        self.odd = nn.Linear(96, 45, bias=False)
        self.last = nn.Linear(45, 24)

    def forward(self, x):
        heads = nn.functional.gelu(self.first(x.flatten(2).mT)).unflatten(2, (6, 16)).transpose(1, 2)
        y = nn.functional.scaled_dot_product_attention(heads, heads, heads)
        y = self.odd(y.transpose(1, 2).flatten(2)) * 0.5
        return torch.relu(self.last(y) + x.flatten(2).mT)


conv6 = functools.partial(conv, act=nn.ReLU6)
NETS = {
    "pointwise": lambda: nn.Sequential(conv6(24, 40, 1), conv6(40, 17, 1), conv6(17, 32, 1)),
    "inverted": lambda: nn.Sequential(
        conv6(24, 32, 1),
        Residual(conv6(32, 96, 1), conv6(96, 96, 3, groups=96), conv(96, 32, 1, act=None)),
        conv6(32, 64, 1, bias=True),
        conv(64, 64, 5, 2, groups=64),
        conv6(64, 48, 1),
    ),
    "windows": lambda: nn.Sequential(conv6(24, 40, 3), conv6(40, 33, 3, 2), conv6(33, 16, 3, bias=True)),
    # 3 x 3 windows that some CPUs compute with fewer multiplications
    "same": lambda: nn.Sequential(
        conv6(24, 64, 3), Residual(conv6(64, 64, 3), conv(64, 64, 3, act=None)), conv6(64, 70, 3)
    ),
    "masked": Masked,
    "tokens": Tokens,
}


LEAST = {"inverted": 3, "windows": 3}  # height and width that torch.export takes where there is a stride


def sizes_of(name):
    return [size for size in SIZES if min(size[1:]) >= LEAST.get(name, 1)]


def images(batch, height, width):
    random = torch.Generator().manual_seed(batch + 7 * height)
    return (torch.randn(batch, 24, height, width, generator=random).bfloat16(),)


@functools.cache
def lower(name):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = NETS[name]().train()
        with torch.no_grad():  # gives batch norms something to do
            model(torch.randn(4, 24, 9, 8))
            model = model.eval().bfloat16()
    least = LEAST.get(name, 1)
    sizes = {0: torch.export.Dim("batch", max=4), 2: torch.export.Dim("height", min=least, max=20)}
    sizes[3] = torch.export.Dim("width", min=least, max=24)
    exported = torch.export.export(model, images(2, 9, 12), dynamic_shapes=(sizes,))
    edge = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner(require_full_delegation=True)])
    return model, edge, edge.to_executorch().buffer


def load(name, **options):
    with et_xnnpack.load_options(**options):
        return harness.load_method(lower(name)[2])


@pytest.mark.parametrize("threads", (0, 1))
@pytest.mark.parametrize("name", NETS)
def test_has_the_bits_of_separate_passes(name, threads):
    led, alone = load(name, num_threads=threads), load(name, num_threads=threads, fuse_elementwise=False)
    for size in sizes_of(name):
        inputs = images(*size)
        for actual, expected in zip(led.execute(inputs), alone.execute(inputs), strict=True):
            assert actual.dtype == expected.dtype and torch.equal(actual, expected), size


@pytest.mark.parametrize("name", NETS)
def test_equals_eager(name):
    method, model = load(name), lower(name)[0]
    for size in sizes_of(name)[:-1]:
        inputs = images(*size)
        with torch.no_grad():
            expected = model(*inputs)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for actual, wanted in zip(method.execute(inputs), expected, strict=True):
            largest = wanted.abs().max().item()
            torch.testing.assert_close(actual, wanted, rtol=0.02, atol=0.02 * largest)


def plan_of(name):
    return et_xnnpack.inspect(harness.only_delegate(lower(name)[1]).processed_bytes)


@pytest.mark.parametrize("name", ("inverted", "masked"))
def test_convolutions_lead_the_operators_that_read_them(name):
    assert LED in plan_of(name)


@pytest.mark.skipif(not MULTIPLIES_BFLOAT16_IN_VECTORS, reason="for CPUs with AVX512-BF16, without AMX")
def test_convolutions_with_fewer_multiplications_lead_too():
    text = plan_of("same")
    assert "take fewer multiplications" in text and LED in text


@pytest.mark.skipif(not HAS_BFLOAT16, reason="the CPU has no products of bfloat16")
def test_all_products_between_bfloat16_are_of_bfloat16():
    lines = [line for line in plan_of("tokens").splitlines() if " Linear: " in line]
    assert len(lines) == 3 and all(" Linear: kernel in BFloat16." in line for line in lines)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_depthwise_convolutions_read_16_bits(dtype, tmp_path):
    """There is no pass that widens the image; results are those of eager PyTorch."""
    torch.manual_seed(0)
    model = nn.Conv2d(21, 21, 3, padding=1, stride=2, groups=21).eval().to(dtype)
    height, width = torch.export.Dim("h", min=3, max=19), torch.export.Dim("w", min=3, max=40)
    exported = torch.export.export(
        model, (torch.rand(2, 21, 19, 40).to(dtype),), dynamic_shapes=({2: height, 3: width},)
    )
    edge = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner(require_full_delegation=True)])
    plan = et_xnnpack.inspect(harness.only_delegate(edge).processed_bytes).partition("plan for this CPU")[2]
    assert plan.count(" Conv2d: kernel.") == 1 and plan.count(" Cast: ") == 1
    path = tmp_path / "model.pte"
    path.write_bytes(edge.to_executorch().buffer)
    method = Runtime.get().load_program(path).load_method("forward")
    for size in ((19, 40), (7, 3), (3, 13), (18, 27)):
        x = torch.randn(2, 21, *size).to(dtype)
        with torch.no_grad():
            expected = model(x)
        torch.testing.assert_close(method.execute((x,))[0], expected, rtol=0.02, atol=0.01)
