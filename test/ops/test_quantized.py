# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs quantized as people do it, against the quantized program as PyTorch computes it step by step."""

import dataclasses
import functools

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import UnaryKind
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from samples import Function
from samples.quantize import dequantize, quantize
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

_q = torch.ops.quantized_decomposed


@dataclasses.dataclass(frozen=True, eq=False)
class Program:
    """What is exported, quantized and lowered, its inputs, and the operators of the blob that compute with integers."""

    module: object
    shapes: tuple[tuple[int, ...], ...]
    integers: tuple[str, ...]
    dynamic: dict[int, str] = dataclasses.field(default_factory=dict)  #: names of axes of input 0

    def inputs(self, seed: int, batch: int | None = None) -> tuple[torch.Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        shapes = [s if batch is None else (batch, *s[1:]) for s in self.shapes]
        return tuple(torch.rand(s, generator=generator) * 4 - 2 for s in shapes)

    @property
    def dynamic_shapes(self):
        if not self.dynamic:
            return None
        dims = {i: torch.export.Dim(name, min=1, max=16) for i, name in self.dynamic.items()}
        return (dims,) * len(self.shapes)


def fake(x, scale=0.031, zero_point=-5):
    """``x`` as integers keep it."""
    return dequantize(quantize(x, scale, zero_point), scale, zero_point)


def island(function, scale=0.02, zero_point=3):
    """``function`` between quantized operands and a quantized result."""
    return Function(lambda *inputs: fake(function(*(fake(x) for x in inputs)), scale, zero_point))


def same(function):
    """The same, but operands and result have one scale."""
    return island(function, 0.031, -5)


class _Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        y = self.second(F.relu(self.norm(self.first(x))))
        return F.relu(x + y)


class _Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.block = _Residual(8)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.hardtanh(self.stem(x), 0, 6)
        x = torch.cat([self.block(x), self.depthwise(x)], 1)
        return self.head(F.max_pool2d(x, 2).mean((2, 3)))


_IMAGE = ((2, 8, 9, 7),)
_UNARY = {
    UnaryKind.HardSwish: F.hardswish,
    UnaryKind.Sigmoid: torch.sigmoid,
    UnaryKind.Tanh: torch.tanh,
    UnaryKind.LeakyRelu: lambda x: F.leaky_relu(x, 0.1),
    UnaryKind.Elu: F.elu,
    UnaryKind.Gelu: F.gelu,
    UnaryKind.GeluTanh: lambda x: F.gelu(x, approximate="tanh"),
    UnaryKind.Silu: F.silu,
    UnaryKind.HardSigmoid: F.hardsigmoid,
    UnaryKind.Abs: torch.abs,
    UnaryKind.Exp: torch.exp,
    UnaryKind.Log: torch.log,
    UnaryKind.Rsqrt: torch.rsqrt,
    UnaryKind.Clamp: lambda x: x.clamp(-0.5, 0.75),
}

#: Written by hand, with conversions around one operator.
ISLANDS = {f"unary_{kind.name}": Program(island(f), ((3, 41),), ("Unary",)) for kind, f in _UNARY.items()} | {
    "relu_same": Program(same(F.relu), ((3, 41),), ("Unary",)),
    "requantize": Program(island(lambda x: x.clone()), ((3, 41),), ()),
    "add": Program(island(torch.add), ((2, 3, 40), (3, 1)), ("Binary",)),
    "add_relu": Program(island(lambda x, y: F.relu(x + y)), ((2, 3, 40), (2, 3, 40)), ("Binary",)),
    "sub": Program(island(torch.sub), ((2, 3, 40), (40,)), ("Binary",)),
    "mul": Program(island(torch.mul), ((2, 3, 40), (2, 3, 40)), ("Binary",)),
    "mul_self": Program(island(lambda x: x * x), ((2, 3, 40),), ("Binary",)),
    "far_scales": Program(island(torch.add, 5.0, 0), ((2, 40), (2, 40)), ("Binary",)),
    "too_far_scales": Program(island(torch.add, 1e-5, 0), ((2, 40), (2, 40)), ()),
    "cat": Program(island(lambda x, y: torch.cat([x, y], 1)), ((2, 3, 4), (2, 5, 4)), ("Concat",)),
    "cat_same": Program(same(lambda x, y: torch.cat([x, y, x], -1)), ((2, 3, 4), (2, 3, 7)), ("Concat",)),
    "cat_many": Program(same(lambda *xs: torch.cat(xs, 0)), ((2, 3),) * 7, ("Concat",)),
    "cat_of_floats": Program(Function(lambda x, y: fake(torch.cat([x, y], 1))), ((2, 3, 4), (2, 5, 4)), ("Concat",)),
    "max_pool": Program(same(lambda x: F.max_pool2d(x, 3, 2, 1)), _IMAGE, ("MaxPool2d",)),
    "max_pool_requantized": Program(island(lambda x: F.max_pool2d(x, 2)), _IMAGE, ("MaxPool2d",)),
    "max_pool_large_stride": Program(same(lambda x: F.max_pool2d(x, 2, 3)), _IMAGE, ("MaxPool2d",)),
    "avg_pool": Program(island(lambda x: F.avg_pool2d(x, 3, 2, 1)), _IMAGE, ("AvgPool2d",)),
    "avg_pool_uncounted": Program(
        island(lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)), _IMAGE, ("AvgPool2d",)
    ),
    "adaptive_pool": Program(island(lambda x: F.adaptive_avg_pool2d(x, 3)), _IMAGE, ("AdaptivePool2d",)),
    "mean": Program(island(lambda x: x.mean((2, 3))), _IMAGE, ("Reduce",)),
    "mean_last": Program(island(lambda x: x.mean(-1, keepdim=True)), ((3, 4, 50),), ("Reduce",)),
    "bilinear": Program(island(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")), _IMAGE, ("Resize2d",)),
    "nearest": Program(same(lambda x: F.interpolate(x, size=(5, 11))), _IMAGE, ("Resize2d",)),
    "pad": Program(same(lambda x: F.pad(x, (1, 2, 3, 0))), _IMAGE, ("Pad",)),
    "pad_off_the_grid": Program(same(lambda x: F.pad(x, (1, 2), value=0.7)), _IMAGE, ("Pad",)),
    "pad_reflect": Program(same(lambda x: F.pad(x, (1, 2), mode="reflect")), ((3, 4, 5),), ("Pad",)),
    "slice": Program(same(lambda x: x[:, 1:, ::2]), _IMAGE, ("Slice",)),
    "view": Program(same(lambda x: x.reshape(2, -1)), _IMAGE, ("Reshape",)),
    "permute": Program(island(lambda x: x.permute(0, 2, 3, 1)), _IMAGE, ("Transpose",)),
    "expand": Program(same(lambda x: x.expand(5, 3, 4)), ((3, 1),), ("Expand",)),
    "softmax_between": Program(island(lambda x: F.softmax(x, -1)), ((3, 41),), ()),
    "layer_norm_between": Program(island(lambda x: F.layer_norm(x, (41,))), ((3, 41),), ()),
    "float_result": Program(Function(lambda x: F.gelu(fake(x)) @ fake(x).T), ((3, 41),), ("Unary",)),
    "several_readers": Program(
        Function(lambda x: (fake(F.relu(fake(x))), fake(x).abs().sum(), quantize(x) + 1)), ((3, 41),), ("Unary",)
    ),
    "integers_out": Program(Function(lambda x: quantize(torch.tanh(fake(x)))), ((3, 41),), ("Unary",)),
    "mixed": Program(Function(lambda x, y: fake(fake(x) + y)), ((3, 41), (3, 41)), ()),
}

#: Quantized by ExecuTorch's quantizer.
FLOWS = {
    "linear": Program(lambda: nn.Linear(17, 9), ((5, 17),), ("Linear",)),
    "linear_rank_3": Program(lambda: nn.Linear(17, 9), ((2, 5, 17),), ("Linear",)),
    "linear_relu": Program(lambda: nn.Sequential(nn.Linear(17, 9), nn.ReLU()), ((5, 17),), ("Linear",)),
    "linear_no_bias": Program(lambda: nn.Linear(17, 9, bias=False), ((5, 17),), ("Linear",)),
    "linear_dynamic": Program(lambda: nn.Linear(17, 9), ((5, 17),), ("Linear",), dynamic={0: "batch"}),
    "conv": Program(lambda: nn.Conv2d(8, 12, 3, padding=1), _IMAGE, ("Conv2d",)),
    "conv_stride": Program(lambda: nn.Conv2d(8, 12, (3, 2), 2, (1, 0), dilation=(1, 2)), _IMAGE, ("Conv2d",)),
    "conv_grouped": Program(lambda: nn.Conv2d(8, 12, 3, groups=4), _IMAGE, ("Conv2d",)),
    "conv_small_groups": Program(
        lambda: nn.Conv2d(72, 72, 3, padding=1, groups=18), ((3, 72, 9, 11),), ("Conv2d",), dynamic={0: "batch"}
    ),
    "conv_small_groups_stride": Program(
        lambda: nn.Sequential(nn.Conv2d(80, 80, 3, 2, 1, groups=5, bias=False), nn.ReLU()),
        ((2, 80, 13, 10),),
        ("Conv2d",),
    ),
    "conv_depthwise": Program(lambda: nn.Conv2d(8, 8, 3, groups=8, padding=1), _IMAGE, ("Conv2d",)),
    "conv_depthwise_multiplied": Program(lambda: nn.Conv2d(8, 16, 3, groups=8), _IMAGE, ("Conv2d",)),
    "conv_depthwise_strides": Program(
        lambda: nn.Conv2d(100, 100, 3, 2, 1, groups=100), ((2, 100, 13, 12),), ("Conv2d",), dynamic={0: "batch"}
    ),
    "conv_depthwise_of_five": Program(
        lambda: nn.Sequential(nn.Conv2d(80, 80, 5, (1, 2), 2, groups=80), nn.Hardtanh(-0.5, 0.75)),
        ((1, 80, 9, 11),),
        ("Conv2d",),
    ),
    "conv_depthwise_narrow": Program(lambda: nn.Conv2d(20, 20, (4, 3), 1, 1, groups=20), ((1, 20, 5, 2),), ("Conv2d",)),
    "conv_large_depthwise": Program(lambda: nn.Conv2d(8, 8, 7, groups=8, padding=3), _IMAGE, ("Conv2d",)),
    "conv_relu": Program(lambda: nn.Sequential(nn.Conv2d(8, 12, 3), nn.ReLU()), _IMAGE, ("Conv2d",)),
    "conv_norm_relu": Program(
        lambda: nn.Sequential(nn.Conv2d(8, 12, 3), nn.BatchNorm2d(12), nn.ReLU()), _IMAGE, ("Conv2d",)
    ),
    "conv_few_channels": Program(lambda: nn.Conv2d(3, 40, 7, 2, 3), ((2, 3, 37, 41),), ("Conv2d",)),
    "conv_few_channels_narrow": Program(lambda: nn.Conv2d(3, 48, (2, 7), (2, 1), (1, 4)), ((2, 3, 9, 2),), ("Conv2d",)),
    "conv_few_channels_no_padding": Program(lambda: nn.Conv2d(1, 33, (5, 3), (1, 4)), ((3, 1, 12, 30),), ("Conv2d",)),
    "conv_few_channels_dynamic": Program(
        lambda: nn.Sequential(nn.Conv2d(3, 24, 3, 2, 1), nn.ReLU()),
        ((2, 3, 33, 18),),
        ("Conv2d",),
        dynamic={0: "batch"},
    ),
    "conv_1d": Program(lambda: nn.Conv1d(8, 12, 3), ((2, 8, 11),), ("Conv2d",)),
    "conv_1d_to_one": Program(lambda: nn.Conv1d(8, 1, 3), ((2, 8, 11),), ("Conv2d",)),
    "conv_1d_depthwise_of_one": Program(lambda: nn.Conv1d(1, 1, 3), ((2, 1, 11),), ("Conv2d",)),
    "conv_to_one": Program(lambda: nn.Conv2d(8, 1, 3), _IMAGE, ("Conv2d",)),
    "linear_to_one": Program(lambda: nn.Linear(17, 1), ((5, 17),), ("Linear",)),
    "conv_transposed": Program(lambda: nn.ConvTranspose2d(8, 12, 3, 2, 1), _IMAGE, ("ConvTranspose2d",)),
    "conv_transposed_grouped": Program(
        lambda: nn.ConvTranspose2d(8, 12, 3, 2, 1, groups=2),
        _IMAGE,
        (),  # not annotated by that quantizer
    ),
    "residual": Program(lambda: _Residual(8), _IMAGE, ("Conv2d", "Binary")),
    "cnn": Program(_Cnn, ((2, 3, 24, 20),), ("Conv2d", "Binary", "Concat", "MaxPool2d", "Reduce", "Linear")),
    "conv_dynamic": Program(lambda: nn.Conv2d(8, 12, 3, padding=1), _IMAGE, ("Conv2d",), dynamic={0: "batch"}),
    "mlp": Program(
        lambda: nn.Sequential(nn.Linear(16, 33), nn.GELU(), nn.Linear(33, 16), nn.Sigmoid(), nn.Linear(16, 4)),
        ((7, 16),),
        ("Linear",),
    ),
}
PROGRAMS = (
    {name: (p, None) for name, p in ISLANDS.items()}
    | {name: (p, True) for name, p in FLOWS.items()}
    | {f"{name}_per_tensor": (p, False) for name, p in FLOWS.items()}
)


@dataclasses.dataclass(frozen=True)
class Case:
    program: Program
    module: nn.Module
    lowered: harness.Lowered
    quantum: float

    @property
    def most(self) -> float:
        """The share of numbers that may differ. What one operator rounds differently, the next one takes further."""
        return 0.05 if len(self.program.integers) < 2 else 0.4


def _exported(module, program):
    with torch.no_grad():
        return torch.export.export(module, program.inputs(0), dynamic_shapes=program.dynamic_shapes)


@functools.lru_cache(maxsize=4)
def lower(name: str) -> Case:
    program, per_channel = PROGRAMS[name]
    module = program.module
    if per_channel is not None:
        torch.manual_seed(len(name))
        module = program.module().eval()
        for m in module.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.running_mean.normal_()
                m.running_var.uniform_(0.5, 2)
        quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=per_channel))
        module = prepare_pt2e(_exported(module, program).module(), quantizer)
        for seed in range(1, 5):
            module(*program.inputs(seed))
        module = convert_pt2e(module)
    lowered = harness.lower_exported(_exported(module, program), _check_ir_validity=False)
    quanta = [_quantum(graph, output.value) for graph in lowered.optimized.values() for output in graph.outputs]
    return Case(program, module, lowered, max(quanta))


def _quantum(graph, name: str) -> float:
    """The step of the numbers that an output can be; 0 if it can be any."""
    producer = graph.producers[name]
    q = graph.values[producer.inputs[0]].quantization
    is_copy = producer.op == "Unary" and producer.attributes.kind == UnaryKind.Copy
    return q.scale.item() if is_copy and q is not None else 0.0


@pytest.fixture(params=PROGRAMS, scope="module")
def case(request):
    return lower(request.param)


def _calls(case):
    batches = (2, 16, 3, 5) if case.program.dynamic else (None, None)
    for seed, batch in enumerate(batches):
        inputs = case.program.inputs(10 + seed, batch)
        with torch.no_grad():
            expected = torch.utils._pytree.tree_leaves(case.module(*inputs))
        yield inputs, expected


def assert_near(actual, expected, quantum, most=0.05):
    """At most one step of the last quantization apart, and that rarely."""
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype and a.shape == e.shape
        if not a.is_floating_point():
            assert ((a.int() - e.int()).abs() <= 1).all()
            continue
        torch.testing.assert_close(a, e, rtol=1e-5, atol=quantum * 1.001 + 1e-5)
        assert ((a - e).abs() > 1e-4).float().mean() <= most


@pytest.mark.sampled
def test_is_one_delegate_call(case):
    assert case.lowered.outside == [], str(case.lowered.report)
    assert len(case.lowered.delegates) == 1, str(case.lowered.report)


@pytest.mark.sampled
def test_computes_with_integers(case):
    (graph,) = case.lowered.optimized.values()
    stored = {node.op for node in graph.nodes if graph.values[node.outputs[0]].quantization is not None}
    by_table = {n.op for n in graph.nodes if n.inputs and n.inputs[0] and graph.values[n.inputs[0]].quantization}
    assert set(case.program.integers) <= stored | by_table, str(graph)


@pytest.mark.sampled
def test_graph_equals_reference(case):
    for inputs, expected in _calls(case):
        for graphs in (case.lowered.graphs, case.lowered.optimized):
            assert_near(harness.interpret(case.lowered, inputs, graphs), expected, case.quantum, case.most)


@pytest.mark.sampled
@harness.needs_runtime
def test_runtime_equals_reference(case):
    method = harness.load_method(case.lowered.buffer)
    for inputs, expected in _calls(case):
        assert_near(method.execute(inputs), expected, case.quantum, case.most)


def test_weights_stay_integers():
    case = lower("cnn")
    (graph,) = case.lowered.optimized.values()
    weights = [v for v in graph.values.values() if v.constant is not None and v.rank > 1]
    assert weights and all(v.constant.array.dtype.itemsize == 1 for v in weights)


def in_integers(x, scale, zero_point):
    range_ = (-128, 127, torch.int8)
    return _q.dequantize_per_tensor(_q.quantize_per_tensor(x, scale, zero_point, *range_), scale, zero_point, *range_)


@harness.needs_runtime
@pytest.mark.parametrize("zero_point", (0, 1, -3))
@pytest.mark.parametrize(
    "layer", (nn.Linear(64, 32, bias=False), nn.Conv2d(8, 16, 3, bias=False)), ids=("linear", "conv")
)
def test_a_limit_between_two_integers(layer, zero_point):
    """It is rounded as results are: first, and then the zero point is added."""
    generator = torch.Generator().manual_seed(0)
    integers = torch.randint(-3, 4, layer.weight.shape, generator=generator, dtype=torch.int8)
    scales, zero_points = torch.full((len(integers),), 0.0625), torch.zeros(len(integers), dtype=torch.int64)

    class Clamped(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", integers)
            self.register_buffer("scales", scales)
            self.register_buffer("zero_points", zero_points)

        def forward(self, x):
            per_channel = self.scales, self.zero_points, 0, -127, 127, torch.int8
            weight = _q.dequantize_per_channel(self.weight, *per_channel)
            function = F.linear if weight.dim() == 2 else F.conv2d
            return in_integers(function(in_integers(x, 1.0, 0), weight).clamp(0.5, 3.5), 1.0, zero_point)

    model = Clamped().eval()
    x = torch.randint(-5, 6, (4, 64) if isinstance(layer, nn.Linear) else (2, 8, 9, 9), generator=generator).float()
    lowered = harness.lower_exported(torch.export.export(model, (x,)))
    assert lowered.outside == [], str(lowered.report)
    (actual,) = harness.load_method(lowered.buffer).execute((x,))
    torch.testing.assert_close(actual, model(x), rtol=0, atol=0)
