# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lowering leaves the user's program as it was."""

import copy

import pytest
import torch
import torch.nn.functional as F
import torch.utils._pytree as pytree
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, NotFullyDelegated, count_delegation
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge, to_edge_transform_and_lower
from executorch.exir.backend.backend_api import to_backend
from torch import nn
from torch.export import Dim


class Image(nn.Module):
    """Convolutions, which make PyTorch learn about the batch, and parts of a dynamic size."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1)

    def forward(self, input):  # a name that FX does not like
        a, b = self.conv(input).chunk(2, 1)
        a, b = torch.split(a * b.sigmoid(), [1, 3], 1)
        return a * b.std(1, unbiased=True, keepdim=True)


class Cache(nn.Module):
    """A state, and an integer that is read off a tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("past", torch.zeros(8, 4))

    def forward(self, x, position):
        start = position.item()
        torch._check(start >= 0)
        torch._check(start + x.shape[0] <= 8)
        self.past.narrow(0, start, x.shape[0]).copy_(x)
        return self.past.sum(0) + x, self.past


class Resized(nn.Module):
    """Sizes that are computed from others, and what is computed in float64 of constants."""

    def forward(self, x):
        y = F.interpolate(x, scale_factor=1.5, mode="bilinear")
        positions = 100.0 ** torch.arange(4, dtype=torch.float64)
        return y * positions.float()[:, None, None]


class Positions(nn.Module):
    """Integers that are read off a tensor, which know of each other."""

    def forward(self, x, part):
        start, length = part.tolist()
        torch._check(start >= 0)
        torch._check(length >= 0)
        torch._check(start + length <= x.shape[0])
        return torch.relu(x.narrow(0, start, length)) + 1


class OutsideCore(nn.Module):
    """Operators outside PyTorch's core set, which no other partitioner takes."""

    def forward(self, x):
        return x.cumprod(0), x.median(1)


class Branch(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: torch.relu(x) + 1, lambda x: x.sin(), (x,))


CASES = {
    "image": (Image(), (torch.rand(3, 4, 6, 5),), ({0: Dim("batch", min=1, max=40), 2: Dim("height", min=2, max=64)},)),
    "cache": (Cache(), (torch.rand(3, 4), torch.tensor(1)), ({0: Dim("length", min=1, max=8)}, None)),
    "branch": (Branch(), (torch.rand(3, 4),), ({0: Dim("rows", min=1, max=40)},)),
    "static": (Image(), (torch.rand(3, 4, 6, 5),), None),
    "resized": (
        Resized(),
        (torch.rand(2, 4, 6, 5),),
        ({0: Dim("batch", min=1, max=9), 2: Dim("height", min=4, max=64)},),
    ),
    "positions": (Positions(), (torch.rand(6, 4), torch.tensor([1, 4])), None),
    "outside core": (OutsideCore(), (torch.rand(3, 4),), ({0: Dim("rows", min=1, max=40)},)),
}

#: How often PyTorch counts, and results that it keeps to give them again.
_COUNTED = {
    "counter",
    "fake_tensor_cache",
    "unbacked_symint_counter",
    "_version_counter",
    "_prev_cache_key",
    "_expr_sym_node_id",
}


all_programs = pytest.mark.parametrize("name", CASES)
#: Where ``to_backend`` checks "positions", it makes new symbols in the program that it is called with.
edge_programs = pytest.mark.parametrize("name", [name for name in CASES if name not in ("outside core", "positions")])
portable_programs = pytest.mark.parametrize("name", [name for name in CASES if name != "outside core"])


def _export(name):
    module, example, dynamic_shapes = CASES[name]
    return torch.export.export(copy.deepcopy(module).eval(), example, dynamic_shapes=dynamic_shapes, strict=False)


def _envs(program):
    envs = {}
    for module in program.graph_module.modules():
        for node in module.graph.nodes if isinstance(module, torch.fx.GraphModule) else ():
            for value in pytree.tree_leaves(node.meta.get("val")):
                for size in value.shape if isinstance(value, torch.Tensor) else (value,):
                    if isinstance(size, torch.SymInt):
                        envs[id(size.node.shape_env)] = size.node.shape_env
    return list(envs.values())


def _contents(value):
    """A copy of ``value`` as far as it can change."""
    if isinstance(value, dict):
        return {key: _contents(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)) or type(value).__name__ == "OrderedSet":
        return [_contents(v) for v in value]
    return set(value) if isinstance(value, set) else value


def _snapshot(program):
    modules = [m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)]
    nodes = [n for m in modules for n in m.graph.nodes]
    return {
        "code": [m.code for m in modules],
        "nodes": [(id(n), n.name, n.op, n.target, _contents(n.args), _contents(n.kwargs)) for n in nodes],
        "meta": [{key: id(value) for key, value in n.meta.items()} for n in nodes],
        "values": [str(n.meta.get("val")) for n in nodes],
        "signature": str(program.graph_signature),
        "calls": str(program.module_call_graph),
        "constraints": dict(program.range_constraints),
        "state": {k: (id(v), v.clone()) for k, v in program.state_dict.items()},
        "constants": {k: id(v) for k, v in program.constants.items()},
        "kinds": [type(e) for e in _envs(program)],
        "envs": [{k: _contents(v) for k, v in vars(e).items() if k not in _COUNTED} for e in _envs(program)],
    }


def _assert_as_before(program, before):
    after = _snapshot(program)
    for key in before.keys() - {"state", "envs"}:
        assert after[key] == before[key], key
    assert after["state"].keys() == before["state"].keys()
    for name, (identity, content) in before["state"].items():
        assert after["state"][name][0] == identity
        assert torch.equal(after["state"][name][1], content)
    for new, old in zip(after["envs"], before["envs"], strict=True):
        assert new.keys() == old.keys()
        for name, value in old.items():
            assert new[name] == value, name


def _lower(program, partitioners):
    manager = to_edge_transform_and_lower(program, partitioner=partitioners)
    counted = count_delegation(manager.exported_program())
    return counted, manager.to_executorch().buffer


@all_programs
def test_nothing_changes(name):
    exported = _export(name)
    before = _snapshot(exported)
    partitioner = EtXnnpackPartitioner()
    _lower(exported, [partitioner])
    _assert_as_before(exported, before)
    partitioner.dry_run(exported)
    _assert_as_before(exported, before)


@pytest.mark.sampled(of=3)
@all_programs
def test_programs_lower_again_to_the_same(name):
    exported = _export(name)
    first = _lower(exported, [EtXnnpackPartitioner()])
    assert _lower(exported, [EtXnnpackPartitioner()]) == first


@pytest.mark.sampled(of=3)
@portable_programs
def test_another_partitioner_finds_the_program_as_it_was(name):
    alone, exported = _export(name), _export(name)
    _lower(exported, [EtXnnpackPartitioner()])
    assert _lower(exported, [XnnpackPartitioner()]) == _lower(alone, [XnnpackPartitioner()])


@pytest.mark.sampled(of=3)
@edge_programs
def test_an_edge_program_stays_as_it_was(name):
    """And so does that which it was made of, whose sizes it shares."""
    exported = _export(name)
    edge = to_edge(exported)
    before, before_edge = _snapshot(exported), _snapshot(edge.exported_program())
    edge.to_backend(EtXnnpackPartitioner()).to_executorch()
    _assert_as_before(exported, before)
    _assert_as_before(edge.exported_program(), before_edge)


@pytest.mark.sampled(of=3)
@edge_programs
def test_a_program_of_the_lower_interface_stays_as_it_was(name):
    edge = to_edge(_export(name)).exported_program()
    before = _snapshot(edge)
    to_backend(edge, EtXnnpackPartitioner())
    _assert_as_before(edge, before)


@portable_programs
def test_a_refusal_changes_nothing(name):
    exported = _export(name)
    before = _snapshot(exported)
    blocked = ["aten.*", "dim_order_ops.*"]
    with pytest.raises(NotFullyDelegated):
        _lower(exported, [EtXnnpackPartitioner(block_operators=blocked, require_full_delegation=True)])
    _assert_as_before(exported, before)
