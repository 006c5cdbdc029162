# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How much arithmetic and memory traffic a node of a program stands for. An estimate, to compare nodes with each other.

Dynamic sizes count as those of the example that the program was exported with.
"""

import dataclasses
import math
from collections.abc import Iterable

import torch
from torch.fx import Node as FxNode

from . import ops
from .lowering.nodes import is_size, target_name
from .private.sizes import Symbols, bounds_of, expression
from .private.torch import leaves


@dataclasses.dataclass(frozen=True)
class Cost:
    """Operations (a multiply-add is two), and bytes of operands and results, each once."""

    flop: int = 0
    bytes: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.flop + other.flop, self.bytes + other.bytes)


def cost_of(node: FxNode) -> Cost:
    """That of one node; arithmetic on sizes and taking one of several results cost nothing."""
    if node.op != "call_function" or is_size(node) or target_name(node) == "getitem":
        return Cost()
    results = _tensors(node)
    operands = [tensor for source in node.all_input_nodes for tensor in _tensors(source)]
    return Cost(_flop(node, operands, results), sum(map(_bytes, (*operands, *results))))


def total(nodes: Iterable[FxNode]) -> Cost:
    return sum(map(cost_of, nodes), Cost())


def example_size(size: int | torch.SymInt) -> int:
    """Of a size that depends on inputs the one of the example; the largest possible one if it has none."""
    if not isinstance(size, torch.SymInt):
        return size
    expr, symbols = expression(size), Symbols(size)
    values = {symbol: symbols.example(symbol) for symbol in expr.free_symbols}
    if all(value is not None for value in values.values()):
        return int(expr.subs(values))
    upper = bounds_of(expr, {symbol: symbols.bounds(symbol) for symbol in values}).upper
    return int(upper) if upper.is_Integer else 1


def _tensors(node: FxNode) -> list[torch.Tensor]:
    return [value for value in leaves(node.meta.get("val")) if isinstance(value, torch.Tensor)]


def _shape(tensor: torch.Tensor) -> list[int]:
    return [example_size(size) for size in tensor.shape]


def _numel(tensor: torch.Tensor) -> int:
    return math.prod(_shape(tensor))


def _bytes(tensor: torch.Tensor) -> int:
    return _numel(tensor) * tensor.element_size()


def _flop(node: FxNode, operands: list[torch.Tensor], results: list[torch.Tensor]) -> int:
    name = target_name(node)
    row = ops.ROWS.get(name)
    if not results or (row is not None and row.moves_data and not row.preserve):
        return 0
    kind = name.split(".")[1] if "." in name else name
    elements = _numel(results[0])
    if kind in ("linear", "mm", "bmm", "matmul", "mv", "dot"):
        return 2 * elements * _shape(operands[0])[-1]
    if kind in ("addmm", "baddbmm"):
        return 2 * elements * _shape(node.args[1].meta["val"])[-1]
    if kind.startswith("conv"):
        weight = node.args[1].meta["val"]
        transposed = kind.startswith("conv_transpose") or (kind == "convolution" and node.args[6])
        return 2 * (_numel(operands[0]) if transposed else elements) * math.prod(_shape(weight)[1:])
    if kind == "scaled_dot_product_attention":
        query, key, value = (_shape(node.args[i].meta["val"]) for i in range(3))
        return 2 * math.prod(query[:-1]) * key[-2] * (query[-1] + value[-1])
    if kind in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        sequence = math.prod(_shape(operands[0])[:-1])
        return 2 * sequence * sum(_numel(tensor) for tensor in operands[1:] if tensor.dim() == 2)
    return max(map(_numel, (*operands, *results)))  # one for each element, also of a reduction
