# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The search of ``choose_layout``: an order of loops for each node, so that the fewest bytes are moved."""

import collections
import dataclasses
import math

from ...serialization import schema
from ...serialization.arrays import NUMPY_DTYPES
from ..ir import Dim, Graph, Node, Value, dims
from ..traits import TRAITS
from ..traits.loops import Blocks, Layout, Loops, layout_of, loop_order, order_of, penalty

_MAX_CHOICES = 6  # layouts tried for one node
_MAX_SWEEPS = 8
# Fine weights, which decide between layouts that move the same bytes:
_INTERIOR = 1.001  # a move inside the graph against one of an input or output
_RESHAPE = 1e-4  # renaming axes of size 1 against moving elements


def identity(value: Value) -> Layout:
    return tuple(range(value.rank))


def _loops_of(graph: Graph, node: Node) -> Loops | None:
    """What ``node`` allows; None if nothing."""
    rule = TRAITS[type(node.attributes)].layout
    if rule is None or len(node.outputs) != 1:
        return None
    operands = [graph.values[i] for i in node.inputs if i is not None]
    return rule.loops(node, operands, graph.values[node.outputs[0]])


class Aliases:
    """Every value as a transposed view of one that is not made by a Transpose."""

    def __init__(self, graph: Graph):
        self._views: dict[str, tuple[str, Layout]] = {}
        for node in graph.nodes:
            if node.is_a(schema.Transpose):
                base, perm = self._views.get(node.inputs[0], (node.inputs[0], None))
                chosen = node.attributes.perm
                if perm is not None:
                    chosen = tuple(perm[a] for a in chosen)
                self._views[node.outputs[0]] = (base, chosen)

    def base(self, name: str) -> str:
        return self._views[name][0] if name in self._views else name

    def to_base(self, name: str, layout: Layout) -> Layout:
        """The layout of the base that ``layout`` of the view is."""
        if name not in self._views:
            return layout
        perm = self._views[name][1]
        return tuple(perm[a] for a in layout)

    def from_base(self, name: str, layout: Layout) -> Layout:
        if name not in self._views:
            return layout
        perm = self._views[name][1]
        return tuple(perm.index(a) for a in layout)


@dataclasses.dataclass(frozen=True)
class _Choice:
    """One order of a node's loops, and what that means for the values around it."""

    order: Layout
    reads: tuple[tuple[str, Layout], ...]  #: base values and their layouts
    makes: Layout
    penalty: float


class Problem:
    """The layouts that each node may have, and what moving each value costs."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.aliases = Aliases(graph)
        self.nodes = [node for node in graph.nodes if not node.is_a(schema.Transpose)]
        self.loops: dict[int, Loops] = {}  # by position in nodes
        self.maker: dict[str, int] = {}
        self.readers: dict[str, list[int]] = collections.defaultdict(list)
        self._operands: dict[int, dict[str, list[tuple[str, Blocks | None]]]] = {}  # by base value
        self.fixed: dict[str, set[Layout]] = collections.defaultdict(set)  # asked for by what cannot choose
        self.choices: dict[int, list[_Choice]] = {}
        self._planned: dict[Dim, int] = {}
        self._orders: dict[tuple[str, Layout], Layout] = {}
        self._seen: dict[str, set[Layout]] = collections.defaultdict(set)
        self._work: collections.deque = collections.deque()
        for i, node in enumerate(self.nodes):
            loops = _loops_of(graph, node)
            if loops is not None:
                self.loops[i] = loops
                self.maker[node.outputs[0]] = i
        self._ask()
        self.costs = {name: self._cost(name) for name in (*self.readers, *self.fixed)}
        self._collect()
        self.ahead: dict[int, list[float]] = {}  # by choice
        for i in reversed(self.choices):
            self.ahead[i] = [self._ahead(i, c) for c in self.choices[i]]

    def operands(self, i: int) -> dict[str, list[tuple[str, Blocks | None]]]:
        """(name, blocks) of the operands of node ``i`` that can be moved and are not constants, by base value."""
        if i not in self._operands:
            found = self._operands[i] = {}
            names = [n for n in self.nodes[i].inputs if n is not None]
            for name, blocks in zip(names, self.loops[i].operands, strict=False):
                base = self.aliases.base(name)
                if self.graph.values[base].constant is None:
                    found.setdefault(base, []).append((name, blocks))
        return self._operands[i]

    def _ask(self) -> None:
        for i, node in enumerate(self.nodes):
            if i in self.loops:
                for base, operands in self.operands(i).items():
                    if any(blocks is not None for _, blocks in operands):
                        self.readers[base].append(i)
                    for name, blocks in operands:
                        if blocks is None:
                            self._fix(name)
            else:
                for name in node.inputs:
                    self._fix(name)
        self.read_inside = set(self.readers) | set(self.fixed)
        for output in self.graph.outputs:
            self._fix(output.value)

    def _fix(self, name: str | None) -> None:
        if name is None or self.graph.values[self.aliases.base(name)].constant is not None:
            return
        layout = self.aliases.to_base(name, identity(self.graph.values[name]))
        self.fixed[self.aliases.base(name)].add(layout)

    def order(self, name: str, layout: Layout) -> Layout:
        key = name, layout
        if key not in self._orders:
            self._orders[key] = order_of(self.graph.values[name].shape, layout)
        return self._orders[key]

    def _plan(self, dim: Dim) -> int:
        if isinstance(dim, int):
            return dim
        if dim not in self._planned:
            sizes = {name: r.planned for name, r in self.graph.ranges.items()}
            self._planned[dim] = dims.evaluate(dim, sizes)
        return self._planned[dim]

    def _cost(self, name: str) -> float:
        value = self.graph.values[name]
        size = math.prod(self._plan(d) for d in value.shape) * NUMPY_DTYPES[value.dtype].itemsize
        is_interior = name in self.graph.producers and name in self.read_inside
        return size * (_INTERIOR if is_interior else 1)

    # Which layouts come into question: those of what cannot choose, spread over the graph.

    def _collect(self) -> None:
        for i, loops in self.loops.items():
            self._offer(i, loops.identity)
        for name in self.costs:
            if name not in self.maker:
                self._spread(name, identity(self.graph.values[name]))
        for i, node in enumerate(self.nodes):
            if i not in self.loops:
                for name in node.inputs:
                    self._spread_view(name)
        for output in self.graph.outputs:
            self._spread_view(output.value)
        while self._work:
            name, layout = self._work.popleft()
            shape = self.graph.values[name].shape
            if name in self.maker:
                i = self.maker[name]
                self._offer(i, loop_order(self.loops[i].result, shape, layout))
            for i in self.readers.get(name, ()):
                for view, blocks in self.operands(i)[name]:
                    if blocks is not None:
                        seen = self.aliases.from_base(view, layout)
                        self._offer(i, loop_order(blocks, self.graph.values[view].shape, seen))

    def _spread_view(self, name: str | None) -> None:
        if name is not None and self.graph.values[self.aliases.base(name)].constant is None:
            layout = identity(self.graph.values[name])
            self._spread(self.aliases.base(name), self.aliases.to_base(name, layout))

    def _spread(self, name: str, layout: Layout) -> None:
        if layout not in self._seen[name] and len(self._seen[name]) < _MAX_CHOICES:
            self._seen[name].add(layout)
            self._work.append((name, layout))

    def _offer(self, i: int, order: Layout | None) -> None:
        loops = self.loops[i]
        known = self.choices.setdefault(i, [])
        if order is None or not loops.allows(order) or len(known) >= _MAX_CHOICES:
            return
        if any(c.order == order for c in known):
            return
        reads = {
            (base, self.aliases.to_base(name, layout_of(blocks, order)))
            for base, operands in self.operands(i).items()
            for name, blocks in operands
            if blocks is not None
        }
        result = self.nodes[i].outputs[0]
        makes = layout_of(loops.result, order)
        extra = penalty(self.nodes[i], order) * self._cost(result)
        known.append(_Choice(order, tuple(sorted(reads)), makes, extra))
        self._spread(result, makes)
        for name, layout in sorted(reads):
            self._spread(name, layout)

    def _ahead(self, i: int, choice: _Choice) -> float:
        """What a choice makes nodes after it move, if each of them is free to choose; of what they read together, each
        operand bears its share."""
        name = self.nodes[i].outputs[0]
        made = self.order(name, choice.makes)
        total = sum(self.costs[name] for layout in self.fixed.get(name, ()) if self.order(name, layout) != made)
        for reader in self.readers.get(name, ()):
            share = len(self.operands(reader))
            total += min(
                (ahead + c.penalty) / share
                + sum(self.costs[name] for base, at in c.reads if base == name and self.order(name, at) != made)
                for c, ahead in zip(self.choices[reader], self.ahead[reader], strict=True)
            )
        return total


class _Assignment:
    """One choice for every node; knows the cost of the moves between them."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.chosen: dict[int, _Choice] = {}
        self._made: dict[str, Layout] = {}
        # How many readers ask for a layout, and for an order of axes larger than 1.
        self._layouts: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        self._orders: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
        for name, layouts in problem.fixed.items():
            for layout in layouts:
                self._ask(name, layout, 1)
        for name in problem.costs:
            if name not in problem.maker:
                self._made[name] = identity(problem.graph.values[name])

    def _ask(self, name: str, layout: Layout, times: int) -> None:
        for counter, key in (self._layouts, layout), (self._orders, self.problem.order(name, layout)):
            counter[name][key] += times
            if not counter[name][key]:
                del counter[name][key]

    def set(self, i: int, choice: _Choice) -> None:
        self.unset(i)
        self.chosen[i] = choice
        self._made[self.problem.nodes[i].outputs[0]] = choice.makes
        for name, layout in choice.reads:
            self._ask(name, layout, 1)

    def unset(self, i: int) -> None:
        choice = self.chosen.pop(i, None)
        if choice is not None:
            del self._made[self.problem.nodes[i].outputs[0]]
            for name, layout in choice.reads:
                self._ask(name, layout, -1)

    def before(self, choice: _Choice) -> float:
        """What the operands cost that nobody else moves; an operand without a layout yet costs nothing."""
        total = choice.penalty
        for name, layout in choice.reads:
            made = self._made.get(name, layout)
            if made == layout:
                continue
            if layout not in self._layouts[name]:
                total += self.problem.costs[name] * _RESHAPE
            order = self.problem.order(name, layout)
            if self.problem.order(name, made) != order and order not in self._orders[name]:
                total += self.problem.costs[name]
        return total

    def after(self, i: int, choice: _Choice) -> float:
        return self._moves(self.problem.nodes[i].outputs[0], choice.makes)

    def _moves(self, name: str, made: Layout) -> float:
        if not self._layouts[name]:
            return 0
        order = self.problem.order(name, made)
        moves = len(self._orders[name]) - (order in self._orders[name])
        reshapes = len(self._layouts[name]) - (made in self._layouts[name])
        return self.problem.costs[name] * (moves + reshapes * _RESHAPE)

    def value_cost(self, name: str) -> float:
        return self._moves(name, self._made[name])

    def sweep(self, positions, key) -> None:
        """Gives each node in turn the choice that ``key`` of the costs before, after and ahead of it prefers."""
        for i in positions:
            self.unset(i)
            choices, ahead = self.problem.choices[i], self.problem.ahead[i]
            costs = [key(self.before(c), self.after(i, c), a) for c, a in zip(choices, ahead, strict=True)]
            self.set(i, choices[costs.index(min(costs))])

    def total(self) -> float:
        moves = sum(self.value_cost(name) for name in self.problem.costs)
        return moves + sum(c.penalty for c in self.chosen.values())


def _follow_operands(before: float, after: float, ahead: float):
    return before + after, before


def _follow_readers(before: float, after: float, ahead: float):
    return before + after, after


def _improve(assignment: _Assignment, forward, backward) -> None:
    best = assignment.total()
    for _ in range(_MAX_SWEEPS):
        assignment.sweep(backward, _follow_readers)
        assignment.sweep(forward, _follow_operands)
        cost = assignment.total()
        if cost >= best:
            break
        best = cost


def _components(problem: Problem) -> dict[int, int]:
    """For each node that can choose, the number of the region it belongs to."""
    parent = {i: i for i in problem.loops}

    def root(i):
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for name, readers in problem.readers.items():
        group = readers + ([problem.maker[name]] if name in problem.maker else [])
        for i in group[1:]:
            parent[root(i)] = root(group[0])
    return {i: root(i) for i in problem.loops}


def solve(problem: Problem) -> dict[int, Layout]:
    """The order of loops of every node that can choose.

    Moving whole chains of nodes one at a time gets stuck, so it starts from several
    assignments, and takes for each region the best that any of them led to.
    """
    forward = list(problem.loops)
    backward = forward[::-1]
    unmoved, greedy_down, looking_ahead, greedy_up = (_Assignment(problem) for _ in range(4))
    for i in forward:
        unmoved.set(i, problem.choices[i][0])
    greedy_down.sweep(forward, lambda before, after, ahead: before)
    looking_ahead.sweep(forward, lambda before, after, ahead: before + ahead)
    greedy_up.sweep(backward, lambda before, after, ahead: after)
    region = _components(problem)
    best: dict[int, tuple[float, _Assignment]] = {}
    for assignment in (unmoved, greedy_down, looking_ahead, greedy_up):
        _improve(assignment, forward, backward)
        costs = collections.Counter()
        for name in problem.costs:
            neighbours = [problem.maker[name]] if name in problem.maker else problem.readers.get(name, ())
            if neighbours:
                costs[region[neighbours[0]]] += assignment.value_cost(name)
        for i in forward:
            costs[region[i]] += assignment.chosen[i].penalty
        for r in set(region.values()):
            if r not in best or costs[r] < best[r][0]:
                best[r] = costs[r], assignment
    return {i: best[region[i]][1].chosen[i].order for i in forward}
