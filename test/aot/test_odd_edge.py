# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Edge programs that are damaged or huge: an operator stays outside for a reason, or an error names the node."""

import os
import subprocess
import sys
from pathlib import Path

import harness
import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.lowering.support import Support
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.runtime import Runtime
from samples import all_samples
from torch import nn
from torch._export.verifier import SpecViolationError
from torch.export import Dim

UNCHECKED = EdgeCompileConfig(_check_ir_validity=False)


class Chain(nn.Module):
    def forward(self, x):
        return torch.tanh(torch.exp(x) + 1)


def edge(model, *inputs, **options):
    return to_edge(torch.export.export(model.eval(), inputs, **options), compile_config=UNCHECKED)


def node_of(manager, name):
    graph = manager.exported_program().graph
    return next(n for n in graph.nodes if n.op == "call_function" and name in str(n.target))


def lower(manager):
    partitioner = EtXnnpackPartitioner()
    return harness.Lowered(manager.to_backend(partitioner), partitioner.report)


def _without_value(node):
    del node.meta["val"]


def _of_no_value(node):
    node.meta["val"] = None


def _of_nothing(node):
    node.meta.clear()


@pytest.mark.parametrize("damage", (_without_value, _of_no_value, _of_nothing))
@pytest.mark.parametrize("name", ("exp", "add", "tanh"))
def test_a_node_without_metadata_stays_outside_or_is_named(name, damage):
    manager = edge(Chain(), torch.rand(3))
    node = node_of(manager, name)
    damage(node)
    try:
        lowered = lower(manager)
    except Exception as error:
        assert node.name in str(error)
        return
    assert any(name in outside for outside in lowered.outside)
    assert name in str(lowered.report)


def test_an_operator_that_writes_in_place_is_refused():
    manager = edge(Chain(), torch.rand(3))
    node = node_of(manager, "add")
    node.target = torch.ops.aten.add_.Scalar
    node.args = (node.args[0], 1.0)
    assert Support(manager.exported_program()).reason(node)
    with pytest.raises(SpecViolationError, match="add_"):  # PyTorch looks, too
        lower(manager)


@harness.needs_runtime
def test_sizes_without_bounds():
    """Whatever is delegated is right for every size."""
    model = Chain()
    exported = torch.export.export(model, (torch.rand(3, 4),), dynamic_shapes=({0: Dim("n")},))
    lowered = harness.lower_exported(exported, _check_ir_validity=False)
    assert lowered.outside or lowered.delegates
    if lowered.outside:
        assert "bound" in str(lowered.report)
        return
    method = harness.load_method(lowered.buffer)
    for size in (3, 2, 1, 0):
        x = torch.rand(size, 4)
        torch.testing.assert_close(method.execute((x,))[0], model(x))


class Names(nn.Module):
    """What becomes of dots in names of parameters is what others are called already."""

    def __init__(self):
        super().__init__()
        self.a = nn.Module()
        self.a.register_buffer("b", torch.full((3,), 1.0))
        self.register_buffer("a_b", torch.full((3,), 2.0))
        self.register_buffer("b_a_b", torch.full((3,), 4.0))
        self.register_buffer("x", torch.full((3,), 8.0))
        self.a.register_buffer("count", torch.zeros(1))
        self.register_buffer("a_count", torch.zeros(1))

    def forward(self, x, input, output):
        self.a.count.add_(1)
        self.a_count.add_(10)
        return x * self.a.b + input * self.a_b + output * self.b_a_b + self.x, self.a.count * 1, self.a_count * 1


@harness.needs_runtime
def test_names_that_collide():
    inputs = tuple(torch.rand(3) for _ in range(3))
    lowered = harness.lower_exported(torch.export.export(Names(), inputs))
    assert lowered.outside == [], str(lowered.report)
    method, model = harness.load_method(lowered.buffer), Names()
    for _ in range(3):
        torch.testing.assert_close(method.execute(inputs), list(model(*inputs)))


@pytest.mark.parametrize("sample", [s for i, s in enumerate(all_samples()) if i % 150 == 0], ids=lambda s: s.name)
def test_lowering_twice_gives_the_same_bytes(sample):
    first, second = (harness.lower_exported(sample.export(), sample.preserve, **sample.config).buffer for _ in range(2))
    assert first == second


_LOWER = """
import hashlib, torch
torch.manual_seed(0)  # samples make random numbers
import faster_export, harness
from samples import all_samples
faster_export.patch_torch()
for sample in all_samples()[::120]:
    buffer = harness.lower_exported(sample.export(), sample.preserve, **sample.config).buffer
    print(sample.name, hashlib.sha256(buffer).hexdigest())
"""


def test_another_process_gives_the_same_bytes():
    """Whatever order its sets and its addresses have."""
    folder = Path(harness.__file__).parent
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _LOWER],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "2")
    ]
    first, second = (process.communicate()[0].splitlines() for process in processes)
    assert first == second
    assert len(first) == len(all_samples()[::120])


class Long(nn.Module):
    """As many operators as asked for, none of which can be left out."""

    def __init__(self, count):
        super().__init__()
        self.count = count

    def forward(self, x):
        for i in range(self.count // 2):
            x = torch.tanh(x + i % 7)
        return x


@harness.needs_runtime
@pytest.mark.large
def test_ten_thousand_nodes():
    model, inputs = Long(10_000), (torch.rand(3),)
    lowered = harness.lower_exported(torch.export.export(model, inputs))
    assert len(lowered.delegates) == 1 and not lowered.outside
    (result,) = harness.load_method(lowered.buffer).execute(inputs)
    torch.testing.assert_close(result, model(*inputs))


@harness.needs_runtime
@pytest.mark.large
def test_two_gigabytes_of_constants(tmp_path):
    """More than an offset with a sign holds. Two layers, of which one alone has half of that."""
    wide, narrow = 32_768, 8_192
    with torch.no_grad():
        model = nn.Sequential(nn.Linear(narrow, wide, bias=False), nn.Linear(wide, narrow, bias=False)).eval()
        for i, layer in enumerate(model):  # numbers that take 32 bits, and not the same twice
            layer.weight.fill_(0.3 + i)
            layer.weight[:, ::2] = -0.1 - i
        inputs = (torch.rand(1, narrow),)
        lowered = harness.lower_exported(torch.export.export(model, inputs))
        path = tmp_path / "large.pte"
        with path.open("wb") as file:
            lowered.manager.to_executorch().write_to_file(file)
        assert path.stat().st_size > 2**31
        (result,) = Runtime.get().load_program(path).load_method("forward").execute(inputs)
        torch.testing.assert_close(result, model(*inputs), rtol=1e-3, atol=1e-3)
