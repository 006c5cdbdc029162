# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Buffers that a program writes to: who owns them, how long they live, who sees them."""

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.exir.delegate import executorch_call_delegate
from samples import rand
from samples.state import _state
from torch import nn

pytestmark = harness.needs_runtime


class Cache(nn.Module):
    """Writes a row and reads another one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.arange(12.0).reshape(4, 3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, row, to, source):
        self.count += 1
        self.rows.index_copy_(0, to, row)
        return self.rows.index_select(0, source), self.count * 1


ROW = torch.tensor([[7.0, 8.0, 9.0]])


def at(i):
    return torch.tensor([i])


@pytest.fixture(scope="module")
def cache():
    return harness.lower_exported(torch.export.export(Cache(), (ROW, at(0), at(1))))


def load(lowered, group=0):
    """A new method; ExecuTorch's own cache of methods belongs to the program."""
    et_xnnpack.set_option("state_group", group)
    try:
        return harness.load_method(lowered.buffer)
    finally:
        et_xnnpack.set_option("state_group", 0)


def state_inputs(lowered):
    (graph,) = lowered.optimized.values()
    return {i.state.name for i in graph.inputs if i.state is not None}


def test_states_are_no_arguments(cache):
    assert state_inputs(cache) == {"rows", "count"}
    assert cache.outside == []
    assert not cache.program.graph_signature.buffers_to_mutate


def test_methods_have_states_of_their_own(cache):
    first, second = load(cache), load(cache)
    first.execute((ROW, at(2), at(2)))
    rows, count = second.execute((ROW, at(0), at(2)))
    assert rows.tolist() == [[6, 7, 8]] and count == 1
    rows, count = first.execute((ROW, at(0), at(2)))
    assert rows.tolist() == ROW.tolist() and count == 2


def test_a_failed_call_changes_nothing(cache):
    method = load(cache)
    for bad in (ROW, at(4), at(0)), (ROW, at(1), at(4)), (ROW, at(-1), at(0)), (ROW[:, :2], at(1), at(0)):
        with pytest.raises(RuntimeError):
            method.execute(bad)
    for i, expected in enumerate(torch.arange(12.0).reshape(4, 3)):
        rows, count = method.execute((ROW, at(0), at(i)))
        assert rows.tolist() == [expected.tolist() if i else ROW[0].tolist()]
        assert count == i + 1


def test_a_group_shares_its_states(cache):
    first, second, other = load(cache, group=7), load(cache, group=7), load(cache, group=8)
    first.execute((ROW, at(2), at(2)))
    rows, count = second.execute((ROW, at(0), at(2)))
    assert rows.tolist() == ROW.tolist() and count == 2
    rows, count = other.execute((ROW, at(0), at(2)))
    assert rows.tolist() == [[6, 7, 8]] and count == 1
    del first, second, rows, count  # the last of a group frees its states
    assert load(cache, group=7).execute((ROW, at(0), at(2)))[1] == 1


def test_a_group_needs_equal_states(cache):
    sample = _state("state_of_another_size", lambda m, x: m.rows.add_(x) * 2, rand(3), rows=torch.rand(5, 3))
    method = load(cache, group=9)
    with pytest.raises(RuntimeError):
        load(harness.lower_sample(sample), group=9)
    assert method.execute((ROW, at(0), at(2)))[1] == 1


class Outside(nn.Module):
    """Updates a buffer by an operator that is not delegated."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("last", torch.zeros(4))

    def forward(self, x, index):
        y = x * 2 + self.total
        self.total.copy_(self.total.scatter_reduce(0, index, y, "mean"))
        self.last.copy_(y)
        return y + 1


def test_a_buffer_that_is_written_outside_stays_there():
    example = (torch.rand(4), torch.arange(4))
    lowered = harness.lower_exported(torch.export.export(Outside(), example))
    assert "aten.scatter_reduce.two" in lowered.outside
    assert set(lowered.program.graph_signature.buffers_to_mutate.values()) == {"total", "last"}
    eager = Outside()
    states = {}
    for _ in range(3):
        inputs = (torch.rand(4), torch.randperm(4))
        (actual,) = harness.interpret(lowered, inputs, lowered.optimized, states)
        torch.testing.assert_close(actual, eager(*inputs))
    torch.testing.assert_close(states["last"], eager.last)


class Apart(nn.Module):
    """One delegate has nothing to do but to update states."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("large", torch.ones(3, 4))
        self.register_buffer("small", torch.zeros(4))

    def forward(self, x, index):
        y = self.total * 2 + x
        z = y.scatter_reduce(0, index, x, "mean")
        self.small += z
        self.large *= z
        return y, z


def test_no_delegate_call_is_without_results():
    lowered = harness.lower_exported(torch.export.export(Apart(), (torch.rand(4), torch.arange(4))))
    assert len(lowered.delegates) == 2, str(lowered.report)
    assert set(lowered.program.graph_signature.buffers_to_mutate.values()) == {"small"}
    eager, states = Apart(), {}
    for _ in range(3):
        inputs = (torch.rand(4), torch.arange(4))
        actual = harness.interpret(lowered, inputs, lowered.optimized, states)
        torch.testing.assert_close(actual, list(eager(*inputs)))
    for name in "small", "large":
        torch.testing.assert_close(states[name], getattr(eager, name))
    graph = lowered.manager.to_executorch().exported_program().graph
    assert sum(node.target is executorch_call_delegate for node in graph.nodes) == 2


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(2), persistent=False)
        self.register_buffer("scale", torch.ones(2), persistent=False)

    def forward(self, x):
        self.total += x
        return self.total * self.scale + torch.tensor([1.0, 2.0])


def test_the_exported_program_stays_as_it_is():
    exported = torch.export.export(Constants(), (torch.rand(2),))
    harness.lower_exported(exported)
    assert exported.module()(torch.ones(2)).tolist() == [2, 3]


class Writer(nn.Module):
    """Has no result, or another one than its states."""

    def __init__(self, has_result=False):
        super().__init__()
        self.register_buffer("small", torch.zeros(2))
        self.register_buffer("large", torch.zeros(3))
        self.has_result = has_result

    def forward(self, x):
        self.small.add_(x[:2])
        self.large.mul_(x)
        return x + 1 if self.has_result else None


def test_a_method_without_a_result_says_which_buffer_stays_outside(caplog):
    lowered = harness.lower_exported(torch.export.export(Writer(), (torch.ones(3),)))
    assert state_inputs(lowered) == {"large"}
    (buffer,) = lowered.report.buffers
    assert buffer.target == "small" and "have the method return a tensor" in buffer.reason
    assert buffer.reason in str(lowered.report) and buffer.reason in caplog.text
    assert lowered.report.to_dict()["buffers"][0]["target"] == "small"
    lowered = harness.lower_exported(torch.export.export(Writer(has_result=True), (torch.ones(3),)))
    assert state_inputs(lowered) == {"small", "large"} and lowered.report.buffers == []


class Reader(nn.Module):
    """Reads a buffer that another method writes."""

    def __init__(self, writes):
        super().__init__()
        self.register_buffer("large", torch.zeros(3))
        self.writes = writes

    def forward(self, x):
        if self.writes:
            self.large.copy_(self.large)
        return x * self.large


@pytest.mark.parametrize("writes", [False, True])
def test_a_buffer_is_a_state_of_the_methods_that_write_it(writes):
    """What docs/state-and-memory.md says of methods that only read it."""
    x = torch.ones(3)
    lowered = harness.lower_exported(torch.export.export(Reader(writes), (x,)))
    assert state_inputs(lowered) == ({"large"} if writes else set())
