# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Finds the sizes that a graph is planned for: as large as they may be, but possible all at once.

A bound of every symbol is not enough: a program may read a position off a tensor and say that
position and length together stay inside a cache. What must hold is known from there, as ``Graph``
has it, and from the shapes: no size is negative, no tensor too large for the runtime, a slice
inside its operand.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType

import sympy

from ...serialization import schema
from ...serialization.arrays import NUMPY_DTYPES
from ...serialization.scaled import Scaled
from ..ir import Graph, Range, Value, dims

Box = dict[sympy.Symbol, tuple[int, int]]  #: the values that each symbol may still take

_MOST_BYTES = 2**40  # of one tensor
_LARGEST_SIZE = 2**31 - 2  # where there is no upper bound
_ANYTHING = (-(2**256), 2**256)
_STEPS = 4000  # boxes to look at before giving up, once


# Intervals ------------------------------------------------------------------------------


def _product(a, b):
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _power(expr, box):
    base, exponent = expr.args
    low, high = interval(base, box)
    if not exponent.is_Integer:
        return _ANYTHING
    if exponent < 0:
        if low <= 0 <= high:
            return _ANYTHING
        low, high = Fraction(1, high), Fraction(1, low)
    ends = [low ** abs(int(exponent)), high ** abs(int(exponent))]
    if low < 0 < high:
        ends.append(0)
    return min(ends), max(ends)


def _remainder(a, b):
    if a[0] == a[1] and b[0] == b[1] and b[0] != 0:
        return a[0] % b[0], a[0] % b[0]
    if b[0] <= 0:
        return _ANYTHING
    return a if 0 <= a[0] and a[1] < b[0] else (0, b[1] - 1)


def interval(expr: dims.Dim, box: Box):
    """Bounds of ``expr``, exact where every symbol has one value only."""
    if isinstance(expr, int):
        return expr, expr
    if expr.is_Integer:
        return int(expr), int(expr)
    if expr.is_Rational:
        return Fraction(expr.p, expr.q), Fraction(expr.p, expr.q)
    if expr.is_Symbol:
        return box[expr]
    if expr.is_Pow:
        return _power(expr, box)
    parts = [interval(a, box) for a in expr.args]
    if expr.is_Add:
        return sum(p[0] for p in parts), sum(p[1] for p in parts)
    if expr.is_Mul:
        result = (1, 1)
        for part in parts:
            result = _product(result, part)
        return result
    if isinstance(expr, Scaled):
        factor = float(parts[1][0])
        return int(float(parts[0][0]) * factor), int(float(parts[0][1]) * factor)
    if isinstance(expr, sympy.floor):
        return math.floor(parts[0][0]), math.floor(parts[0][1])
    if isinstance(expr, (sympy.Min, sympy.Max)):
        choose = min if isinstance(expr, sympy.Min) else max
        return choose(p[0] for p in parts), choose(p[1] for p in parts)
    if isinstance(expr, sympy.Mod):
        return _remainder(*parts)
    return _ANYTHING


def holds(condition, box: Box) -> bool | None:
    """Whether ``condition`` holds for all (True) or for none (False) of the values in ``box``."""
    if condition in (sympy.true, sympy.false):
        return condition == sympy.true
    if isinstance(condition, sympy.Not):
        inner = holds(condition.args[0], box)
        return None if inner is None else not inner
    if isinstance(condition, (sympy.And, sympy.Or)):
        decisive = isinstance(condition, sympy.Or)
        parts = [holds(a, box) for a in condition.args]
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if not isinstance(condition, sympy.core.relational.Relational):
        return None
    low, high = interval(condition.lhs - condition.rhs, box)
    if isinstance(condition, (sympy.Eq, sympy.Ne)):
        equal = True if low == high == 0 else False if low > 0 or high < 0 else None
        return equal if equal is None or isinstance(condition, sympy.Eq) else not equal
    if isinstance(condition, (sympy.Lt, sympy.Le)):
        low, high = -high, -low
    if isinstance(condition, (sympy.Gt, sympy.Lt)):
        return True if low > 0 else False if high <= 0 else None
    return True if low >= 0 else False if high < 0 else None


# The search -----------------------------------------------------------------------------


def _first(low: int, high: int, fails) -> int:
    """The first number from ``low`` up to ``high`` that does not fail, given that none does after it; or ``high``."""
    if low == high or not fails(low):
        return low
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fails(middle) else (low, middle)
    return low


def _ends(condition, box: Box, symbol: sympy.Symbol) -> tuple[int, int]:
    """What ``condition`` leaves of the values of ``symbol``."""
    low, high = box[symbol]

    def fails(low, high):
        return holds(condition, {**box, symbol: (low, high)}) is False

    first = _first(low, high, lambda end: fails(low, end))
    return first, -_first(-high, -first, lambda end: fails(-end, high))


def _narrowed(box: Box, conditions: list) -> Box | None:
    """``box`` without ends at which a condition fails whatever the other symbols are; None if nothing is left."""
    box = dict(box)
    work = list(conditions)
    while work:
        condition = work.pop()
        for symbol in condition.free_symbols:
            ends = _ends(condition, box, symbol)
            if ends != box[symbol]:
                box[symbol] = ends
                work += [c for c in conditions if c is not condition and symbol in c.free_symbols and c not in work]
        if holds(condition, box) is False:
            return None
    return box


class _Search:
    """Halves boxes until one point is left for which everything holds, the half nearest to ``wanted`` first."""

    def __init__(self, wanted: Mapping[sympy.Symbol, int]):
        self._wanted = wanted
        self._left = 0

    def run(self, box: Box, conditions: Iterable) -> Box | None:
        self._left = _STEPS
        return self._visit(box, list(conditions))

    def _visit(self, box: Box, conditions: list) -> Box | None:
        self._left -= 1
        box = _narrowed(box, conditions)
        if box is None:
            return None
        open_ones = []
        for condition in conditions:
            known = holds(condition, box)
            if known is False:
                return None
            if known is None:
                open_ones.append(condition)
        if not open_ones:
            return {s: (nearest := min(max(self._wanted[s], low), high), nearest) for s, (low, high) in box.items()}
        wide = [s for s in self._wanted if box[s][0] < box[s][1]]
        if not wide:
            return box  # what is left cannot be computed here
        for half in self._halves(box, wide[0]):
            if self._left <= 0:
                return None
            found = self._visit(half, open_ones)
            if found is not None:
                return found
        return None

    def _halves(self, box: Box, symbol: sympy.Symbol) -> Iterator[Box]:
        low, high = box[symbol]
        wanted = self._wanted[symbol]
        if wanted <= low or wanted >= high:
            middle = (low + high) // 2
            parts = [(low, middle), (middle + 1, high)]
            if wanted >= high:
                parts.reverse()
        else:
            parts = [(wanted, wanted), (low, wanted - 1), (wanted + 1, high)]
        for part in parts:
            yield {**box, symbol: part}


def _shape_conditions(graph: Graph) -> Iterator:
    """What must hold at any call."""
    for value in graph.values.values():
        for dim in value.shape:
            if not isinstance(dim, int):
                yield sympy.Ge(dim, 0)
        size = dims.numel(value.shape)
        if not isinstance(size, int):
            yield sympy.Le(size, _MOST_BYTES // NUMPY_DTYPES[value.dtype].itemsize)
    for node in graph.nodes:
        x = graph.values[node.inputs[0]].shape if node.inputs and node.inputs[0] is not None else ()
        a = node.attributes
        if node.is_a(schema.Slice):
            yield from _inside(x[a.axis], a.start, a.size, a.step)
        elif node.is_a(schema.SliceScatter):
            sizes = graph.values[node.inputs[1]].shape
            for window in zip(x, a.start, sizes, a.step, strict=True):
                yield from _inside(*window)
        elif node.is_a(schema.Attention) and not isinstance(a.start, int):
            axis = -3 if a.by_token else -2
            yield sympy.Ge(a.start, 0)
            yield sympy.Ge(graph.values[node.inputs[1]].shape[axis], a.start + x[axis])
        elif node.is_a(schema.Nonzero):
            yield sympy.Ge(dims.numel(x), a.size)
        elif node.is_a(schema.NonMaxSuppression):
            yield sympy.Ge(x[0], a.size)
        elif node.is_a(schema.Binary, schema.Compare, schema.Where):
            result = graph.values[node.outputs[0]].shape
            for name in node.inputs:
                yield from _broadcast(graph.values[name].shape, result)
        elif node.is_a(schema.Reshape):
            yield sympy.Eq(dims.numel(x), dims.numel(a.shape))


def _broadcast(shape, result) -> Iterator:
    for size, whole in zip(reversed(shape), reversed(result), strict=False):
        if size not in (1, whole):
            equal = sympy.Eq(size, whole)
            yield equal if isinstance(size, int) else sympy.Or(equal, sympy.Eq(size, 1))


def _inside(whole, start, size, step) -> Iterator:
    yield sympy.Ge(start, 0)
    yield sympy.Ge(size, 0)
    yield sympy.Ge(whole, start)
    yield sympy.Ge(whole, start + (size - 1) * step + 1)


def _sizes(values: Iterable[Value]) -> list[sympy.Expr]:
    """The sizes that are not known, the shortest first."""
    found = {dim for value in values for dim in value.shape if not isinstance(dim, int)}
    return sorted(found, key=lambda e: (sympy.count_ops(e), str(e)))


def _wanted(ranges: Mapping[str, Range], sizes: list[sympy.Expr]) -> dict[sympy.Symbol, int]:
    """The value of each symbol for which tensors are largest; sizes come before mere positions."""
    middle = {dims.symbol(n): (_middle(r), _middle(r)) for n, r in ranges.items()}
    grows: dict[sympy.Symbol, int] = {}
    for name, r in ranges.items():
        symbol = dims.symbol(name)
        grows[symbol] = 0
        for size in sizes:
            if symbol in size.free_symbols:
                ends = [interval(size, {**middle, symbol: (v, v)})[0] for v in (r.min, _high(r))]
                grows[symbol] += (ends[1] > ends[0]) - (ends[1] < ends[0])
    order = sorted(ranges, key=lambda name: -grows[dims.symbol(name)])
    return {s: ranges[s.name].largest if grows[s] > 0 else ranges[s.name].min for s in map(dims.symbol, order)}


def _high(r: Range) -> int:
    return max(_LARGEST_SIZE if r.max is None else r.max, r.hint, r.min)


def _middle(r: Range) -> int:
    return (r.min + _high(r)) // 2


def _nearest_to_example(ranges: Mapping[str, Range], box: Box, conditions: list) -> Box:
    """Sizes the program was exported with are possible, however hard others are to find."""
    for symbol in box:
        hint = ranges[symbol.name].hint
        if box[symbol][0] <= hint <= box[symbol][1]:
            box = _narrowed({**box, symbol: (hint, hint)}, conditions) or box
    return box


def plan_sizes(graph: Graph, conditions: Iterable = ()) -> dict[str, Range]:
    """The ranges of ``graph``, planned for sizes at which ``conditions`` hold as well.

    Sizes of 0 and 1 are avoided where they can be: the runtime computes nothing for the first, and
    the second may look like a broadcast.
    """
    sizes = _sizes(graph.values.values())
    wanted = _wanted(graph.ranges, sizes)
    known = set(wanted)
    needed = []
    for condition in dict.fromkeys([*conditions, *_shape_conditions(graph)]):
        if condition.free_symbols and condition.free_symbols <= known:
            needed.append(condition)
    box = {symbol: (graph.ranges[symbol.name].min, _high(graph.ranges[symbol.name])) for symbol in wanted}
    search = _Search(wanted)
    found = search.run(box, [*needed, *(sympy.Ge(size, 2) for size in sizes)])
    if found is None and (found := search.run(box, needed)) is not None:
        for size in sizes:
            for least in (2, 1):
                better = search.run(box, [*needed, sympy.Ge(size, least)])
                if better is not None:
                    needed.append(sympy.Ge(size, least))
                    found = better
                    break
    if found is None:
        found = search.run(_nearest_to_example(graph.ranges, box, needed), needed)
    if found is None:
        return graph.ranges
    planned = {name: found[dims.symbol(name)][0] for name in graph.ranges}
    return {
        name: dataclasses.replace(r, plan=None if planned[name] == r.largest else planned[name])
        for name, r in graph.ranges.items()
    }


def largest(dim: dims.Dim, ranges: Mapping[str, Range]) -> int | None:
    """The most that it can be with symbols in ``ranges``; None if that has no bound."""
    high = interval(dim, {dims.symbol(name): (r.min, _high(r)) for name, r in ranges.items()})[1]
    return int(high) if high < _LARGEST_SIZE else None


def widen(
    ranges: Mapping[str, Range],
    assumed: Mapping[str, int],
    conditions: Iterable,
    most: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, Range]:
    """``ranges`` without bounds that follow from ``assumed`` least sizes only, up to ``most``.

    Of a position and a length that together stay inside a cache export concludes that the position
    is two less than the cache is long, because it takes every length for 2 at least.
    """
    conditions = list(conditions)
    result = dict(ranges)
    for name, r in ranges.items():
        symbol = dims.symbol(name)
        others = [dims.symbol(n) for n in assumed if n in ranges and n != name]
        related = [c for c in conditions if symbol in c.free_symbols and c.free_symbols.intersection(others)]
        if name in assumed or not related:
            continue
        box = {dims.symbol(n): (q.min, _high(q)) for n, q in ranges.items()} | {symbol: (0, _LARGEST_SIZE)}
        tight = _narrowed({**box, **{s: (assumed[s.name], max(box[s][1], assumed[s.name])) for s in others}}, related)
        loose = _narrowed(box, related)
        if tight is None or loose is None:
            continue
        low, high = r.min, r.max
        if tight[symbol][0] >= low:
            low = min(low, loose[symbol][0])
        if high is not None and tight[symbol][1] <= high:
            high = max(high, min(loose[symbol][1], most.get(name, _LARGEST_SIZE)))
        result[name] = dataclasses.replace(r, min=low, max=high)
    return result
