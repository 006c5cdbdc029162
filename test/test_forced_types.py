# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The options force_fp16 and force_bf16, which let a float32 model compute in 16 bits."""

import copy
import dataclasses

import harness
import pytest
import torch
from cpu import HAS_BFLOAT16, HAS_FLOAT16
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

EXAMPLE = (torch.rand(2, 4, 64),)


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.last = torch.nn.Conv2d(16, 8, 1)
        self.pool = torch.nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        y = torch.relu(self.first(x))
        y = torch.nn.functional.hardtanh(self.depthwise(y), 0, 6) + y
        y = self.last(y)
        return y, self.pool(y)


class Transposed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.ConvTranspose2d(3, 8, 2, stride=2)

    def forward(self, x):
        return torch.cat([self.up(x), torch.sigmoid(self.up(x))], dim=1)


class Layers(torch.nn.Module):
    """With a kernel of ours between products."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 96)
        self.norm = torch.nn.LayerNorm(96)
        self.second = torch.nn.Linear(96, 32)

    def forward(self, x):
        y = self.norm(torch.tanh(self.first(x)))
        return self.second(y), torch.softmax(y @ y.transpose(-1, -2), -1)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    torch.manual_seed(0)
    exported = torch.export.export(Layers().eval(), (torch.rand(3, 11, 64),))
    path = tmp_path_factory.mktemp("forced") / "model.pte"
    path.write_bytes(to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()]).to_executorch().buffer)
    return path


def _size(name, most, least=1):
    return torch.export.Dim(name, min=least, max=most)


def test_force_fp16_says_where_it_does_nothing(tmp_path, capfd):
    class Sum(torch.nn.Module):
        def forward(self, x):
            return x + x

    lowered = to_edge_transform_and_lower(torch.export.export(Sum(), EXAMPLE), partitioner=[EtXnnpackPartitioner()])
    path = tmp_path / "model.pte"
    path.write_bytes(lowered.to_executorch().buffer)
    with et_xnnpack.load_options(force_fp16=True):
        result = Runtime.get().load_program(path).load_method("forward").execute(EXAMPLE)[0]
    torch.testing.assert_close(result, 2 * EXAMPLE[0])
    assert capfd.readouterr().err.count("force_fp16: the model computes in float32: ") == 1


def test_packed_weights_of_float16_stay_apart_in_a_file(program, tmp_path):
    packed = tmp_path / "packed"
    x = torch.rand(3, 11, 64)
    results = []
    for half in (False, True, False, True):
        with et_xnnpack.load_options(packed_cache_path=str(packed), force_fp16=half):
            results.append(harness.load_method(program).execute((x,))[0])
    assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])
    assert torch.equal(results[0], results[1]) == (not HAS_FLOAT16)


class LargeConvolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 64, 3, padding=1)  # too small for bfloat16
        self.grouped = torch.nn.Conv2d(64, 70, 5, padding=2, stride=2, groups=2)
        self.up = torch.nn.ConvTranspose2d(70, 64, 2, stride=2)
        self.last = torch.nn.Conv2d(64, 300, 1)

    def forward(self, x):
        return self.last(torch.nn.functional.relu6(self.up(torch.relu(self.grouped(self.first(x))))))


class Products(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(50, 96)
        self.second = torch.nn.Linear(96, 129, bias=False)
        self.register_buffer("matrix", torch.randn(1, 129, 150))

    def forward(self, x):
        return self.second(torch.relu(self.first(x))) @ self.matrix


class Attention(torch.nn.Module):
    """Nothing else that is a product."""

    def forward(self, x):
        attend = torch.nn.functional.scaled_dot_product_attention
        return attend(x, x.flip(-1), x * 2), attend(x, x, x.flip(-1), is_causal=True)


def _stored_in_float16(make):
    """The model with weights that the program has in 16 bits."""
    return lambda: make().half().float()


FLOAT16_MODELS = {
    "convolutions": (Convolutions, (4, 3, 20, 18), {0: _size("b", 4), 2: _size("h", 20), 3: _size("w", 18)}),
    "transposed": (Transposed, (2, 3, 9, 7), {0: _size("b", 2), 2: _size("h", 9)}),
    "layers": (Layers, (3, 11, 64), {0: _size("b", 3), 1: _size("s", 11)}),
    "stored_convolutions": (
        _stored_in_float16(LargeConvolutions),
        (4, 3, 20, 18),
        {0: _size("b", 4), 3: _size("w", 18, 3)},
    ),
    "stored_products": (_stored_in_float16(Products), (1, 37, 50), {1: _size("s", 37)}),
}
BFLOAT16_MODELS = {
    "convolutions": (LargeConvolutions, (4, 3, 20, 18), {0: _size("b", 4), 2: _size("h", 20, 3), 3: _size("w", 18, 3)}),
    "products": (Products, (1, 37, 50), {1: _size("s", 37)}),
    "attention": (Attention, (2, 4, 45, 40), {0: _size("b", 2), 2: _size("s", 45, 9)}),
}


@dataclasses.dataclass(frozen=True)
class Forced:
    """An option, whether the CPU can do it, what is said if not, and how far results may be from float32."""

    option: str
    is_possible: bool
    complaint: str
    tolerance: float  # of the largest result


FLOAT16 = Forced("force_fp16", HAS_FLOAT16, "this CPU has no float16", 1e-2)
BFLOAT16 = Forced("force_bf16", HAS_BFLOAT16, "this CPU has no instructions for it", 2e-2)
CASES = [
    *(pytest.param(FLOAT16, *model, id=f"fp16-{name}") for name, model in FLOAT16_MODELS.items()),
    *(pytest.param(BFLOAT16, *model, id=f"bf16-{name}") for name, model in BFLOAT16_MODELS.items()),
]


@pytest.mark.parametrize("forced, make, shape, sizes", CASES)
@pytest.mark.parametrize("where", ["load", "program"])
def test_results_differ_where_the_cpu_has_the_type(forced, make, shape, sizes, where, tmp_path, capfd):
    """Where the CPU has the 16-bit type results differ from those in float32, but not by much."""
    torch.manual_seed(0)
    model = make().eval()
    exported = torch.export.export(model, (torch.randn(shape),), dynamic_shapes=(sizes,))
    exact = copy.deepcopy(model).double()  # eager tanh on a new thread has been 6e-5 off
    options = {forced.option: True}
    partitioner = EtXnnpackPartitioner(runtime_options=options if where == "program" else {})
    lowered = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    path = tmp_path / "model.pte"
    path.write_bytes(lowered.to_executorch().buffer)

    def load():
        return Runtime.get().load_program(path).load_method("forward")

    with et_xnnpack.load_options(**{forced.option: False}):
        full = load()
    assert forced.option not in capfd.readouterr().err
    with et_xnnpack.load_options(**(options if where == "load" else {})):
        narrow = load()
    log = capfd.readouterr().err
    assert log.count(forced.option) == (not forced.is_possible) == log.count(forced.complaint)
    for size in (shape, tuple((s + 1) // 2 if i in sizes else s for i, s in enumerate(shape)), shape):
        x = torch.randn(size)
        expected = exact(x.double())
        expected = expected if isinstance(expected, tuple) else (expected,)
        for in_narrow, in_full, right in zip(narrow.execute((x,)), full.execute((x,)), expected, strict=True):
            torch.testing.assert_close(in_full, right.float())
            assert in_narrow.dtype == torch.float32
            assert torch.equal(in_narrow, in_full) == (not forced.is_possible)
            assert (in_narrow - in_full).abs().max() < forced.tolerance * in_full.abs().max()


class HalfConvolutions(torch.nn.Module):
    """With what a model of 16 bits has between products: batch norms, sums, pools, casts."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1, stride=2, bias=False)
        self.first_norm = torch.nn.BatchNorm2d(16)
        self.depthwise = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16, bias=False)
        self.depthwise_norm = torch.nn.BatchNorm2d(16)
        self.last = torch.nn.Conv2d(16, 24, 1)
        for norm in (self.first_norm, self.depthwise_norm):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)

    def forward(self, x):
        y = torch.nn.functional.relu6(self.first_norm(self.first(x)))
        z = torch.nn.functional.hardswish(self.depthwise_norm(self.depthwise(y))) + y
        z = torch.nn.functional.max_pool2d(z, 2)
        image = self.last(z)
        return image, image.float().mean((2, 3)), z


class HalfLayers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 96)
        self.norm = torch.nn.LayerNorm(96)
        self.second = torch.nn.Linear(96, 64)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.first(self.second(self.norm(self.first(x)))))
        return torch.softmax(y @ y.transpose(-1, -2), -1), self.second(y) + x, self.second(y).float()


HALF_MODELS = {
    "convolutions": (HalfConvolutions, (4, 3, 20, 18), {0: _size("b", 4), 2: _size("h", 20, 7)}),
    "layers": (HalfLayers, (3, 11, 64), {0: _size("b", 3), 1: _size("s", 11)}),
}


@pytest.mark.parametrize("make, shape, sizes", HALF_MODELS.values(), ids=HALF_MODELS)
@pytest.mark.parametrize("threads", [1, 0])  # 0: the pool's
def test_programs_of_float16_add_up_in_it_with_force_fp16(make, shape, sizes, threads, tmp_path, capfd):
    torch.manual_seed(0)
    model = make().eval().half()
    exact = copy.deepcopy(model).double()
    exported = torch.export.export(model, (torch.randn(shape).half(),), dynamic_shapes=(sizes,))
    lowered = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner(require_full_delegation=True)])
    path = tmp_path / "model.pte"
    path.write_bytes(lowered.to_executorch().buffer)
    with et_xnnpack.load_options(force_fp16=True, num_threads=threads):
        in_float16 = Runtime.get().load_program(path).load_method("forward")
    log = capfd.readouterr().err
    assert log.count("force_fp16") == (not HAS_FLOAT16)
    with et_xnnpack.load_options(num_threads=threads):
        in_float32 = Runtime.get().load_program(path).load_method("forward")
    for size in (shape, tuple((s + 1) // 2 if i in sizes else s for i, s in enumerate(shape)), shape):
        x = torch.randn(size).half()
        results = zip(in_float16.execute((x,)), in_float32.execute((x,)), model(x), exact(x.double()), strict=True)
        for actual, full, eager, right in results:
            assert actual.dtype == full.dtype == eager.dtype
            assert actual.shape == full.shape == eager.shape
            limit = 1e-2 * right.abs().max()
            assert (full.double() - right).abs().max() < limit
            assert (actual.double() - right).abs().max() < limit


def test_force_bf16_says_where_it_does_nothing(tmp_path, capfd):
    model = torch.nn.Conv2d(3, 16, 3).eval()  # too few channels
    exported = torch.export.export(model, (torch.randn(1, 3, 8, 8),))
    path = tmp_path / "model.pte"
    lowered = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)
    with et_xnnpack.load_options(force_bf16=True):
        Runtime.get().load_program(path).load_method("forward")
    assert capfd.readouterr().err.count("force_bf16: no product is rounded to bfloat16: ") == 1


def test_packed_weights_of_bfloat16_stay_apart_in_a_file(program, tmp_path):
    packed = tmp_path / "packed"
    x = torch.rand(3, 11, 64)
    results = []
    for rounded in (False, True, False, True):
        with et_xnnpack.load_options(packed_cache_path=str(packed), force_bf16=rounded):
            results.append(harness.load_method(program).execute((x,))[0])
    assert torch.equal(results[0], results[2]) and torch.equal(results[1], results[3])
    assert torch.equal(results[0], results[1]) == (not HAS_BFLOAT16)
