# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""For which sizes a graph is planned when they are bounded together."""

import itertools
import random

import pytest
import sympy
from executorch.backends.et_xnnpack.aot.ir import Range, dims, parse
from executorch.backends.et_xnnpack.aot.lowering import size_plan

A, B, C = (dims.symbol(name) for name in ("s0", "s1", "s2"))
SLICE = """
    range s0 0..127 hint 3
    range s1 0..126 hint 1
    in %table: Float32[128, 4]
    in %x: Float32[s0, 4]
    in s1
    %t: Float32[s0, 4] = Slice(%table) axis=0 start=s1 size=s0 step=1
    %y: Float32[s0, 4] = Binary(%x, %t) kind=Mul
    out %y
"""


def planned(text, *conditions):
    graph = parse(text)
    return {name: r.planned for name, r in size_plan.plan_sizes(graph, conditions).items()}


def test_the_length_is_largest_and_the_position_makes_room():
    assert planned(SLICE) == {"s0": 127, "s1": 0}


def test_what_the_program_says_counts():
    assert planned(SLICE, A + B <= 100, B >= 7) == {"s0": 93, "s1": 7}
    assert planned(SLICE, sympy.Or(A <= 3, A >= 200)) == {"s0": 3, "s1": 0}
    assert planned(SLICE, sympy.Eq(sympy.Mod(A, 8), 0), sympy.Ne(B, 0)) == {"s0": 120, "s1": 1}


def test_a_plan_is_part_of_the_text():
    graph = parse(SLICE)
    graph = parse(str(graph).replace("range s0 0..127 hint 3", "range s0 0..127 hint 3 plan 93"))
    assert graph.ranges["s0"].planned == 93
    assert parse(str(graph)) == graph


def test_no_tensor_is_larger_than_the_runtime_takes():
    text = """
        range s0 0..1000000 hint 3
        range s1 0..1000000 hint 3
        in %x: Float32[s0, s1, 4]
        %y: Float32[s0, s1, 4] = Unary(%x) kind=Abs
        out %y
    """
    sizes = planned(text)
    assert 2**39 < sizes["s0"] * sizes["s1"] * 16 <= 2**40


def test_sizes_that_are_subtracted_are_small():
    text = """
        range s0 2..40 hint 3
        range s1 0..40 hint 3
        in %x: Float32[s0]
        in s1
        %y: Float32[s0 - s1] = Slice(%x) axis=0 start=s1 size=s0-s1 step=1
        out %y
    """
    assert planned(text) == {"s0": 40, "s1": 0}


def test_operands_broadcast():
    """A program that export says works for more sizes than it does is planned for those."""
    padded = "8*floor((s0 + 7) / 8)"
    text = f"""
        range s0 2..12 hint 6
        in %x: Float32[4, s0]
        in %bias: Float32[8]
        %q: Float32[4, {padded}] = Pad(%x) before=(0, 0) after=(0, {padded} - s0) mode=Constant value=0.0
        %y: Float32[4, {padded}] = Binary(%q, %bias) kind=Add
        out %y
    """
    assert planned(text) == {"s0": 8}


def test_an_empty_tensor_only_where_nothing_else_is_possible():
    text = """
        range s0 0..40 hint 3
        range s1 0..40 hint 3
        in %x: Float32[s0]
        in %z: Float32[s1]
        %y: Float32[s0] = Unary(%x) kind=Abs
        %w: Float32[s1] = Unary(%z) kind=Abs
        out %y
        out %w
    """
    assert planned(text, A + B <= 40) == {"s0": 38, "s1": 2}
    assert planned(text, A + B <= 40, B <= 1) == {"s0": 39, "s1": 1}
    assert planned(text, A * B <= 0) == {"s0": 40, "s1": 0}


def test_the_example_where_nothing_larger_is_found():
    text = """
        range s0 0..1000000 hint 3
        range s1 0..1000000 hint 8
        in %x: Float32[s0, s1]
        %y: Float32[s0, s1] = Unary(%x) kind=Abs
        out %y
    """
    assert planned(text, sympy.Eq(sympy.Mod(A * A * A + B, 999983), 35)) == {"s0": 3, "s1": 8}


def test_bounds_hold_at_every_point_of_a_box():
    generator = random.Random(0)
    floor, mod = sympy.floor, sympy.Mod
    expressions = [
        A + B * C,
        A * B - 3 * C + 1,
        floor(A / 2) + floor((B - C) / 3),
        mod(A, 4) * B,
        mod(A * B, C + 1),
        sympy.Min(A, B - C) ** 2,
        sympy.Max(A, 3) - sympy.Min(B, C, 5),
        floor(A * B / (C + 1)),
    ]
    for expression, _ in itertools.product(expressions, range(8)):
        box = {}
        for symbol in (A, B, C):
            low = generator.randrange(7)
            box[symbol] = low, low + generator.randrange(3)
        low, high = size_plan.interval(expression, box)
        points = list(itertools.product(*(range(box[s][0], box[s][1] + 1) for s in (A, B, C))))
        for point in points:
            value = expression.subs(dict(zip((A, B, C), point, strict=True)))
            assert low <= value <= high
        for condition in (expression > 3, expression <= 2, sympy.Eq(expression, 4), sympy.Ne(expression, 4)):
            truths = {bool(condition.subs(dict(zip((A, B, C), p, strict=True)))) for p in points}
            known = size_plan.holds(condition, box)
            assert known is None or truths == {known}
            if len(points) == 1:
                assert known is not None


def test_a_bound_that_export_only_assumed_is_widened():
    ranges = {"s0": Range(0, 127, 3), "s1": Range(0, 126, 1), "s2": Range(2, 50, 9)}
    checks = [A + B <= 128, A <= C, B + C <= 900]
    wide = size_plan.widen(ranges, {"s0": 2}, checks)
    assert wide == {"s0": Range(0, 127, 3), "s1": Range(0, 128, 1), "s2": Range(0, 50, 9)}
    assert size_plan.widen(ranges, {"s0": 2}, checks, {"s1": 127})["s1"] == Range(0, 127, 1)
    assert size_plan.widen(ranges, {}, checks) == ranges
    assert size_plan.widen({**ranges, "s1": Range(0, 100, 1)}, {"s0": 2}, checks)["s1"] == Range(0, 100, 1)


def test_the_largest_of_a_size():
    ranges = {"s0": Range(0, 127, 3), "s1": Range(2, None, 3)}
    assert size_plan.largest(128 - A, ranges) == 128 and size_plan.largest(A + B, ranges) is None


@pytest.mark.parametrize("count", (3, 8))
def test_many_bounds_take_little_work(count, monkeypatch):
    """As many boxes as bits of the sizes, not as many as values."""
    names = [f"s{i}" for i in range(count)]
    text = "".join(f"range {n} 0..1000000 hint 3\n" for n in names)
    text += "".join(f"in %x{n}: Float32[{n}]\n%y{n}: Float32[{n}] = Unary(%x{n}) kind=Abs\n" for n in names)
    text += "".join(f"out %y{n}\n" for n in names)
    boxes = []
    visit = size_plan._Search._visit
    monkeypatch.setattr(size_plan._Search, "_visit", lambda *args: boxes.append(0) or visit(*args))
    symbols = list(map(dims.symbol, names))
    sizes = planned(text, sum(symbols) <= 1000, *(a <= b for a, b in itertools.pairwise(symbols)))
    assert sum(sizes.values()) <= 1000 and min(sizes.values()) >= 2
    assert len(boxes) < 400 * count
