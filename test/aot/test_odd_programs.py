# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs that no delegate expects: lowering never raises, and the results are those of eager PyTorch."""

import copy

import harness
import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from torch import nn
from torch.utils import _pytree as pytree

pytestmark = harness.needs_runtime


class ChecksAfterTheResult(nn.Module):
    """As Gemma compares how many image tokens and features it got: that takes longer than the result."""

    def forward(self, x):
        torch._check_tensor_all(x * 2 < 9)
        return (x * 2).exp()


class TwoCallsAndChecks(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(10, 3))

    def forward(self, x):
        first = (x > 0).sum().item()
        torch._check(first >= 0)
        torch._check(first <= 8)
        torch._check((first * 3 + 1) // 2 <= 40)
        return self.table.narrow(0, first, 2) * x.sum()


class WritesToAParameter(nn.Module):
    """As RWKV rescales its weights in the first call."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(3, 4), requires_grad=False)
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        self.weight.div_(2)
        return self.linear(x @ self.weight)


class WritesToAnInput(nn.Module):
    def forward(self, x, y):
        x.add_(y)
        return (x * 2).exp()


class WritesToNewMemory(nn.Module):
    def forward(self, x):
        new = x.new_empty(x.shape).copy_(x) + 1
        return torch.empty(x.shape).copy_(x) * 2, torch.empty((2, *x.shape), dtype=torch.bool).fill_(True), new


class BatchesFirst(nn.Module):
    """What an operator outside reads of a network whose steps are its first axis in memory."""

    def __init__(self, network):
        super().__init__()
        self.network = network(6, 5, batch_first=True)
        self.last = nn.Sequential(nn.Linear(5, 4), nn.Tanh())

    def forward(self, x):
        steps, state = self.network(x)
        return self.last(steps.permute(1, 0, 2)), steps, state


@pytest.mark.parametrize("network", [nn.LSTM, nn.GRU, nn.RNN])
def test_operators_outside_read_what_recurrent_networks_give(network):
    torch.manual_seed(0)
    model = BatchesFirst(network).eval()
    example = (torch.rand(3, 4, 6),)
    exported = torch.export.export(model, example, dynamic_shapes=({0: torch.export.Dim("batch", max=3)},))
    partitioner = EtXnnpackPartitioner(block_operators=["aten.permute*"])
    lowered = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    delegated = [target for group in partitioner.report.delegated for target in group]
    assert any(target.startswith(f"aten.{network.__name__.lower()}") for target in delegated)
    method = harness.load_method(lowered.to_executorch().buffer)
    for batch in (3, 2, 1):
        x = torch.rand(batch, 4, 6)
        expected = pytree.tree_leaves(model(x))
        torch.testing.assert_close(method.execute((x,)), expected)


def test_new_memory_has_the_sizes_of_the_call():
    """ExecuTorch took those of the example for all calls, so that others were refused."""
    model, sizes = WritesToNewMemory(), {0: torch.export.Dim("n", max=6)}
    exported = torch.export.export(model, (torch.rand(6, 3),), dynamic_shapes=(sizes,))
    lowered = harness.lower_exported(exported)
    assert lowered.outside == [], str(lowered.report)
    method = harness.load_method(lowered.buffer)
    for n in (6, 1, 4, 0):
        inputs = (torch.rand(n, 3),)
        torch.testing.assert_close(method.execute(inputs), list(model(*inputs)))


@pytest.mark.parametrize("model", (ChecksAfterTheResult(), TwoCallsAndChecks()), ids=lambda m: type(m).__name__)
def test_checks_of_integers_may_come_last(model):
    inputs = (torch.rand(2, 3) - 0.4,)
    lowered = harness.lower_exported(torch.export.export(model, inputs), _check_ir_validity=False)
    assert len(lowered.delegates) >= 1, str(lowered.report)
    *_, last = lowered.program.graph.nodes
    assert last.op == "output"
    method = harness.load_method(lowered.buffer)
    for _ in range(3):
        inputs = (torch.rand(2, 3) - 0.4,)
        torch.testing.assert_close(method.execute(inputs)[0], model(*inputs))


def test_a_parameter_that_is_written_to_is_no_constant():
    """What becomes of the new content is ExecuTorch's business: it is one more result, and lost."""
    model, inputs = WritesToAParameter().eval(), (torch.rand(2, 3),)
    eager = copy.deepcopy(model)
    with torch.no_grad():
        exported = torch.export.export(model, inputs)
        lowered = harness.lower_exported(exported, _check_ir_validity=False)
        assert len(lowered.delegates) == 1, str(lowered.report)
        method = harness.load_method(lowered.buffer)
        written, result = method.execute(inputs)
        torch.testing.assert_close(result, eager(*inputs))
        torch.testing.assert_close(written, eager.weight.data)
        plain = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False)).to_executorch().buffer
        plain = harness.load_method(plain)
        for _ in range(2):
            torch.testing.assert_close(method.execute(inputs), plain.execute(inputs))


def test_an_input_that_is_written_to():
    model = WritesToAnInput()
    exported = torch.export.export(model, (torch.rand(3), torch.rand(3)))
    lowered = harness.lower_exported(exported, _check_ir_validity=False)
    assert len(lowered.delegates) == 1, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    x, y = torch.rand(3), torch.rand(3)
    torch.testing.assert_close(method.execute((x.clone(), y))[-1], model(x, y))
