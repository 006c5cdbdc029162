# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs that compute with complex numbers, rewritten to compute with real and imaginary parts.

The checks of the Edge dialect refuse nearly every operator on complex tensors, and ExecuTorch has kernels for few.
So complex numbers are taken apart before: PyTorch decomposes each operator on them by a rule of ``complex_rules``,
which gives ``complex(real, imag)`` of two real tensors, and what reads the parts of that reads these two instead.
"""

import torch
from torch.export import ExportedProgram
from torch.fx import Graph
from torch.fx import Node as FxNode

from .complex_borders import READERS, is_complex, is_left, keep_whole, show_again, touches_complex
from .complex_transforms import RULES
from .custom_ops import aten_of, custom_op
from .fold_float64 import fold_float64, is_assertion, remove_unread, replace_by_constants
from .graph_edit import MOST_ROUNDS, add_call
from .placeholders import Placeholders
from .private.torch import OpOverload, decompositions, has_aliases

_aten = torch.ops.aten
_LEFT = {*READERS, _aten.complex.default, _aten.select.int}  # at inputs, constants and results


def take_complex_apart(program: ExportedProgram) -> ExportedProgram:
    """``program`` without complex numbers, but for its inputs, its results, and what these are computed of.

    ::

        %c = complex(%a, %b)                    %r = sub(mul(%a, %x), mul(%b, %y))
        %d = complex(%x, %y)              ->    %i = add(mul(%a, %y), mul(%b, %x))
        %e = mul(%c, %d)                        %f = stack([%r, %i], -1)
        %f = view_as_real(%e)
    """
    if not any(touches_complex(node) for node in program.graph.nodes):
        return program
    apart = _in_rounds(program)
    if any(map(is_left, apart.graph.nodes)):
        apart = _apart_but_whole(program) or apart
    whole = show_again(apart)
    _split_constants(apart)
    for node in apart.graph.nodes:
        # Else the checks of the Edge dialect end with an error, and nobody sees the reason that we give.
        is_operator = is_left(node) and isinstance(node.target, OpOverload)
        if is_operator and node not in whole and not has_aliases(node.target):
            node.target = custom_op(node.target)
    apart.graph_module.recompile()
    return apart


def _in_rounds(program: ExportedProgram) -> ExportedProgram:
    """``program`` with parts of all complex numbers that the rules take apart."""
    default = decompositions()
    found = _operators_on_complex(program)
    for _ in range(MOST_ROUNDS):
        known = {operator: default[operator] for operator in found - RULES.keys() if operator in default}
        program = program.run_decompositions({**RULES, **known})
        _drop_checks_of_types(program.graph)
        fold_float64(program)
        _read_parts(program.graph)
        before, found = found, _operators_on_complex(program)
        if found <= _LEFT or found == before:
            break
    return program


def _apart_but_whole(program: ExportedProgram) -> ExportedProgram | None:
    """The same, but what becomes complex results, or is read by operators without a rule, as it is.

    None if ExecuTorch would refuse that.
    """
    program = _decomposed_to_rules(program)
    without_rule: set[object] = set()
    while keep_whole(program, without_rule):
        apart = _in_rounds(program)
        # Some operators have a rule that does not take each one.
        left = (_operators_on_complex(apart) - _LEFT) & _operators_on_complex(program) - without_rule
        left = {operator for operator in left if isinstance(operator, OpOverload) and aten_of(operator) is operator}
        if not left:
            return apart
        without_rule |= left
    return None


def _decomposed_to_rules(program: ExportedProgram) -> ExportedProgram:
    """``program`` with operators on complex tensors that have a rule or cannot be decomposed."""
    default = decompositions()
    for _ in range(MOST_ROUNDS):
        known = _operators_on_complex(program) - RULES.keys() & default.keys()
        program = program.run_decompositions({operator: default[operator] for operator in known})
        _drop_checks_of_types(program.graph)
        fold_float64(program)
        if not known:
            break
    return program


def _operators_on_complex(program: ExportedProgram) -> set[object]:
    return {node.target for node in program.graph.nodes if touches_complex(node)}


def _part(node: FxNode) -> int | None:
    """Which part of a complex tensor a node reads from ``view_as_real`` of it: 0, 1 or None."""
    if node.target is not _aten.select.int or node.args[1] not in (-1, node.args[0].meta["val"].dim() - 1):
        return None
    return node.args[2] if node.args[2] in (0, 1) else None


def _split_constants(program: ExportedProgram) -> None:
    """Makes two real constants of each complex one of which the parts are read."""
    placeholders = Placeholders(program)
    values: dict[FxNode, torch.Tensor] = {}
    split = set()
    for node in program.graph.nodes:
        if node.op != "placeholder" or not is_complex(node.meta.get("val")):
            continue
        tensor = placeholders.constant_tensor(node)
        if tensor is None:
            continue
        pairs = torch.view_as_real(tensor.detach().resolve_conj())
        for reader in (user for user in node.users if user.target in READERS):
            split.add(node)
            for user in reader.users:
                part = _part(user)
                if part is None:
                    values[reader] = pairs
                else:
                    values[user] = pairs[..., part].contiguous()
    if values:
        replace_by_constants(program, values)
        program.graph.eliminate_dead_code()
        remove_unread(program, split)


def _drop_checks_of_types(graph: Graph) -> None:
    """Those of complex tensors, which ``to`` leaves behind: their parts have other types."""
    for node in list(graph.nodes):
        if is_assertion(node) and touches_complex(node):
            graph.erase_node(node)


def _read_parts(graph: Graph) -> None:
    """Has those that read the parts of ``complex(real, imag)`` read ``real`` and ``imag``."""
    for node in list(graph.nodes):
        if node.target not in READERS or node.args[0].target is not _aten.complex.default:
            continue
        parts = node.args[0].args
        for user in list(node.users):
            part = _part(user)
            if part is not None:
                user.replace_all_uses_with(parts[part])
                graph.erase_node(user)
        if node.users:
            with graph.inserting_before(node):
                pairs = add_call(graph, _aten.stack.default, node.meta["val"], list(parts), -1)
            pairs.meta = {**node.meta}
            node.replace_all_uses_with(pairs)
        graph.erase_node(node)
    graph.eliminate_dead_code()
    for node in graph.nodes:
        # Parts may lie in memory in another way than the complex numbers did.
        if node.target in (_aten.view.default, _aten._unsafe_view.default):
            node.target = _aten.reshape.default
