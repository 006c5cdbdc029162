# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a program computes in float64 of constants alone is computed ahead of time."""

import math

import harness
import numpy as np
import pytest
import torch
from executorch.backends.et_xnnpack.serialization.schema import DType, UnaryKind
from torch import nn
from torch.export import Dim

WIDE = torch.float64
X = torch.linspace(-1, 1, 48).reshape(1, 6, 8)


class Program(nn.Module):
    """A linear layer with ``positions`` added in the middle, which would cut it in two."""

    def __init__(self, positions):
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(8, 8)
        self.positions = positions
        if positions is _of_buffer:
            table = np.sin(np.arange(6)[:, None] / 10000 ** (np.arange(8) / 8))
            self.register_buffer("table", torch.from_numpy(table), persistent=False)

    def forward(self, x):
        return torch.relu(self.linear(x)) + self.positions(self, x)


def _frequencies(size, theta=10000.0):
    return 1.0 / theta ** (torch.arange(0, size, 2, dtype=WIDE)[: size // 2] / size)


def _outer(model, x):
    angles = torch.outer(torch.arange(6, dtype=WIDE), _frequencies(8))
    return torch.cat([angles.sin(), angles.cos()], 1).to(x.dtype)


def _interleaved(model, x):
    angles = torch.outer(torch.arange(x.shape[1], dtype=WIDE), _frequencies(8))
    return x * angles.cos().repeat_interleave(2, dim=1).float() + angles.sin().repeat_interleave(2, dim=1).float()


def _stacked(model, x):
    angles = torch.einsum("m,d->md", torch.arange(6, dtype=WIDE), _frequencies(8))
    return torch.stack([torch.cos(angles), torch.sin(angles)], dim=-1).flatten(1).float()


def _grid(model, x):
    rows, columns = torch.meshgrid(torch.arange(2, dtype=WIDE), torch.arange(3, dtype=WIDE), indexing="ij")
    omega = _frequencies(4)
    parts = [(axis.flatten()[..., None] @ omega[None]) for axis in (rows, columns)]
    return torch.cat([f(p) for p in parts for f in (torch.sin, torch.cos)], 1)[None].to(torch.float32)


def _in_place(model, x):
    table = torch.zeros(6, 8, dtype=WIDE)
    angles = torch.arange(6, dtype=WIDE)[:, None] * torch.exp(torch.arange(0, 8, 2) * (-math.log(1e4) / 8))
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table.to(x.dtype)


def _complex(model, x):
    angles = torch.outer(torch.arange(6, dtype=WIDE), _frequencies(8))
    turns = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turns * turns).flatten(1).float()


def _of_buffer(model, x):
    return (model.table * 2).to(x.dtype)


def _integers(model, x):
    return x[:, torch.linspace(0, 5, 6, dtype=WIDE).flip(0).round().long()]


POSITIONS = [_outer, _interleaved, _stacked, _grid, _in_place, _complex, _of_buffer, _integers]


def _lower(model, x=X, dynamic_shapes=None):
    return harness.lower_exported(torch.export.export(model.eval(), (x,), dynamic_shapes=dynamic_shapes))


def _assert_equal(lowered, model, x=X):
    results = harness.interpret(lowered, (x,), lowered.optimized)
    with torch.no_grad():
        expected = model(x)
    expected = expected if isinstance(expected, tuple) else (expected,)
    for result, e in zip(results, expected, strict=True):
        torch.testing.assert_close(result, e, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("positions", POSITIONS, ids=lambda f: f.__name__.strip("_"))
def test_positions_of_numbers_alone_are_folded(positions):
    model = Program(positions)
    lowered = _lower(model)
    assert lowered.report.is_full, str(lowered.report)
    _assert_equal(lowered, model)


def test_a_batch_may_be_dynamic():
    model = Program(_outer)
    lowered = _lower(model, X.expand(3, 6, 8).contiguous(), ({0: Dim("batch", min=1, max=5)},))
    assert lowered.report.is_full, str(lowered.report)
    for batch in (1, 2, 5):
        _assert_equal(lowered, model, X.repeat(batch, 1, 1))


@pytest.mark.parametrize("positions", [_outer, _of_buffer, _complex], ids=lambda f: f.__name__.strip("_"))
def test_no_constant_stays_that_nothing_reads(positions):
    lowered = _lower(Program(positions))
    assert [n for n in lowered.program.graph.nodes if n.op == "placeholder" and not n.users] == []
    (delegate,) = lowered.delegates.values()
    assert {t.dtype for t in delegate.original_module.constants.values()} == {torch.float32}


def test_the_program_of_the_user_stays_as_it_is():
    model = Program(_outer)
    exported = torch.export.export(model, (X,))
    before = str(exported.graph), str(exported.graph_signature), set(exported.constants)
    harness.lower_exported(exported)
    assert (str(exported.graph), str(exported.graph_signature), set(exported.constants)) == before


def test_a_result_of_the_program_is_computed():
    class Both(Program):
        def forward(self, x):
            positions = self.positions(self, x)
            return self.linear(x) + positions, positions

    model = Both(_outer)
    lowered = _lower(model)
    assert len(lowered.delegates) == 1
    _assert_equal(lowered, model)


def test_random_numbers_are_drawn_in_every_call():
    lowered = _lower(Program(lambda model, x: torch.rand(8, dtype=WIDE).float()))
    assert any("rand" in target for target in lowered.outside)


def test_a_buffer_that_is_written_is_no_constant():
    class Counter(Program):
        def __init__(self):
            super().__init__(None)
            self.register_buffer("count", torch.zeros(8, dtype=WIDE))

        def forward(self, x):
            self.count += 1
            return self.linear(x) + self.count.sqrt().float()

    lowered = _lower(Counter())
    assert lowered.report.is_full, str(lowered.report)
    (graph,) = lowered.optimized.values()
    assert any(graph.values[node.outputs[0]].dtype == DType.Float64 for node in graph.nodes if node.op == "Unary")


def test_positions_of_a_dynamic_length_are_computed_in_float64():
    def positions(model, x):
        angles = torch.arange(x.shape[1], dtype=WIDE)[:, None] * _frequencies(8)
        return torch.cat([angles.sin(), angles.cos()], 1).float()

    model = Program(positions)
    lowered = _lower(model, dynamic_shapes=({1: Dim("length", min=2, max=9)},))
    assert lowered.report.is_full, str(lowered.report)
    (graph,) = lowered.optimized.values()
    kinds = {node.attributes.kind for node in graph.nodes if node.op == "Unary"}
    assert kinds == {UnaryKind.Sin, UnaryKind.Cos}, str(graph)  # frequencies are constants
    for length in (2, 5, 9):
        _assert_equal(lowered, model, torch.rand(1, length, 8))


def test_what_an_input_takes_part_in_is_not_folded():
    def positions(model, x):
        return (x.double() * torch.arange(8, dtype=WIDE).sqrt()).float()

    model = Program(positions)
    lowered = _lower(model)
    assert lowered.report.is_full, str(lowered.report)
    (graph,) = lowered.optimized.values()
    computed = [n for n in graph.nodes if graph.values[n.outputs[0]].dtype == DType.Float64]
    assert [node.op for node in computed] == ["Cast", "Binary"], str(graph)
    _assert_equal(lowered, model)
