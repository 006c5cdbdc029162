# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What the pipeline leaves of whole networks in plain ``torch.nn``, and that it computes the same."""

import collections

import harness
import pytest
import samples
import torch
import torch.nn.functional as F
from blocks import Residual, conv
from torch import nn


class MobileNetV2(nn.Module):
    def __init__(self):
        super().__init__()

        def inverted(i, o, stride):
            return (
                conv(i, 2 * i, 1, act=nn.ReLU6),
                conv(2 * i, 2 * i, 3, stride, 2 * i, nn.ReLU6),
                conv(2 * i, o, 1, act=None),
            )

        self.features = nn.Sequential(
            conv(3, 8, 3, 2, act=nn.ReLU6),
            Residual(*inverted(8, 8, 1)),
            *inverted(8, 12, 2),
            Residual(*inverted(12, 12, 1)),
        )
        self.head = nn.Sequential(nn.Dropout(), nn.Linear(12, 5))

    def forward(self, x):
        return self.head(self.features(x).mean([2, 3]))


class SqueezeExcite(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.squeeze = nn.Conv2d(channels, 4, 1)
        self.excite = nn.Conv2d(4, channels, 1)

    def forward(self, x):
        s = F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        return x * F.hardsigmoid(self.excite(s))


class MobileNetV3(nn.Module):
    def __init__(self):
        super().__init__()

        def block(c):
            return Residual(
                conv(c, 2 * c, 1, act=nn.Hardswish),
                conv(2 * c, 2 * c, 5, 1, 2 * c, nn.Hardswish),
                SqueezeExcite(2 * c),
                conv(2 * c, c, 1, act=None),
            )

        self.features = nn.Sequential(conv(3, 8, 3, 2, act=nn.Hardswish), block(8), block(8))
        self.head = nn.Sequential(nn.Linear(8, 16), nn.Hardswish(), nn.Linear(16, 5))

    def forward(self, x):
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.features(x), 1), 1))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.block = Residual(conv(8, 8), conv(8, 8, act=None))
        self.down = conv(8, 12, 1, 2, act=None)
        self.main = nn.Sequential(conv(8, 12, 3, 2), conv(12, 12, act=None))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(12, 5)

    def forward(self, x):
        x = F.relu(self.block(self.stem(x)))
        x = F.relu(self.main(x) + self.down(x))
        return self.fc(self.pool(x).flatten(1))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = conv(3, 8), conv(8, 12)
        self.up = nn.ConvTranspose2d(12, 8, 2, 2)
        self.join, self.out = conv(16, 8), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        one = self.one(x)
        two = self.two(F.max_pool2d(one, 2))
        up = F.pad(self.up(two), (1, 0, 1, 0))[:, :, 1:, 1:]
        return self.out(self.join(torch.cat([one, up], 1)))


class ConvNeXt(nn.Module):
    """Its blocks permute to channels last by themselves; its downsampling normalizes channels first."""

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.depthwise = nn.Conv2d(c, c, 7, padding=3, groups=c)
            self.norm = nn.LayerNorm(c, 1e-6)
            self.up, self.down = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
            self.scale = nn.Parameter(torch.full((c,), 0.5))

        def forward(self, x):
            y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
            y = self.scale * self.down(F.gelu(self.up(y)))
            return x + y.permute(0, 3, 1, 2)

    class ChannelsFirstNorm(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.rand(c)), nn.Parameter(torch.rand(c))

        def forward(self, x):
            mean = x.mean(1, keepdim=True)
            square = (x - mean).pow(2).mean(1, keepdim=True)
            x = (x - mean) / torch.sqrt(square + 1e-6)
            return self.weight[:, None, None] * x + self.bias[:, None, None]

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 4, 4),
            self.ChannelsFirstNorm(8),
            self.Block(8),
            self.ChannelsFirstNorm(8),
            nn.Conv2d(8, 12, 2, 2),
            self.Block(12),
            self.Block(12),
        )
        self.norm, self.head = nn.LayerNorm(12), nn.Linear(12, 5)

    def forward(self, x):
        return self.head(self.norm(self.body(x).mean([-2, -1])))


class SegFormer(nn.Module):
    """Tokens and images in turn: flatten(2).transpose(1, 2) and back."""

    def __init__(self, c=8):
        super().__init__()
        self.embed = nn.Conv2d(3, c, 7, 4, 3)
        self.norm, self.up, self.down = nn.LayerNorm(c), nn.Linear(c, 2 * c), nn.Linear(2 * c, c)
        self.depthwise = nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c)
        self.out = nn.Conv2d(c, 2, 1)

    def forward(self, x):
        x = self.embed(x)
        n, c, h, w = x.shape
        tokens = x.flatten(2).transpose(1, 2)
        y = self.up(self.norm(tokens))
        y = self.depthwise(y.transpose(1, 2).view(n, 2 * c, h, w)).flatten(2).transpose(1, 2)
        tokens = tokens + self.down(F.gelu(y))
        return self.out(tokens.transpose(1, 2).reshape(n, c, h, w))


class Attention(nn.Module):
    """As written out before scaled_dot_product_attention existed."""

    def __init__(self, c=16, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)

    def forward(self, x, mask):
        n, s, c = x.shape
        qkv = self.qkv(x).reshape(n, s, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        scores = q @ k.transpose(-2, -1) / (c // self.heads) ** 0.5 + mask
        y = scores.softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(n, s, c))


class PixelShuffle(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = conv(3, 16), conv(4, 3)

    def forward(self, x):
        return self.two(F.pixel_shuffle(self.one(x), 2))


class Conv1d(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.norm, self.two = nn.Conv1d(4, 8, 3, 2), nn.BatchNorm1d(8), nn.Conv1d(8, 8, 5, 1, 2)

    def forward(self, x):
        y = F.relu(self.norm(self.one(x)))
        return (y + self.two(F.pad(y, (1, 0))[..., :-1])).mean(-1)


IMAGE = (2, 3, 32, 32)
BATCH = torch.export.Dim("n", min=1, max=8)


def prepared(module):
    torch.manual_seed(0)
    for m in module.modules():
        if isinstance(m, (nn.BatchNorm1d, nn.BatchNorm2d)):
            m.running_mean.normal_()
            m.running_var.uniform_(0.5, 2)
    return module.eval()


def optimized(module, *inputs, dynamic=None):
    """The one optimized graph of the module, after comparing it with eager PyTorch."""
    module = prepared(module)
    lowered = harness.lower_exported(torch.export.export(module, inputs, dynamic_shapes=dynamic))
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    with torch.no_grad():
        expected = samples.flat(module(*inputs))
    actual = harness.interpret(lowered, inputs, lowered.optimized)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    (graph,) = lowered.optimized.values()
    return graph


def count(graph):
    return collections.Counter(node.op for node in graph.nodes)


# The operators that remain, of a contiguous image and of a channels_last one.
NETWORKS = {
    MobileNetV2: {"Conv2d": 10, "Binary": 2, "Reduce": 1, "Linear": 1},
    MobileNetV3: None,
    ResNet: {"Conv2d": 6, "MaxPool2d": 1, "Binary": 2, "Linear": 1},
    UNet: None,
    ConvNeXt: None,
    SegFormer: None,
}
OUTPUT_IS_IMAGE = (UNet, SegFormer)


@pytest.mark.sampled
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_images(network, dynamic):
    shapes = ({0: BATCH},) if dynamic else None
    ops = count(optimized(network(), torch.randn(IMAGE), dynamic=shapes))
    assert ops.pop("Transpose") == 1 + (network in OUTPUT_IS_IMAGE), ops
    for op, number in (NETWORKS[network] or {}).items():
        assert ops[op] == number, ops


@pytest.mark.parametrize("network", [MobileNetV3, ResNet])
def test_images_of_any_size(network):
    size = torch.export.Dim("size", min=2, max=8)
    ops = count(optimized(network(), torch.randn(IMAGE), dynamic=({2: 8 * size, 3: 8 * size},)))
    assert ops["Transpose"] == 1, ops


@pytest.mark.sampled
@pytest.mark.parametrize("network", NETWORKS)
def test_channels_last_images(network):
    image = torch.randn(IMAGE).to(memory_format=torch.channels_last)
    ops = count(optimized(network().to(memory_format=torch.channels_last), image))
    assert ops["Transpose"] == 0, ops


def test_norms_of_channels_are_recognised():
    ops = count(optimized(ConvNeXt(), torch.randn(IMAGE)))
    assert ops["LayerNorm"] == 6, ops
    assert ops["Reduce"] == 1, ops


def test_pixel_shuffle_is_one_move():
    ops = count(optimized(PixelShuffle(), torch.randn(IMAGE)))
    assert ops["Transpose"] == 3, ops  # one is the shuffle


def test_conv1d():
    ops = count(optimized(Conv1d(), torch.randn(2, 4, 20)))
    assert ops["Transpose"] == 1, ops
    assert ops["Binary"] == 1, ops


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_attention_is_recognised(dynamic):
    s = torch.export.Dim("s", min=2, max=32)
    inputs = torch.randn(1, 6, 16), torch.randn(1, 1, 6, 6)
    graph = optimized(Attention(), *inputs, dynamic=({1: s}, {2: s, 3: s}) if dynamic else None)
    ops = count(graph)
    assert ops["Attention"] == 1 and ops["BatchMatMul"] == ops["Softmax"] == ops["Binary"] == 0, ops
