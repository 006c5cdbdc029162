# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Every sample also runs in one of float16 and bfloat16, as one delegate call, and rounds as eager PyTorch does."""

import copy
import functools
import itertools

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from samples import ANY_OPERATOR, Argument, Sample, all_samples, bools, in_dtype, integers, new, rand
from samples.linear import WithConstant
from torch import nn

#: What eager PyTorch computes in several steps, each rounded to the type: positions, and integers off by one.
STEPWISE = ("grid_sample", "quantize", "choose", "embedding_", "linear_")


#: ExecuTorch's operators take these masks and scales in float32 only, which they find out when they run.
FLOAT32_ONLY = ("attention_cached_mask", "attention_cached_integers")


def _samples():
    """Those that have floats and that eager PyTorch takes in 16 bits, half of them in either type."""
    for sample in all_samples():
        if sample.name in FLOAT32_ONLY:
            continue
        if sample.name.startswith("embedding_bag") or not sample.name.startswith(STEPWISE):
            reduced = in_dtype(sample, (torch.float16, torch.bfloat16)[sample.seed % 2])
            if reduced is not None:
                yield pytest.param(reduced, id=sample.name)


@pytest.mark.sampled(of=8)
@pytest.mark.parametrize("sample", _samples())
def test_equals_eager(sample):
    lowered = harness.lower_sample(sample)
    assert lowered.outside == [], str(lowered.report)
    assert len(lowered.delegates) == 1, str(lowered.report)
    if et_xnnpack.is_available():
        run = harness.load_method(lowered.buffer).execute
    else:
        run = functools.partial(_interpret, lowered, {})
    eager = sample.eager()
    for inputs in itertools.islice(sample.calls(), 3):
        harness.assert_equal(run(inputs), eager(inputs), sample)


def _interpret(lowered, states, inputs):
    return harness.interpret(lowered, inputs, lowered.optimized, states)


BOTH = pytest.mark.parametrize("dtype", (torch.float16, torch.bfloat16), ids=("float16", "bfloat16"))


def float_tensor(*shape, dtype):
    return Argument(shape, lambda s, g: torch.randn(s, generator=g).to(dtype))


def fixed(tensor):
    return Argument(tuple(tensor.shape), lambda s, g: tensor)


def check(sample):
    """Compares bit by bit with eager PyTorch."""
    lowered = harness.lower_sample(sample)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    for inputs in sample.calls():
        expected = sample.expected(inputs)
        runs = [_interpret(lowered, {}, inputs)]
        if et_xnnpack.is_available():
            runs.append(harness.load_method(lowered.buffer).execute(inputs))
        for actual in runs:
            for a, e in zip(actual, expected, strict=True):
                torch.testing.assert_close(a, e, rtol=0, atol=0, equal_nan=True)


@BOTH
def test_rounds_numbers_as_eager(dtype):
    values = Argument((4,), lambda s, g: torch.tensor([0.1, -0.3, 7.7, 0.0]).to(dtype))

    def program(x):
        return x == 0.1, x < 7.7, x * 0.1, x + 0.3, x - 7.7, torch.fmod(x, 0.1), torch.remainder(x, 0.3), x / 3

    check(Sample(f"numbers_{dtype}", program, values))


@BOTH
def test_rounds_between_operators(dtype):
    x = float_tensor(4, 33, dtype=dtype)
    check(Sample(f"chain_{dtype}", lambda x, y: ((x * y).relu() + x - y) * 1.7, x, x))


@BOTH
def test_casts(dtype):
    def program(x, i, b):
        return x.float() * 2, x.int(), i.to(dtype) / 3, b.to(dtype) + x, (x + i, x * 2.5)

    arguments = float_tensor(3, 4, dtype=dtype), integers(3, 4), bools(3, 4)
    check(Sample(f"casts_{dtype}", program, *arguments))


@BOTH
@pytest.mark.parametrize("numbers", (torch.float32, torch.int32, torch.int64, torch.uint8, torch.bool), ids=str)
def test_rounds_scales_and_shifts(dtype, numbers):
    x = Argument((3, 40), lambda s, g: torch.randint(0, 200, s, generator=g).to(numbers))
    check(Sample(f"rounds_{dtype}_{numbers}", lambda x, s, t: x.to(dtype).float() * s + t, x, rand(40), rand(40)))


@BOTH
def test_mixed_with_float32(dtype):
    arguments = float_tensor(3, 4, dtype=dtype), rand(3, 4)
    check(Sample(f"mixed_{dtype}", lambda x, y: (x + y, torch.where(x > 0, x, y), y * x), *arguments))


def test_two_types_of_16_bits():
    arguments = float_tensor(3, dtype=torch.float16), float_tensor(3, dtype=torch.bfloat16)
    check(
        Sample(
            "two_halves",
            lambda x, y: (x + y, x.to(torch.bfloat16) * y, x.to(torch.bfloat16).to(torch.float16)),
            *arguments,
        )
    )


@BOTH
def test_weights_take_16_bits_each(dtype):
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.LayerNorm(64)).eval().to(dtype)
    sample = Sample(f"weights_{dtype}", new(lambda: model), float_tensor(5, 64, dtype=dtype))
    size = len(harness.lower_sample(sample).buffer)
    floats = Sample(f"weights_of_{dtype}", new(lambda: copy.deepcopy(model).float()), rand(5, 64))
    assert size < 2 * 2 * 64 * 96 + 16000
    assert len(harness.lower_sample(floats).buffer) < size + 2000, "exact in 16 bits, too"


@BOTH
@pytest.mark.parametrize("make", (lambda: nn.Linear(300, 200), lambda: nn.Conv2d(60, 80, 5)), ids=("linear", "conv"))
def test_large_weights_are_not_widened_at_run_time(dtype, make):
    model = make().eval().to(dtype)
    example = torch.rand(2, 300) if isinstance(model, nn.Linear) else torch.rand(1, 60, 6, 6)
    lowered = harness.lower_exported(torch.export.export(model, (example.to(dtype),)))
    (graph,) = lowered.optimized.values()
    constants = {name for name, value in graph.values.items() if value.constant is not None}
    assert [n.op for n in graph.nodes if n.op in ("Linear", "Conv2d")], str(graph)
    assert not [n for n in graph.nodes if n.op == "Cast" and constants.intersection(n.inputs)], str(graph)
    assert len(lowered.buffer) < 2 * model.weight.numel() + 16000


@BOTH
@pytest.mark.parametrize(
    "make,shape",
    (
        (lambda: nn.Linear(300, 200), (1, 300)),
        (lambda: nn.Conv2d(60, 80, 5), (1, 60, 6, 6)),
        (lambda: nn.Conv2d(300, 200, 1), (1, 300, 6, 6)),
        (lambda: nn.Conv1d(128, 64, 8), (1, 128, 9)),
        (lambda: nn.Conv2d(128, 128, 3, groups=2), (1, 128, 6, 6)),
        (lambda: nn.Conv2d(4000, 4000, 5, groups=4000), (1, 4000, 6, 6)),
        (lambda: nn.ConvTranspose2d(64, 80, 4, 2), (1, 64, 6, 6)),
        (lambda: WithConstant(torch.bmm, 3, 128, 160), (3, 5, 128)),
    ),
    ids=("linear", "conv", "1x1", "conv1d", "groups", "depthwise", "transposed", "bmm"),
)
@harness.needs_runtime
def test_large_weights_take_16_bits_in_memory(dtype, make, shape, tmp_path):
    model = make().eval().to(dtype)
    program = torch.export.export(model, (torch.rand(shape).to(dtype),))
    path = tmp_path / "packed"
    with et_xnnpack.load_options(packed_cache_path=str(path)):
        harness.load_method(harness.lower_exported(program).buffer)
    count = max(p.numel() for p in model.parameters())
    assert 2 * count <= path.stat().st_size < 2.2 * count + 5000


@BOTH
def test_a_tied_embedding_is_stored_once(dtype):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(3000, 32)

        def forward(self, i):
            return self.embedding(i) @ self.embedding.weight.T

    indices = integers(7, low=0, high=3000)
    sample = Sample(f"tied_{dtype}", new(lambda: Tied().eval().to(dtype)), indices)
    assert len(harness.lower_sample(sample).buffer) < 2 * 3000 * 32 + 16000


@BOTH
def test_a_state(dtype):
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("cache", torch.zeros(6, 4, dtype=dtype))

        def forward(self, i, x):
            self.cache[i] = x
            return self.cache * 1

    sample = Sample(f"cache_{dtype}", new(Cache), integers(2, low=0, high=6), float_tensor(2, 4, dtype=dtype))
    lowered = harness.lower_sample(sample)
    assert lowered.outside == []
    if et_xnnpack.is_available():
        method = harness.load_method(lowered.buffer)
        eager = sample.eager()
        for row in range(4):
            inputs = (torch.tensor([row, row + 1]), torch.randn(2, 4).to(dtype))
            harness.assert_equal(method.execute(inputs), eager(inputs), sample)


@BOTH
def test_networks(dtype):
    image_net = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.BatchNorm2d(8),
        nn.ReLU6(),
        nn.Conv2d(8, 8, 3, 1, 1, groups=8),
        nn.Hardswish(),
        nn.MaxPool2d(2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
        nn.Softmax(-1),
    )
    encoder = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu")
    for name, net, shape in (("image", image_net, (2, 3, 17, 16)), ("encoder", encoder, (2, 9, 32))):
        sample = Sample(f"{name}_{dtype}", new(lambda net=net: net.eval().to(dtype)), float_tensor(*shape, dtype=dtype))
        lowered = harness.lower_sample(sample)
        assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
        if et_xnnpack.is_available():
            (inputs,) = sample.calls()
            (actual,) = harness.load_method(lowered.buffer).execute(inputs)
            (expected,) = sample.expected(inputs)
            eps = torch.finfo(dtype).eps
            torch.testing.assert_close(actual, expected, rtol=8 * eps, atol=16 * eps)


@BOTH
def test_concatenates_different_types(dtype):
    arguments = float_tensor(3, 4, dtype=dtype), rand(3, 4)
    check(Sample(f"cat_{dtype}", lambda x, y: torch.cat([x, y]), *arguments, config=ANY_OPERATOR))


class _WithNumber(nn.Module):
    """A function of x and a number that is a buffer of float32."""

    def __init__(self, function, number):
        super().__init__()
        self.function = function
        self.register_buffer("number", torch.tensor(number))

    def forward(self, x):
        return self.function(x, self.number)


@BOTH
@pytest.mark.parametrize("number", (2.1, 55.4256))
@pytest.mark.parametrize(
    "function",
    (
        lambda x, s: x * s,
        lambda x, s: s * x,
        lambda x, s: x / s,
        lambda x, s: s / x,
        lambda x, s: x * s.to(x.dtype),
        lambda x, s: s.to(x.dtype) * x,
        lambda x, s: x / s.to(x.dtype),
        lambda x, s: x.float() * s.to(x.dtype),
    ),
    ids=(
        "product",
        "product_of_number",
        "quotient",
        "quotient_of_number",
        "rounded",
        "rounded_first",
        "by_rounded",
        "wide",
    ),
)
def test_numbers_are_rounded_where_pytorch_rounds_them(dtype, number, function):
    check(Sample(f"number_{dtype}_{number}", new(lambda: _WithNumber(function, number)), float_tensor(64, dtype=dtype)))


@BOTH
def test_rounds_alpha(dtype):
    x = float_tensor(64, dtype=dtype)
    check(Sample(f"alpha_{dtype}", lambda x, y: (x.add(y, alpha=2.1), x.sub(y * x, alpha=2.1)), x, x))


@BOTH
@pytest.mark.parametrize(
    "function",
    (
        lambda x, z: x * 100000,
        lambda x, z: x / 100000,
        lambda x, z: 70000 / (x.abs() + 1),
        lambda x, z: (x * 1000) // 3001,
        lambda x, z: x * (x.shape[0] * 1001),
        lambda x, z: x * z,
        lambda x, z: x / z.double(),
        lambda x, z: x * z.float(),
        lambda x, z: x - z,
        lambda x, z: torch.maximum(x * 1000, z),
    ),
    ids=("product", "quotient", "reciprocal", "floor", "size", "int64", "float64", "float32", "difference", "maximum"),
)
def test_numbers_of_other_types_are_not_rounded_either(dtype, function):
    """Those that 16 bits do not hold: of the program, and tensors without axes."""
    z = fixed(torch.tensor(3001))
    check(Sample(f"other_number_{dtype}", function, float_tensor(64, dtype=dtype), z, config=ANY_OPERATOR))


@BOTH
@pytest.mark.parametrize(
    "function",
    (
        lambda x, i: i % x,
        lambda x, i: x % i,
        lambda x, i: torch.fmod(i, x),
        lambda x, i: torch.atan2(i, x),
        lambda x, i: (-x) ** (i % 7 + 4094),
        lambda x, i: i * x,
        lambda x, i: i / x,
        lambda x, i: torch.copysign(i, x),
    ),
    ids=("remainder", "remainder_by", "fmod", "atan2", "pow", "product", "quotient", "copysign"),
)
def test_integers_are_rounded_beside_16_bits(dtype, function):
    x, i = torch.tensor([-2.5, 3, 17, 3001, -0.5, 1.25, 9, 11]), torch.tensor([1001, 3001, 4097, 3001, 5, 0, -3001, 9])
    arguments = fixed(x.to(dtype)), fixed(i)
    check(Sample(f"integers_{dtype}", function, *arguments, config=ANY_OPERATOR))


SOURCES = (torch.float32, torch.float64, torch.int32, torch.float16, torch.bfloat16)


@pytest.mark.parametrize(
    ("dtype", "source"), [(d, s) for d in (torch.float16, torch.bfloat16) for s in SOURCES if d != s], ids=str
)
@pytest.mark.parametrize("name", ("sum", "cumsum", "cumprod", "mean"))
def test_reductions_in_16_bits_round_first(dtype, source, name):
    torch.manual_seed(0)
    x = (torch.randn(6, 33) * (1.5 if name == "cumprod" else 100)).to(source)
    check(Sample(f"{name}_{dtype}_{source}", lambda x: getattr(x, name)(-1, dtype=dtype), fixed(x)))


@BOTH
def test_quotients_are_rounded_before_they_are_truncated(dtype):
    arguments = float_tensor(400, dtype=dtype), float_tensor(400, dtype=dtype)

    def truncated(x, y):
        return (x * 100).div(y, rounding_mode="trunc"), (x * 100).div(3.0, rounding_mode="trunc")

    check(Sample(f"trunc_{dtype}", truncated, *arguments))
