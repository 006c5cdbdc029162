# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Integers off a tensor that may be negative: what computes with one computes with the tensor instead.

Symbols of the IR are sizes and places, and so never negative.
"""

import operator

import torch
from torch.fx import Graph
from torch.fx import Node as FxNode

from .graph_edit import add_call
from .integers import READS
from .private.sizes import may_be_negative
from .private.torch import OpOverload, parameters, tensor_parameters

_aten = torch.ops.aten
_ARITHMETIC = {operator.add: _aten.add.Tensor, operator.sub: _aten.sub.Tensor, operator.mul: _aten.mul.Tensor}
_COMPARISONS = {
    getattr(_aten, name).Scalar: getattr(_aten, name).Tensor for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
#: As a tensor without axes these make a result of another type than as a number.
_NARROW = (torch.int32, torch.int16, torch.int8, torch.uint8)


def compute_on_tensors(graph: Graph) -> None:
    """``mul(x, item(n) + 1)`` -> ``mul(x, add(n, 1))`` where the integer may be negative.

    Checks of the integer stay as they are, and so does what takes it as a size or a place.
    """
    for node in list(graph.nodes):
        if isinstance(node.target, OpOverload):
            with graph.inserting_before(node):
                _take_tensors(graph, node)
    for node in reversed(list(graph.nodes)):
        if not node.users and (node.target in READS or node.target in _ARITHMETIC) and _is_signed(node):
            graph.erase_node(node)


def _is_signed(node) -> bool:
    value = node.meta.get("val") if isinstance(node, FxNode) else None
    return isinstance(value, torch.SymInt) and may_be_negative(value)


def _is_read(number) -> bool:
    """Whether a tensor can take the place of ``number``, which depends on an integer off a tensor."""
    if not _is_signed(number):
        return False
    return number.target in READS or (number.target in _ARITHMETIC and any(map(_is_read, number.args)))


def _take_tensors(graph: Graph, node: FxNode) -> None:
    """Gives ``node`` a tensor for each such integer that it takes as a number."""
    if node.target in (_aten.scalar_tensor.default, _aten.full.default) and _is_signed(node.args[-1]):
        number = _tensor(graph, node.args[-1])
        if number is not None:
            value = node.meta["val"]
            size = node.args[0] if len(node.args) > 1 else []
            expanded = add_call(graph, _aten.expand.default, value, _cast(graph, number, value.dtype), size)
            node.target, node.args = _aten.clone.default, (expanded,)  # the program may write to it
            node.kwargs = {"memory_format": torch.contiguous_format}
        return
    target = _COMPARISONS.get(node.target, node.target)
    operands = [n.meta["val"] for n in node.all_input_nodes if isinstance(n.meta.get("val"), torch.Tensor)]
    if any(x.dim() == 0 and x.dtype in _NARROW for x in operands):
        return
    names = tensor_parameters(target)
    for place, (parameter, operand) in enumerate(zip(parameters(target), node.args, strict=False)):
        if parameter.name in names and _is_signed(operand):
            number = _tensor(graph, operand)
            if number is not None:
                node.update_arg(place, number)
                node.target = target


def _tensor(graph: Graph, number: FxNode) -> FxNode | None:
    """A tensor of int64 without axes of what ``number`` is; None if no operator makes it."""
    if number.target in READS:
        with graph.inserting_before(number):  # the program may write to what it has read
            return _copy(graph, number.args[0])
    if not _is_read(number):
        return None
    operands = [_tensor(graph, x) if _is_read(x) else x for x in number.args]
    if None in operands:
        return None
    value = next(x.meta["val"] for x, y in zip(operands, number.args, strict=True) if _is_read(y))
    if not _is_read(number.args[0]):
        operands[0] = add_call(graph, _aten.scalar_tensor.default, value, operands[0], dtype=torch.int64)
    return add_call(graph, _ARITHMETIC[number.target], value, *operands)


def _copy(graph: Graph, source: FxNode) -> FxNode | None:
    """The one element of ``source``, whatever becomes of that."""
    if source.meta["val"].dtype not in (torch.int64, *_NARROW):
        return None
    if source.target is _aten.select.int:  # one of the delegate's own
        source = add_call(graph, _aten.select.int, source.meta["val"], *source.args)
    if source.meta["val"].dim() > 0:
        source = add_call(graph, _aten.reshape.default, source.meta["val"].reshape(()), source, [])
    return _cast(graph, add_call(graph, _aten.clone.default, source.meta["val"].clone(), source), torch.int64)


def _cast(graph: Graph, x: FxNode, dtype: torch.dtype) -> FxNode:
    value = x.meta["val"]
    return x if value.dtype == dtype else add_call(graph, _aten.to.dtype, value.to(dtype), x, dtype)
