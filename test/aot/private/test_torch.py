# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``aot/private/torch.py`` assumes of operators, values and programs of PyTorch."""

import copy

import torch
from executorch.backends.et_xnnpack.aot.private import torch as private
from executorch.exir import to_edge
from torch import nn
from torch.export import Dim, export

aten = torch.ops.aten


class Function(nn.Module):
    """A module of a function of tensors."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def exported(function, *inputs, **options):
    return export(Function(function), inputs, **options)


def calls(program):
    return [node for node in program.graph.nodes if node.op == "call_function"]


# Operators ------------------------------------------------------------------------------


def test_what_is_decomposed_by_default_is_known():
    table = private.decompositions()
    assert aten.fft_rfft.default in table
    assert aten.view.default not in table
    y = table[aten.fft_rfft.default](torch.ones(4))
    assert torch.equal(y, torch.fft.rfft(torch.ones(4)))


def test_operators_of_a_program_are_of_one_type():
    program = exported(lambda x: torch.relu(x) + 1, torch.rand(3))
    assert all(isinstance(node.target, private.OpOverload) for node in calls(program))
    assert not isinstance(aten.add, private.OpOverload), "an overload packet is no operator"


def test_parameters_have_names_and_defaults():
    found = [(p.name, p.default_value) for p in private.parameters(aten.softmax.int)]
    assert found == [("self", None), ("dim", None), ("dtype", None)]
    assert [(p.name, p.default_value) for p in private.parameters(aten.add.Tensor)][2] == ("alpha", 1)


def test_tensor_parameters_take_one_tensor():
    assert private.tensor_parameters(aten.add.Tensor) == ["self", "other"]
    assert private.tensor_parameters(aten.clamp.Tensor) == ["self"], "min and max may be None"
    assert private.tensor_parameters(aten.cat.default) == []


def test_operators_that_write_are_mutable():
    assert private.is_mutable(aten.copy_.default)
    assert private.is_mutable(aten.add.out)
    assert not private.is_mutable(aten.add.Tensor)
    assert not private.is_mutable(aten.view.default)


def test_views_and_operators_that_write_have_aliases():
    assert private.has_aliases(aten.view.default)
    assert private.has_aliases(aten.add_.Tensor)
    assert not private.has_aliases(aten.view_copy.default)


def test_what_an_operator_shares_with_each_operand_is_known():
    def function(x, index, y):
        x = x.clone()
        x.index_copy_(0, index, y)
        return x.unsqueeze(0) + y

    program = exported(function, torch.rand(3), torch.tensor([1]), torch.rand(1))
    nodes = {str(node.target): node for node in calls(program)}
    write, view, add = (nodes[f"aten.{name}"] for name in ("index_copy_.default", "unsqueeze.default", "add.Tensor"))
    written, index = write.args[0], write.args[2]
    assert private.alias_of(write, written).is_write
    assert private.alias_of(write, index) is None
    assert not private.alias_of(view, view.args[0]).is_write
    assert private.alias_of(add, view) is None
    assert private.alias_of(program.graph.output_node(), add) is None


def test_the_name_of_an_operator():
    assert private.qualified_name(aten.add.Tensor) == ("aten::add", "Tensor")
    assert private.qualified_name(aten.relu.default) == ("aten::relu", "")


def test_the_signature_of_an_operator_is_what_a_library_defines():
    text = private.signature_text(aten.copysign.Scalar)
    assert text == "aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor"
    library = torch.library.Library("et_xnnpack_test_signature", "DEF")
    library.define(text.removeprefix("aten::"))
    defined = torch.ops.et_xnnpack_test_signature.copysign.Scalar
    assert private.signature_text(defined).partition("::")[2] == text.partition("::")[2]


@torch.library.custom_op("et_xnnpack_test_torch::add_to", mutates_args=("x",))
def _add_to(x: torch.Tensor, y: torch.Tensor, times: int) -> torch.Tensor:
    x += y * times
    return x.sum()


@_add_to.register_fake
def _(x, y, times):
    return x.new_empty(())


def test_operators_that_write_are_made_functions():
    def of_buffer(x, y):
        copy = x + 1
        total = torch.ops.et_xnnpack_test_torch.add_to(copy, y, 3)
        return copy, total

    def of_view(x, y):
        copy = x + 1
        torch.ops.et_xnnpack_test_torch.add_to(copy[:, 0], y[:, 0], 3)
        return copy

    inputs = (torch.rand(2, 3), torch.rand(2, 3))
    (whole,) = filter(None, map(private.functionalized, calls(exported(of_buffer, *inputs).run_decompositions())))
    operator, arguments = whole
    assert operator is torch.ops.et_xnnpack_test_torch.add_to.default
    assert arguments["times"] == 3 and [arguments[n].name for n in ("x", "y")] == ["add", "inputs_1"]
    program = exported(of_view, *inputs).run_decompositions()
    assert any("auto_functionalized" in str(node.target) for node in calls(program))
    assert not any(map(private.functionalized, calls(program)))


# Values ---------------------------------------------------------------------------------


def test_leaves_are_found_and_replaced_in_their_order():
    tree = (1, [2, {"a": 3}], None)
    assert private.leaves(tree) == [1, 2, 3, None]
    assert private.map_leaves(lambda x: x and -x, tree) == (-1, [-2, {"a": -3}], None)


def test_values_of_a_program_are_fake():
    program = exported(lambda x: torch.relu(x), torch.rand(3))
    assert all(private.is_fake(node.meta["val"]) for node in calls(program))
    assert not private.is_fake(torch.rand(3))


def test_a_fake_constant_goes_together_with_values_of_the_program():
    program = exported(lambda x: torch.relu(x), torch.rand(3, 4), dynamic_shapes=(({0: Dim("n", max=9)},),))
    value = calls(program)[0].meta["val"]
    fake = private.fake_of(torch.rand(5, 4), beside=value)
    assert private.is_fake(fake) and all(type(size) is int for size in fake.shape)
    assert (value[:, None] + fake).shape[1:] == (5, 4), "fake tensors of two modes would not add up"


def test_an_empty_fake_tensor_has_sizes_of_the_program():
    program = exported(lambda x: torch.relu(x), torch.rand(3, 4), dynamic_shapes=(({0: Dim("n", max=9)},),))
    value = calls(program)[0].meta["val"]
    fake = private.fake_empty((2, value.shape[0]), torch.int64, beside=value)
    assert private.is_fake(fake) and fake.dtype == torch.int64
    assert fake.shape[1].node.expr == value.shape[0].node.expr
    assert (value[:, 0] + fake).shape[0] == 2, "fake tensors of two modes would not add up"


# Programs -------------------------------------------------------------------------------


class Builtin(nn.Module):
    def forward(self, input):
        return input + 1


def test_a_copy_has_the_names_of_the_original():
    module = export(Builtin(), (torch.rand(3),)).graph_module
    names = [node.name for node in module.graph.nodes]
    assert "input" in names, "torch.export names placeholders otherwise now: is `copied` still needed?"
    assert [node.name for node in private.copied(module).graph.nodes] == names
    renamed = [node.name for node in copy.deepcopy(module).graph.nodes]
    assert renamed != names, "FX keeps such names now: copy.deepcopy can replace `copied`"


def test_nodes_of_branches_count():
    program = exported(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), torch.rand(3))
    targets = {node.target for node in private.nodes(program.graph_module)}
    assert {aten.sin.default, aten.cos.default, aten.sum.default} <= targets


def test_a_program_with_another_module_leaves_the_first_one_alone():
    program = exported(lambda x: torch.relu(x), torch.rand(3))
    module = private.copied(program.graph_module)
    calls(module)[0].target = aten.neg.default
    module.recompile()
    changed = private.with_module(program, module, program.graph_signature, {}, {})
    x = torch.tensor([-1.0, 2.0, 3.0])
    assert torch.equal(changed.module()(x), -x)
    assert torch.equal(program.module()(x), x.relu())
    assert changed.range_constraints == program.range_constraints


def test_named_results_become_tuples():
    program = exported(lambda x: torch.median(x, 1), torch.rand(3, 4))
    types = [entry.signature.out_spec.type for entry in program.module_call_graph if entry.signature]
    assert torch.return_types.median in types, "export returns tuples now: `return_tuples` is not needed any more"
    private.return_tuples(program)
    types = [entry.signature.out_spec.type for entry in program.module_call_graph if entry.signature]
    assert types and torch.return_types.median not in types
    x = torch.rand(3, 4)
    values, indices = program.module()(x)
    assert torch.equal(values, x.median(1).values) and torch.equal(indices, x.median(1).indices)


def test_nodes_know_what_they_were_decomposed_from():
    edge = to_edge(export(nn.Linear(3, 4), (torch.rand(2, 3),))).exported_program()
    (product,) = (node for node in calls(edge) if "addmm" in str(node.target))
    assert "aten.linear.default" in set(private.sources(product))


def test_the_output_stays_last_in_graphs_that_are_set():
    module = private.copied(exported(lambda x: torch.relu(x), torch.rand(3)).graph_module)
    private.keep_output_last(module)
    graph = copy.deepcopy(module.graph)
    output = graph.output_node()
    output.append(next(iter(graph.find_nodes(op="call_function", target=aten.relu.default))))
    assert list(graph.nodes)[-1] is not output
    module.graph = graph
    assert list(module.graph.nodes)[-1] is module.graph.output_node()
