# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Which groups of nodes the partitioner makes."""

import dataclasses
import time

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, NotFullyDelegated, count_delegation
from executorch.backends.et_xnnpack.aot import ops
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.compile_spec_schema import CompileSpec
from partitions import IDS, Encoder, X, lower, outside, partition
from torch import nn


def test_what_only_a_later_group_reads_is_computed_there():
    lowered = lower(lambda table, ids, w: outside(table, ids).sum(1) / w.sum(1, keepdim=True), IDS, torch.rand(2, 3))
    assert len(lowered.delegates) == 1, str(lowered.report)
    assert lowered.outside == ["aten.scatter_reduce.two"]


def test_what_an_operator_outside_reads_is_computed_before_it():
    def function(table, x):
        indices = (x * 2).to(torch.int64)
        return outside(table, indices) + x.sum()

    lowered = lower(function, torch.rand(1, 3))
    assert len(lowered.delegates) == 2, str(lowered.report)


def test_results_move_with_their_operator_into_a_later_group():
    """As where a language model quantizes activations while positions are read off a tensor."""

    def function(table, ids, x):
        scale, zero_point = torch.ops.quantized_decomposed.choose_qparams_per_token_asymmetric(x, torch.int8)
        limits = scale, zero_point, -128, 127, torch.int8
        q = torch.ops.quantized_decomposed.quantize_per_token(x, *limits)
        y = torch.ops.quantized_decomposed.dequantize_per_token(q, *limits, torch.float32)
        return y + outside(table, ids).sum(1)[:2, None]

    lowered = lower(function, IDS, torch.rand(2, 3))
    assert len(lowered.delegates) == 1, str(lowered.report)


def test_what_is_not_worth_a_call_does_not_part_others():
    def function(table, ids, x):
        start = ids[1, 2].item()
        torch._check(start >= 0)
        torch._check(start < 9)
        return (x * 2).softmax(-1) * table.narrow(0, start, 2)

    lowered = lower(function, IDS, torch.rand(2, 4))
    assert len(lowered.delegates) == 1, str(lowered.report)
    assert "aten.select_copy.int" in lowered.outside


def test_what_is_refused_late_stays_outside_with_its_reason():
    """An operator may be good where it stands, but not in a program of its own without its readers."""

    class Module(nn.Module):
        def forward(self, x):
            scale, zero_point = torch.ops.quantized_decomposed.choose_qparams.tensor(x * 2, -128, 127, 1e-6, torch.int8)
            limits = -128, 127, torch.int8
            y = torch.ops.quantized_decomposed.quantize_per_tensor.tensor(x, scale, zero_point, *limits)
            return y.to(torch.float32).exp()

    x = torch.rand(2, 3)
    exported = torch.export.export(Module(), (x,))
    partitioner = EtXnnpackPartitioner(block_operators=["quantized_decomposed.quantize_per_tensor"])
    manager = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    reasons = {r.target: r.reason for r in partitioner.report.refusals}
    assert "may only be used to quantize" in reasons["quantized_decomposed.choose_qparams.tensor"]
    assert count_delegation(manager.exported_program())[0] == len(partitioner.report.delegated) > 0


def test_a_mistake_in_a_row_leaves_its_operator_outside(monkeypatch, caplog):
    def broken(c, self):
        raise KeyError("x")

    row = ops.ROWS["aten.exp.default"]
    monkeypatch.setitem(ops.ROWS, "aten.exp.default", dataclasses.replace(row, lower=broken))
    lowered = lower(lambda table, x: (x * 2).exp() + 1, torch.rand(3))
    assert lowered.outside == ["aten.exp.default"]
    assert "a mistake in et_xnnpack: KeyError: 'x'" in str(lowered.report)
    assert "lowering aten_exp_default failed" in caplog.text


def test_the_parts_of_a_split_stay_with_it():
    def function(table, ids, x):
        a, b = (x + 1).split(2)
        return outside(table, ids).sum() + a * 2, b

    lowered = lower(function, IDS, torch.rand(4))
    assert len(lowered.delegates) <= 2, str(lowered.report)


# Structure ----------------------------------------------------------------------------


def test_a_cycle_is_cut():
    """relu -> outside -> add, and relu -> add: one partition would read its own result."""

    def function(table, ids):
        y = torch.relu(table)
        return outside(y, ids) + y

    lowered = lower(function, IDS)
    assert len(lowered.delegates) == 2, str(lowered.report)


def test_partitions_are_the_same_every_time():
    def function(table, ids):
        y = torch.relu(table)
        return outside(y, ids) + y

    assert len({str(lower(function, IDS).report) for _ in range(3)}) == 1


def test_a_program_without_a_delegate_is_left_alone():
    lowered = lower(lambda table, ids: outside(table, ids), IDS)
    assert lowered.delegates == {}
    assert lowered.buffer
    assert lowered.report.delegated == ()


def test_a_constant_may_be_used_inside_and_outside():
    lowered = lower(lambda table, ids, x: (outside(table, ids), F.linear(x, table)), IDS, torch.rand(2, 4))
    assert len(lowered.delegates) == 1
    assert lowered.buffer


def _chain(x):
    for _ in range(2500):
        x = torch.relu(x + 1)
    return x


def _fan_out(x):
    return sum(torch.relu(x + i) for i in range(500))


def _skips(x):
    layers = [x]
    for i in range(750):
        layers.append(torch.relu(layers[-1] + layers[i // 2]))
    return layers[-1]


@pytest.mark.parametrize(
    "function, nodes",
    [pytest.param(_chain, 5000, marks=pytest.mark.large), (_chain, 1500), (_fan_out, 1500), (_skips, 1500)],
)
def test_thousands_of_nodes_take_seconds(function, nodes):
    class Module(nn.Module):
        def forward(self, x):
            return function(x)

    program = torch.export.export(Module(), (torch.rand(4),))
    partitioner = EtXnnpackPartitioner()
    start = time.process_time()
    partitioner.partition(program)
    assert time.process_time() - start < 30
    assert len(partitioner.report.delegated) == 1
    assert sum(partitioner.report.partitions) >= nodes


# Sizes --------------------------------------------------------------------------------


class Images(nn.Module):
    """A function of images of 4 * size rows, and of a convolution."""

    def __init__(self, function):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, 2, 1)
        self.function = function

    def forward(self, x):
        return self.function(self.conv, x)


def check_images(function, calls):
    """What becomes of the program; its results are those of eager for every size."""
    module = Images(function).eval()
    dynamic_shapes = {"x": {2: 4 * torch.export.Dim("size", min=2, max=32)}}
    lowered = harness.lower_exported(
        torch.export.export(module, (torch.rand(1, 3, 16, 8),), dynamic_shapes=dynamic_shapes)
    )
    assert len(lowered.delegates) == calls, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    for rows in (16, 8, 60, 128):
        x = torch.rand(1, 3, rows, 8)
        results = method.execute([x])
        expected = module(x)
        torch.testing.assert_close(results, list(expected) if isinstance(expected, tuple) else [expected])
    return lowered


def test_a_size_of_a_result_inside_does_not_cut():
    def function(conv, x):
        y = conv(x)
        rows = conv(y.repeat(1, 1, 2, 1)[:, :3]).shape[2]
        return torch.relu(y).reshape(1, 2, 2, rows * 4)

    lowered = check_images(function, calls=1)
    assert lowered.report.is_full and not lowered.outside


def test_a_size_that_is_read_on_both_sides_of_an_operator_outside():
    def function(conv, x):
        y = conv(x)
        flat = torch.relu(y).reshape(4, y.shape[2] * 4)
        distance = F.pdist(flat).sum()
        return torch.relu(flat + distance).reshape(2, 2, y.shape[2] * 4)

    lowered = check_images(function, calls=3)
    (refusal,) = lowered.report.refusals
    assert lowered.report.between[2] == (refusal.node,)


def test_constants_with_several_readers_are_in_the_group_of_the_rest():
    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(4))

        def forward(self, x):
            w = torch.exp(self.weight) + 1
            return x * w, torch.sin(w) + x

    lowered = harness.lower_exported(torch.export.export(Module(), (X,)))
    assert lowered.report.is_full


# Options ------------------------------------------------------------------------------


def test_small_groups_are_dropped():
    report, outside = partition(block_operators=["aten.gelu"], min_partition_size=2)
    assert "aten.linear.default" not in report.delegated[0] or len(report.delegated[0]) > 1
    assert any("min_partition_size is 2" in r.reason for r in report.refusals)
    assert min(report.partitions) >= 2


def test_full_delegation_can_be_required():
    report, _ = partition(require_full_delegation=True)
    assert report.is_full
    with pytest.raises(NotFullyDelegated, match="3 x aten.gelu.default: its operator is in block_operators") as error:
        partition(require_full_delegation=True, block_operators=["aten.gelu"])
    assert len(error.value.report.refusals) == 3


def test_a_dry_run_lowers_nothing():
    exported = torch.export.export(Encoder().eval(), (X,))
    before = str(exported.graph)
    partitioner = EtXnnpackPartitioner(block_operators=["aten.gelu"], require_full_delegation=True)
    report = partitioner.dry_run(exported)
    assert [r.target for r in report.refusals] == ["aten.gelu.default"] * 3
    assert partitioner.report is None
    assert str(exported.graph) == before


@pytest.mark.parametrize(
    "options, message",
    [
        ({"block_operators": ["aten.lineer"]}, "did you mean 'aten.linear'"),
        ({"allow_operators": "aten.linear"}, "takes a list of names"),
        ({"block_modules": [1]}, "takes a list of names"),
        ({"allow_operators": None}, "allow_operators takes a list of names, not None"),
        ({"allow_modules": 5}, "allow_modules takes a list of names, not 5"),
        ({"block_operators": b""}, "block_operators takes a list of names, not b''"),
        ({"allow_operators": (name for name in ["aten.add"])}, "allow_operators takes a list of names"),
        ({"min_partition_size": 0}, "1 or more"),
        ({"min_partition_size": True}, "takes an integer"),
        ({"require_full_delegation": "x"}, "require_full_delegation takes a bool, not 'x'"),
        ({"require_full_delegation": 1}, "require_full_delegation takes a bool, not 1"),
        ({"compile_specs": 5}, "compile_specs takes a list of CompileSpec, not 5"),
        ({"compile_specs": "num_threads"}, "compile_specs takes a list of CompileSpec, not 'num_threads'"),
        ({"compile_specs": [CompileSpec("num_threads", "1")]}, "compile spec 'num_threads' takes bytes, not '1'"),
        ({"compile_specs": [CompileSpec("\ud800", b"1")]}, "has no form in UTF-8"),
        ({"compile_specs": [CompileSpec(1, b"1")]}, "the name of an option is a str, not 1"),
        (
            {"compile_specs": [CompileSpec("workspace_sharing", b"none"), CompileSpec("workspace_sharing", b"model")]},
            "option 'workspace_sharing' is given twice",
        ),
        (
            {"compile_specs": [CompileSpec("num_threads", b"1")], "runtime_options": {"num_threads": 0}},
            "option 'num_threads' is given twice",
        ),
        ({"compile_specs": [CompileSpec("precision", b"")]}, "no option 'precision'"),
        ({"compile_specs": ["num_threads"]}, "takes a list of CompileSpec"),
        ({"compile_specs": [CompileSpec("workspace_sharing", b"none\0b")]}, "no text with a zero byte"),
        ({"compile_specs": [CompileSpec("num_threads\0", b"1")]}, "zero byte"),
        ({"runtime_options": [1]}, "runtime_options takes a dict"),
        ({"runtime_options": "num_threads"}, "runtime_options takes a dict"),
        ({"runtime_options": []}, "runtime_options takes a dict"),
        ({"runtime_options": {"\ud800": 1}}, "has no form in UTF-8"),
        ({"runtime_options": {"workspace_sharing": "\ud800"}}, "has no form in UTF-8"),
        ({"runtime_options": {1: 1}}, "runtime_options takes a dict"),
        ({"runtime_options": {"workspace_sharing": "none\0b"}}, "'workspace_sharing' takes no text with a zero byte"),
        ({"runtime_options": {"num_threads\0": 1}}, "zero byte"),
    ],
)
def test_a_wrong_option_is_refused_at_once(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        EtXnnpackPartitioner(**options)


def test_methods_are_partitioned_one_by_one():
    class Other(nn.Module):
        def forward(self, x):
            return torch.relu(x)

    programs = {"encode": torch.export.export(Encoder().eval(), (X,)), "other": torch.export.export(Other(), (X,))}
    partitioners = {name: [EtXnnpackPartitioner(require_full_delegation=True)] for name in programs}
    manager = to_edge_transform_and_lower(programs, partitioner=partitioners)
    for name in programs:
        assert count_delegation(manager.exported_program(name)) == (1, {})


@pytest.mark.parametrize("example", (2, 20))
def test_a_convolution_leaves_the_range_of_the_batch(example):
    batch = {0: torch.export.Dim("batch", min=1, max=40)}
    exported = torch.export.export(nn.Conv2d(3, 4, 3), (torch.rand(example, 3, 8, 8),), dynamic_shapes=(batch,))
    program = harness.lower_exported(exported).manager.to_executorch().executorch_program
    (plan,) = program.execution_plan
    assert plan.values[plan.inputs[0]].val.sizes == [40, 3, 8, 8]


def test_operators_outside_the_core_set_need_no_exception():
    def several(table, x):
        return x.cumprod(0), torch.copysign(x, -1), F.adaptive_max_pool2d(x[None], 2), x.median(1).values

    lowered = lower(several, torch.rand(2, 8))
    assert lowered.outside == []
    names = {name for group in lowered.report.delegated for name in group}
    assert {"aten.cumprod.default", "aten.copysign.Scalar", "aten.median.dim"} <= names


class WindowAttention(nn.Module):
    """With a bias that is looked up in a table, as of the attention to windows of an image in Swin."""

    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.rand(9, 2))
        self.register_buffer("positions", torch.randint(9, (4, 4)))

    def forward(self, x):
        bias = self.table[self.positions.view(-1)].view(4, 4, 2).permute(2, 0, 1)
        return F.scaled_dot_product_attention(x, x, x, bias.contiguous()[None])


def test_an_operator_is_kept_whole_beside_what_is_computed_from_constants():
    lowered = harness.lower_exported(torch.export.export(WindowAttention(), (torch.rand(3, 2, 4, 8),)))
    assert lowered.outside == []
    assert any("aten.scaled_dot_product_attention.default" in group for group in lowered.report.delegated)
