# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Integers that a program reads off a tensor: more often than once, such as the position of a token in each layer, or
only to check them, or of what the program computes itself."""

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import Graph
from torch.fx import Node as FxNode

from .graph_edit import add_call
from .lowering.size_plan import largest, widen
from .lowering.sizes import Sizes
from .lowering.unsupported import Unsupported
from .private.sizes import largest_of, may_be_negative, move_symbols
from .private.torch import OpOverload, alias_of, fake_empty

_aten = torch.ops.aten
READS = (_aten.item.default, _aten._local_scalar_dense.default)
_CHECKS = (_aten._assert_scalar.default, _aten.sym_constrain_range_for_size.default, _aten.sym_constrain_range.default)

#: Numbers up to this are found by comparing as many numbers, which is less work than another call of a delegate.
_LARGEST_FOUND = 1 << 16


def merge_integers(graph: Graph, signature: ExportGraphSignature) -> None:
    """One read for each element of an input, and one check of each kind.

    Each read is an argument of its own to the delegate, of which only the program's own checks of that very
    read are known.
    """
    inputs = {n for n in graph.nodes if n.op == "placeholder" and n.name in signature.user_inputs}
    inputs -= {n for n in inputs if _is_written(n)}
    _read_from_inputs(graph, inputs)
    first: dict[object, FxNode] = {}
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        is_known = bool(node.args) and (node.args[0] in inputs or node.args[0] in first.values())
        is_select = node.target is _aten.select.int and is_known
        is_read = node.target in READS and is_known
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


def drop_checks_of_data(graph: Graph) -> None:
    """Takes out checks of numbers that are read off a tensor for nothing else, and what computes these.

    ExecuTorch leaves every check out of the program that it writes, so nobody would make them. A number that is a size
    or an operand, too, keeps its checks, which say its range.
    """
    for_checks: set[FxNode] = set()
    for node in reversed(graph.nodes):
        is_number = node.target in READS or _is_scalar(node)
        if node.target in _CHECKS or (is_number and node.users and for_checks.issuperset(node.users)):
            for_checks.add(node)
    of_data: set[FxNode] = set()  # numbers made of those that nothing but checks read
    for node in list(graph.nodes):
        if node not in for_checks:
            continue
        operands = node.all_input_nodes
        if node.target in READS or not of_data.isdisjoint(operands):
            of_data.add(node)
            if node.target in _CHECKS:
                graph.erase_node(node)
    if of_data:
        graph.eliminate_dead_code()


def find_integers(graph: Graph, program: ExportedProgram) -> None:
    """``item(x)`` -> ``sym_size(nonzero(arange(bound + 1) < x), 0)`` of an ``x`` that the program computes.

    ExecuTorch reads an integer between two calls of delegates; a size that is found in data may be inside of one. It is
    beyond the bound, so that the call fails, also for an integer that is negative.
    """
    reads = [node for node in graph.nodes if node.target in READS and _is_found(node)]
    bounds = _bounds([node.meta["val"] for node in reads], graph, program) if reads else []
    for node, bound in zip(reads, bounds, strict=True):
        if bound is None or bound > _LARGEST_FOUND:
            continue
        value, source = node.meta["val"], node.args[0]
        x = source.meta["val"]
        with graph.inserting_before(node):
            vector, length = fake_empty((bound + 1,), torch.bool, x), {"dtype": torch.int64, "device": x.device}
            places = add_call(graph, _aten.arange.default, vector.long(), bound + 1, **length)
            x = add_call(graph, _aten.reshape.default, x.reshape(1), source, [1])
            is_less = add_call(graph, _aten.lt.Tensor, vector, places, x)
            is_negative = add_call(graph, _aten.lt.Scalar, x.meta["val"] < 0, x, 0)
            counted = add_call(graph, _aten.logical_or.default, vector, is_less, is_negative)
            found = fake_empty((value, 1), torch.int64, vector)
            found = add_call(graph, _aten.nonzero.default, found, counted)
            size = add_call(graph, _aten.sym_size.int, value, found, 0)
        move_symbols(node, found)
        node.replace_all_uses_with(size)
        graph.erase_node(node)


def _is_found(read: FxNode) -> bool:
    """Whether it is of a number that the program computes, and that cannot be negative."""
    value = read.meta.get("val")
    return (
        isinstance(value, torch.SymInt) and not may_be_negative(value) and _element(read.args[0])[0].op != "placeholder"
    )


def _bounds(values: list[torch.SymInt], graph: Graph, program: ExportedProgram) -> list[int | None]:
    """The most that each can be, with sizes of 0 and 1 where the lowering allows them and export does not."""
    sizes = Sizes(program)

    def converted(size):
        try:
            return sizes.convert(size)
        except Unsupported:
            return None

    dims = list(map(converted, values))
    for node in graph.find_nodes(op="placeholder"):
        for size in getattr(node.meta.get("val"), "shape", ()):
            converted(size)
    ranges = widen(sizes.ranges, sizes.assumed, sizes.conditions())
    most = [None if dim is None else largest(dim, ranges) for dim in dims]
    return [largest_of(value) if m is None else m for value, m in zip(values, most, strict=True)]


def _read_from_inputs(graph: Graph, inputs: set[FxNode]) -> None:
    """``item(select(select(unsqueeze(x, 0), 0, 0), 0, i))`` -> ``item(select(x, 0, i))``.

    What only gives an element another place stays outside, and needs no call.
    """
    for node in list(graph.nodes):
        if node.target not in READS:
            continue
        source, index = _element(node.args[0])
        if source not in inputs or index is None:
            continue
        with graph.inserting_before(node):
            for i in index:
                source = add_call(graph, _aten.select.int, source.meta["val"][i], source, 0, i)
        node.args = (source,)


def _element(node: FxNode) -> tuple[FxNode, list[int] | None]:
    """Which element of what a node of one element is; None for the index if that is not known."""
    index: list[int] = []
    if node.meta["val"].dim() != 0:
        return node, None
    while node.target in (_aten.select.int, _aten.unsqueeze.default):
        x, dim, *place = node.args
        dim %= node.args[0].meta["val"].dim() + (node.target is _aten.unsqueeze.default)
        if node.target is _aten.unsqueeze.default:
            index.pop(dim)
        elif isinstance(place[0], int):
            index.insert(dim, place[0])
        else:
            return node, None
        node = x
    return node, index


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


def _is_written(node: FxNode) -> bool:
    """Whether the program writes to it or to a view of it."""
    aliases = ((user, alias_of(user, node)) for user in node.users)
    return any(alias is not None and (alias.is_write or _is_written(user)) for user, alias in aliases)
