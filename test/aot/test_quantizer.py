# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``EtXnnpackQuantizer``: between the first integers and the last nothing computes with floats."""

import collections

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.aot import ops
from executorch.backends.et_xnnpack.aot.quantizer import EtXnnpackQuantizer
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config
from quantized_models import mobile_net, quantize, res_net
from torch import nn

_aten = torch.ops.aten
_PREFIX = "aten."

#: Calls by the row that they reach, on [2, 8, 6, 6].
CALLS = {
    "hardsigmoid.default": F.hardsigmoid,
    "hardswish.default": F.hardswish,
    "sigmoid.default": torch.sigmoid,
    "silu.default": F.silu,
    "tanh.default": torch.tanh,
    "abs.default": torch.abs,
    "neg.default": torch.neg,
    "gelu.default": F.gelu,
    "elu.default": F.elu,
    "leaky_relu.default": lambda x: F.leaky_relu(x, 0.1),
    "relu.default": lambda x: F.relu(F.max_pool2d(x, 2)),
    "relu6.default": lambda x: _aten.relu6.default(F.max_pool2d(x, 2)),
    "hardtanh.default": lambda x: F.hardtanh(F.max_pool2d(x, 2)),
    "clamp.default": lambda x: F.max_pool2d(x, 2).clamp(-0.25, 0.5),
    "sub.Tensor": lambda x: torch.sigmoid(x) - x,
    "view_copy.default": lambda x: x.reshape(2, 2, 4, 36).flatten(1),
    "unsqueeze_copy.default": lambda x: x.unsqueeze(1),
    "squeeze_copy.dims": lambda x: x.unsqueeze(1).squeeze(1),
    "permute_copy.default": lambda x: x.permute(0, 2, 3, 1).transpose(1, 2),
    "expand_copy.default": lambda x: x.unsqueeze(1).expand(2, 3, 8, 6, 6),
    "slice_copy.Tensor": lambda x: x[:, 1:5],
    "select_copy.int": lambda x: x[:, 3],
    "constant_pad_nd.default": lambda x: _aten.constant_pad_nd.default(x, [1, 2], 0.0),
    "pad.default": lambda x: F.pad(x, (1, 1, 0, 2)),
    "reflection_pad2d.default": nn.ReflectionPad2d(1),
    "reflection_pad1d.default": lambda x: nn.ReflectionPad1d(1)(x[:, 0]),
    "replication_pad2d.default": nn.ReplicationPad2d(1),
    "replication_pad1d.default": lambda x: nn.ReplicationPad1d(1)(x[:, 0]),
    "native_channel_shuffle.default": lambda x: F.channel_shuffle(x, 2),
    "avg_pool2d.default": lambda x: F.avg_pool2d(x, 2),
    "avg_pool1d.default": lambda x: F.avg_pool1d(x[:, 0], 2),
    "max_pool2d.default": lambda x: F.max_pool2d(x, 3, 2, 1),
    "max_pool1d.default": lambda x: F.max_pool1d(x[:, 0], 2),
    "adaptive_avg_pool2d.default": lambda x: F.adaptive_avg_pool2d(x, 3),
    "adaptive_avg_pool1d.default": lambda x: F.adaptive_avg_pool1d(x[:, 0], 3),
    "mean.dim": lambda x: x.mean((2, 3)),
    "mean.default": lambda x: x.mean(),
    "sum.dim_IntList": lambda x: x.sum(1),
    "upsample_nearest1d.vec": lambda x: F.interpolate(x[:, 0], scale_factor=2),
    "upsample_nearest2d.vec": lambda x: F.interpolate(x, scale_factor=2),
    "_upsample_nearest_exact1d.vec": lambda x: F.interpolate(x[:, 0], scale_factor=2, mode="nearest-exact"),
    "_upsample_nearest_exact2d.vec": lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    "upsample_linear1d.vec": lambda x: F.interpolate(x[:, 0], scale_factor=2, mode="linear"),
    "upsample_bilinear2d.vec": lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    "upsample_bicubic2d.vec": lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"),
}
#: Rows that other names of the same operator reach, or that only ExecuTorch's own passes do.
_SAME = {"sub.Scalar", "_adaptive_avg_pool2d.default", "reflection_pad3d.default", "replication_pad3d.default"}


class Calls(nn.Module):
    """Every call, of a convolution, and added to itself."""

    def __init__(self, functions):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.functions = functions

    def forward(self, x):
        y = self.conv(x)
        results = [f(y) for f in self.functions]
        return [r + r for r in results]


def floats_inside(lowered):
    """What computes with floats, other than conversions of inputs and outputs."""
    (graph,) = lowered.optimized.values()
    inside = {i for n in graph.nodes for i in n.inputs}
    return [
        n.op
        for n in graph.nodes
        for o in n.outputs
        if o in inside - graph.output_names and graph.values[o].quantization is None
    ]


def test_every_row_of_int8_has_a_call():
    rows = {name for name, row in ops.ROWS.items() if row.int8 is not None and name.startswith(_PREFIX)}
    assert rows == {_PREFIX + name for name in {*CALLS, *_SAME}}


def test_every_call_computes_with_integers():
    torch.manual_seed(0)
    model = Calls(list(CALLS.values())).eval()
    _, lowered = quantize(model, (torch.rand(2, 3, 8, 8),))
    assert lowered.outside == [] and lowered.report.float_fallbacks == [], str(lowered.report)
    assert floats_inside(lowered) == []


@pytest.mark.parametrize("make", (mobile_net, res_net))
def test_models_compute_with_integers(make):
    torch.manual_seed(0)
    model, inputs = make().eval(), (torch.rand(2, 3, 32, 32),)
    converted, lowered = quantize(model, inputs)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    assert lowered.report.float_fallbacks == [] and floats_inside(lowered) == [], str(lowered.report)
    (graph,) = lowered.optimized.values()
    clamps = [n for n in graph.nodes if n.op == "Unary" and n.attributes.kind.name == "Clamp"]
    assert clamps == []  # all are part of a convolution or sum
    if et_xnnpack.is_available():
        (actual,) = harness.load_method(lowered.buffer).execute(inputs)
        with torch.no_grad():
            torch.testing.assert_close(actual, model(*inputs), atol=0.03, rtol=0.1)
            torch.testing.assert_close(actual, converted(*inputs), atol=0.02, rtol=0)


@pytest.mark.parametrize(
    "make,shape",
    (
        (lambda: nn.Conv1d(4, 1, 3), (2, 4, 8)),
        (lambda: nn.Conv1d(1, 1, 3), (2, 1, 8)),
        (lambda: nn.ConvTranspose1d(4, 1, 3), (2, 4, 8)),
        (lambda: nn.ConvTranspose1d(1, 1, 3), (2, 1, 8)),
        (lambda: nn.Conv2d(4, 1, 3), (2, 4, 8, 8)),
        (lambda: nn.Linear(8, 1), (2, 4, 8)),
    ),
    ids=("conv1d", "depthwise_conv1d", "conv_transpose1d", "depthwise_conv_transpose1d", "conv2d", "linear"),
)
def test_one_channel_computes_with_integers(make, shape):
    torch.manual_seed(0)
    inputs = (torch.rand(shape),)
    converted, lowered = quantize(nn.Sequential(make(), nn.Sigmoid()).eval(), inputs)
    assert lowered.outside == [] and lowered.report.float_fallbacks == [], str(lowered.report)
    assert floats_inside(lowered) == []
    if et_xnnpack.is_available():
        (actual,) = harness.load_method(lowered.buffer).execute(inputs)
        with torch.no_grad():
            torch.testing.assert_close(actual, converted(*inputs), atol=0.01, rtol=0)


def test_what_is_out_of_scope_stays_floats():
    config = get_symmetric_quantization_config(is_per_channel=True)
    first = nn.Sequential(nn.Linear(3, 8), nn.Hardswish())
    second = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    model = nn.Sequential(collections.OrderedDict(first=first, second=second)).eval()
    quantizer = EtXnnpackQuantizer().set_module_name("first", config)
    converted, _ = quantize(model, (torch.rand(2, 3),), quantizer)
    names = [str(n.target) for n in converted.graph.nodes]
    assert not any("quantize" in n for n in names[names.index("aten.tanh.default") - 1 :])
    # The input, the result of the product, that of hardswish.
    assert sum(n.startswith("quantized_decomposed.quantize_per_tensor") for n in names) == 3


def test_a_result_of_the_program_keeps_its_precision():
    model = nn.Sequential(nn.Linear(8, 4), nn.Sigmoid()).eval()
    converted, lowered = quantize(model, (torch.rand(2, 8),))
    (*_, last, output) = converted.graph.nodes
    assert str(last.target) == "aten.sigmoid.default" and lowered.outside == []
