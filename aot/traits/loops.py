# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Rules of operators that can work on permuted axes, and what their attributes become.

A *layout* of a value is a permutation: axis ``i`` in memory is axis ``layout[i]`` of the
value as the graph has it. An operator works over *loops*. Each loop covers a block of
consecutive axes of every operand and of the result, often one axis each, none where the
operand broadcasts or the axis is reduced. The operator may run its loops in any order::

    Binary  [N, C, H, W], [C, 1, 1]    loops (0 | ), (1 | 0), (2 | 1), (3 | 2)
    Reduce  [N, C, H, W] -> [N, C]     loops (0 -> 0), (1 -> 1), (2 -> ), (3 -> )
    Reshape [N, C, H, W] -> [N, C, L]  loops (0 -> 0), (1 -> 1), (2, 3 -> 2)

Attention has no such loops, but heads and tokens of query, key and value may lie either way.

An operator without a rule has its axes where they are.
"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence

from ...serialization import schema
from ..ir import Dim, Node, Value

Layout = tuple[int, ...]
Blocks = tuple[tuple[int, ...], ...]


def order_of(shape: Sequence[Dim], layout: Layout) -> Layout:
    """The layout without axes of size 1: equal for two layouts of the same bytes."""
    return tuple(a for a in layout if not is_one(shape[a]))


def is_one(dim: Dim) -> bool:
    return type(dim) is int and dim == 1  # comparing expressions is slow


@dataclasses.dataclass(frozen=True)
class Loops:
    """The freedom of one node."""

    operands: tuple[Blocks | None, ...]  #: None: this operand stays as it is
    result: Blocks
    pinned: int = 0  #: the last loops that must stay where they are
    pinned_first: int = 0  #: and the first ones

    @property
    def count(self) -> int:
        return len(self.result)

    @property
    def identity(self) -> Layout:
        return tuple(range(self.count))

    def allows(self, order: Layout) -> bool:
        free = self.count - self.pinned
        first = self.pinned_first
        return order[free:] == self.identity[free:] and order[:first] == self.identity[:first]


def layout_of(blocks: Blocks, order: Layout) -> Layout:
    """The layout of the value that ``blocks`` describe when the loops run in ``order``."""
    return tuple(axis for loop in order for axis in blocks[loop])


def loop_order(blocks: Blocks, shape: Sequence[Dim], layout: Layout) -> Layout | None:
    """The order of loops that a value in ``layout`` asks for; None if it cuts a block apart."""
    position = {axis: i for i, axis in enumerate(layout)}
    ranks = []
    previous = -1.0
    for loop, block in enumerate(blocks):
        found = [position[a] for a in block if not is_one(shape[a])] or [position[a] for a in block]
        previous = min(found, default=previous)  # a loop that no axis places stays behind its neighbour
        ranks.append((previous, loop))
    order = tuple(loop for _, loop in sorted(ranks))
    found = layout_of(blocks, order)
    return order if order_of(shape, found) == order_of(shape, layout) else None


def _singles(count: int) -> Blocks:
    return tuple((i,) for i in range(count))


def _aligned(rank: int, count: int) -> Blocks:
    """The axes of an operand of lower rank, aligned to the right."""
    return tuple((i - count + rank,) if i >= count - rank else () for i in range(count))


def _same(node: Node, operands: list[Value], result: Value) -> Loops:
    return Loops((_singles(result.rank),) * len(operands), _singles(result.rank))


def _broadcast(node: Node, operands: list[Value], result: Value) -> Loops:
    blocks = tuple(_aligned(v.rank, result.rank) for v in operands)
    return Loops(blocks, _singles(result.rank))


def _reduce(node: Node, operands: list[Value], result: Value) -> Loops:
    (x,) = operands
    if node.attributes.keep_dims:
        return _same(node, operands, result)
    left = [a for a in range(x.rank) if a not in node.attributes.axes]
    blocks = tuple((left.index(a),) if a in left else () for a in range(x.rank))
    return Loops((_singles(x.rank),), blocks)


def _prefixes(shape: Sequence[Dim]) -> dict[Dim, int]:
    """The number of axes behind which the product of sizes is the key, axes of size 1 included late."""
    product: Dim = 1
    result: dict[Dim, int] = {}
    for i, dim in enumerate(shape):
        product = product * dim
        result[product] = i + 1
    return result


def _reshape(node: Node, operands: list[Value], result: Value) -> Loops:
    (x,) = operands
    everything = Loops(((tuple(range(x.rank)),),), (tuple(range(result.rank)),))
    if 0 in x.shape or 0 in result.shape or x.rank == 0 or result.rank == 0:
        return everything
    ends, targets = _prefixes(x.shape), _prefixes(result.shape)
    ends.pop(1, None)  # leading axes of size 1 join the first block
    cuts = [(0, 0)] + [(i, targets[p]) for p, i in ends.items() if p in targets]
    if cuts[-1] != (x.rank, result.rank):
        return everything
    blocks = [(tuple(range(i0, i1)), tuple(range(j0, j1))) for (i0, j0), (i1, j1) in itertools.pairwise(cuts)]
    return Loops((tuple(b for b, _ in blocks),), tuple(b for _, b in blocks))


def _rows(pinned: Callable[[Node], int]):
    """Works on the last axes, the same for every position of the others."""

    def rule(node: Node, operands: list[Value], result: Value) -> Loops:
        first, *rest = operands
        return Loops((_singles(first.rank), *(None for _ in rest)), _singles(result.rank), pinned(node))

    return rule


def _images(node: Node, operands: list[Value], result: Value) -> Loops:
    first, *rest = operands
    return Loops((_singles(first.rank), *(None for _ in rest)), _singles(result.rank), pinned_first=1)


def _batches(node: Node, operands: list[Value], result: Value) -> Loops | None:
    if operands[0].rank != operands[1].rank:
        return None
    return Loops((_singles(result.rank),) * 2, _singles(result.rank), 2)


def _attention(node: Node, operands: list[Value], result: Value) -> Loops:
    """Tokens and heads may be swapped in all operands but the mask."""
    mask = 3
    present = [i for i, name in enumerate(node.inputs) if name is not None]
    blocks = tuple(None if i == mask else _singles(result.rank) for i in present)
    if result.rank < 3:
        return Loops(blocks, _singles(result.rank), result.rank)
    return Loops(blocks, _singles(result.rank), 1, result.rank - 3)


def _axis(a, order: Layout, shape):
    return dataclasses.replace(a, axis=order.index(a.axis))


def _axes(a, order: Layout, shape):
    return dataclasses.replace(a, axes=tuple(sorted(order.index(i) for i in a.axes)))


def _by_token(a, order: Layout, shape):
    swapped = order != tuple(sorted(order))
    return dataclasses.replace(a, by_token=a.by_token != swapped)


def _shape(a, order: Layout, shape):
    return dataclasses.replace(a, shape=tuple(shape))


def _pad(a, order: Layout, shape):
    before, after = (tuple(v[i] for i in order) for v in (a.before, a.after))
    return dataclasses.replace(a, before=before, after=after)


def _unchanged(a, order: Layout, shape):
    return a


@dataclasses.dataclass(frozen=True)
class LayoutRule:
    """How an operator works on permuted axes."""

    loops: Callable[[Node, list[Value], Value], Loops | None]  #: of a node, its operands and its result
    reordered: Callable = _unchanged  #: its attributes, given those it has, the order of loops, the result's new shape


SAME = LayoutRule(_same)
BROADCAST = LayoutRule(_broadcast)
AXIS = LayoutRule(_same, _axis)
PAD = LayoutRule(_same, _pad)
EXPAND = LayoutRule(_broadcast, _shape)
RESHAPE = LayoutRule(_reshape, _shape)
REDUCE = LayoutRule(_reduce, _axes)
LAST_AXIS = LayoutRule(_rows(lambda node: 1))
LAST_AXES = LayoutRule(_rows(lambda node: node.attributes.axes))
IMAGES = LayoutRule(_images, _axis)
MATRICES = LayoutRule(_batches)
ATTENTION = LayoutRule(_attention, _by_token)


def penalty(node: Node, order: Layout) -> float:
    """Extra passes over the result that ``order`` costs the operator itself."""
    return 2.0 if node.is_a(schema.Softmax) and order[-1] != node.attributes.axis else 0.0
