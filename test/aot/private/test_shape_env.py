# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``aot/private/shape_env.py`` assumes of PyTorch's ShapeEnv."""

import pytest
import torch
from executorch.backends.et_xnnpack.aot.private import shape_env, sizes
from executorch.backends.et_xnnpack.aot.private.torch import copied
from torch import nn
from torch.export import Dim
from torch.fx.experimental.symbolic_shapes import ShapeEnv


def program():
    batch = {0: Dim("batch", min=1, max=40)}
    return torch.export.export(nn.Linear(4, 4), (torch.rand(3, 4),), dynamic_shapes=(batch,))


def batch_of(module):
    return next(n for n in module.graph.nodes if n.name == "input").meta["val"].shape[0]


def bounds(size):
    found = sizes.Symbols(size).bounds(sizes.expression(size))
    return found.lower, found.upper


def test_a_size_knows_its_shape_env():
    assert isinstance(batch_of(program().graph_module).node.shape_env, ShapeEnv)


def test_a_comparison_becomes_a_promise():
    """Why there is a copy at all."""
    size = batch_of(program().graph_module)
    assert size < 16
    assert bounds(size)[1] == 15, "PyTorch takes no comparison for a promise any more: is a copy still needed?"


def test_a_copy_knows_the_same_and_learns_for_itself():
    original = program().graph_module
    own = copied(original)
    shape_env.own_sizes(own)
    before, after = batch_of(original), batch_of(own)
    assert before.node.shape_env is not after.node.shape_env
    assert vars(before.node.shape_env).keys() <= vars(after.node.shape_env).keys()
    assert sizes.expression(before) == sizes.expression(after)
    assert bounds(before) == bounds(after)
    assert after < 16
    assert bounds(after)[1] == 15
    assert bounds(before)[1] == 40


def test_all_sizes_of_a_program_get_the_same_shape_env():
    own = copied(program().graph_module)
    shape_env.own_sizes(own)
    values = [n.meta["val"] for n in own.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    envs = {id(s.node.shape_env) for v in values for s in v.shape if isinstance(s, torch.SymInt)}
    assert len(envs) == 1
    assert len({id(value.fake_mode) for value in values if any(isinstance(s, torch.SymInt) for s in value.shape)}) == 1


def test_a_copy_of_a_static_program_is_left_alone():
    module = torch.export.export(nn.Linear(4, 4), (torch.rand(3, 4),)).graph_module
    values = [id(node.meta.get("val")) for node in module.graph.nodes]
    shape_env.own_sizes(module)
    assert [id(node.meta.get("val")) for node in module.graph.nodes] == values


def test_kept_ranges_survive_a_comparison():
    """If PyTorch narrows ranges by another method, it fails here."""
    own = copied(program().graph_module)
    shape_env.keep_ranges(own)
    size = batch_of(own)
    before = bounds(size)
    assert size < 16
    assert bounds(size) == before


def test_what_was_read_off_a_tensor_is_narrowed_all_the_same():
    env = shape_env._OwnShapeEnv.copy_of(ShapeEnv())
    env.keeps_ranges = True
    size = env.create_unbacked_symint()
    torch._check(size >= 3)
    assert bounds(size)[0] == 3


@pytest.mark.parametrize("container", [dict, list, set])
def test_containers_are_copied(container):
    value = container()
    assert shape_env._own_containers(value) == value
    assert shape_env._own_containers(value) is not value


def test_how_a_convolution_is_computed_is_no_promise():
    """If PyTorch chooses elsewhere, it fails here."""
    batch = {0: Dim("batch", min=1, max=40)}
    exported = torch.export.export(nn.Conv2d(3, 4, 3), (torch.rand(2, 3, 8, 8),), dynamic_shapes=(batch,))
    module = copied(exported.graph_module)
    shape_env.own_sizes(module)
    size = batch_of(module)
    before = bounds(size)
    x = next(n for n in module.graph.nodes if n.name == "input").meta["val"]
    with x.fake_mode:
        convolution = torch.ops.aten.convolution.default
        convolution(x, torch.empty(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    assert bounds(size) == before
