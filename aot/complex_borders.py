# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Complex numbers that real and imaginary parts cannot stand for.

A program gives them back, or an operator without a rule reads them. ExecuTorch has no operator that would make them
of two parts. So what they are computed of stays as it is, and is worth as much as it is without us.
"""

import itertools
import operator
from collections.abc import Set

import torch
from executorch.exir import to_edge
from torch.export import ExportedProgram
from torch.fx import Graph, GraphModule
from torch.fx import Node as FxNode

from .complex_transforms import RULES
from .custom_ops import aten_of, custom_op
from .private.executorch import checks_operators
from .private.sizes import example_of
from .private.torch import OpOverload, leaves, nodes, parameters, qualified_name, tensor_parameters

_aten = torch.ops.aten
READERS = (_aten.view_as_real.default, _aten.view_as_real_copy.default)
#: The same as what is computed when something reads it, which a custom operator cannot give.
_EAGER = {_aten._conj.default: _aten._conj_physical.default}
_NAMES = {qualified_name(rule)[0].split("::")[1].lstrip("_") for rule in RULES}


def is_complex(value) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()


def gives_complex(node: FxNode) -> bool:
    return any(map(is_complex, leaves(node.meta.get("val"))))


def touches_complex(node: FxNode) -> bool:
    return node.op == "call_function" and any(map(gives_complex, (node, *node.all_input_nodes)))


def is_left(node: FxNode) -> bool:
    """Whether it has complex operands or results, and does more than read parts."""
    return touches_complex(node) and node.target not in READERS and _gives_tensor(node)


def _gives_tensor(node: FxNode) -> bool:
    return any(isinstance(value, torch.Tensor) for value in leaves(node.meta.get("val")))


def has_rule(target: OpOverload) -> bool:
    """Whether an operator on complex tensors, or the one of the Edge dialect that is made of it, has a rule."""
    name = qualified_name(target)[0].split("::")[1].replace("_dim_order", "").lstrip("_")
    return name in _NAMES or name.removesuffix("_copy") in _NAMES


def keep_whole(program: ExportedProgram, without_rule: Set[object]) -> bool:
    """Hides what has to stay as it is behind custom operators. False, with nothing done, if ExecuTorch would refuse it.

    program: of operators on complex tensors that have a rule or cannot be decomposed
    without_rule: operators of which the rules do not take each one
    """
    whole: set[FxNode] = set()
    for node in reversed(program.graph.nodes):
        if touches_complex(node) and (_is_end(node, without_rule) or _is_needed(node, whole)):
            whole.add(node)
    if checks_operators() and not _pass_checks([node for node in program.graph.nodes if node in whole]):
        return False
    for node in itertools.chain(whole, *(_in_branches(program, node) for node in whole)):
        if isinstance(node.target, OpOverload) and node.target.namespace == "aten":
            target = _EAGER.get(node.target, node.target)
            node.target = custom_op(target, _numbers_for_tensors(node))
    _recompile(program)
    return True


def _recompile(program: ExportedProgram) -> None:
    for module in program.graph_module.modules():
        if isinstance(module, GraphModule):
            module.recompile()


def _in_branches(program: ExportedProgram, node: FxNode) -> list[FxNode]:
    """What touches complex numbers in the branches of control flow."""
    operands = (operand for operand in node.all_input_nodes if operand.op == "get_attr")
    branches = [program.graph_module.get_submodule(operand.target) for operand in operands]
    return [inner for branch in branches for inner in nodes(branch) if touches_complex(inner)]


def _numbers_for_tensors(node: FxNode) -> list[str]:
    """``["other"]`` of ``mul.Tensor(x, 2)``."""
    named = zip((parameter.name for parameter in parameters(node.target)), node.args, strict=False)
    tensors = tensor_parameters(node.target)
    return [name for name, value in named if name in tensors and isinstance(value, (int, float, complex))]


def show_again(program: ExportedProgram) -> set[FxNode]:
    """Has the operators that ``keep_whole`` hid be what they were."""
    every = nodes(program.graph_module)
    hidden = {node for node in every if touches_complex(node) and aten_of(node.target) != node.target}
    for node in hidden:
        node.target = aten_of(node.target)
    _recompile(program)
    return hidden


def _is_end(node: FxNode, without_rule: Set[object]) -> bool:
    """Whether it is an operator without a rule."""
    if node.target in READERS or node.target is operator.getitem:
        return False
    return _gives_tensor(node) and (node.target not in RULES or node.target in without_rule)


def _is_needed(node: FxNode, whole: Set[FxNode]) -> bool:
    return gives_complex(node) and any(user.op == "output" or user in whole for user in node.users)


def _pass_checks(calls: list[FxNode]) -> bool:
    """Whether ExecuTorch's checks let these operators pass. There is no other way to ask it."""
    graph, copies, examples = Graph(), {}, []
    for node in calls:
        for operand in node.all_input_nodes:
            if operand not in copies:
                copies[operand] = graph.placeholder(operand.name)
                examples.append(_example(operand.meta.get("val")))
        copies[node] = graph.node_copy(node, copies.__getitem__)
    graph.output(tuple(copies[node] for node in calls if isinstance(node.meta["val"], torch.Tensor)))
    try:
        to_edge(torch.export.export(GraphModule({}, graph), tuple(examples)))
    except Exception:  # of several kinds
        return False
    return True


def _example(value):
    if isinstance(value, torch.Tensor):
        return torch.empty([_example(size) for size in value.shape], dtype=value.dtype)
    return example_of(value) if isinstance(value, torch.SymInt) else value
