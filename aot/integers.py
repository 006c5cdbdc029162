# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Integers that a program reads off a tensor more often than once, such as the position of a token in each layer."""

import torch
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph
from torch.fx import Node as FxNode

from .private.torch import OpOverload, is_mutable

_aten = torch.ops.aten
_READS = (_aten.item.default, _aten._local_scalar_dense.default)
_CHECKS = (_aten._assert_scalar.default, _aten.sym_constrain_range_for_size.default, _aten.sym_constrain_range.default)


def merge_integers(graph: Graph, signature: ExportGraphSignature) -> None:
    """One read for each element of an input, and one check of each kind.

    Each read is an argument of its own to the delegate, of which only the program's own checks of that very
    read are known.
    """
    inputs = {n for n in graph.nodes if n.op == "placeholder" and n.name in signature.user_inputs}
    inputs -= {n for n in inputs if any(_writes(user) for user in _users(n))}
    first: dict[object, FxNode] = {}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        is_select = node.target is _aten.select.int and node.args[0] in inputs
        is_read = node.target in _READS and (node.args[0] in inputs or node.args[0] in first.values())
        is_check = node.target in _CHECKS
        if not (is_select or is_read or is_check or _is_scalar(node)):
            continue
        args = _from_front(node.args) if is_select else node.args[:1] if is_check else node.args
        key = (node.target, args, tuple(sorted(node.kwargs.items())))
        try:
            known = first.setdefault(key, node)
        except TypeError:  # an argument is a list
            continue
        if known is not node:
            node.replace_all_uses_with(known)
            graph.erase_node(node)


def _from_front(args: tuple) -> tuple:
    """The arguments of ``select``, counted from the front where that is known."""
    x, dim, index = args
    dim %= x.meta["val"].dim()
    size = x.meta["val"].shape[dim]
    return (x, dim, index % size) if isinstance(index, int) and isinstance(size, int) else (x, dim, index)


def _is_scalar(node: FxNode) -> bool:
    """Arithmetic on integers, and comparisons."""
    is_number = isinstance(node.meta.get("val"), (torch.SymInt, torch.SymBool, int, bool))
    return is_number and not isinstance(node.target, OpOverload)


def _users(node: FxNode) -> set[FxNode]:
    """Those of views of one element, too."""
    found = set(node.users)
    for user in node.users:
        if user.target is _aten.select.int:
            found |= set(user.users)
    return found


def _writes(node: FxNode) -> bool:
    return isinstance(node.target, OpOverload) and is_mutable(node.target)
