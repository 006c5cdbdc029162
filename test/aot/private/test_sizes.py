# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``aot/private/sizes.py`` assumes of symbolic sizes of PyTorch."""

import math

import pytest
import sympy
import torch
from executorch.backends.et_xnnpack.aot.private import sizes
from torch import nn
from torch.export import Dim


class Position(nn.Module):
    """A slice from a position that is read off a tensor."""

    def forward(self, x, position):
        start = position.item()
        torch._check(start >= 0)
        torch._check(start + x.shape[0] <= 50)
        return torch.zeros(60).narrow(0, start, x.shape[0]) + x


def input_size():
    program = torch.export.export(nn.ReLU(), (torch.rand(7),), dynamic_shapes=({0: Dim("n", min=3, max=40)},))
    (placeholder,) = program.graph.find_nodes(op="placeholder")
    return placeholder.meta["val"].shape[0]


def position_program():
    inputs = torch.rand(7), torch.tensor(2)
    return torch.export.export(Position(), inputs, dynamic_shapes=({0: Dim("n", min=3, max=40)}, None))


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda n: n // 3, {sizes.FloorDiv}),
        (lambda n: n % 3, {sizes.Mod, sizes.PythonMod}),
        (lambda n: torch.sym_max(n, 5), {sizes.Max}),
        (lambda n: torch.sym_min(n, 5), {sizes.Min}),
        (lambda n: math.trunc(n * 1.3), {sizes.TruncToInt}),
        (lambda n: math.trunc(n / 2), {sizes.TruncToInt}),
        (lambda n: math.floor(n * 1.3), {sizes.FloorToInt}),
        (lambda n: math.ceil(n / 2), {sizes.CeilToInt}),
    ],
)
def test_functions_of_sizes(function, expected):
    expr = sizes.expression(function(input_size()))
    assert expr.func in expected, f"PyTorch computes it by {expr.func}, which lowering does not know"
    (symbol,) = expr.free_symbols
    for n in 3, 7, 40:
        assert int(expr.subs(symbol, n)) == function(n)


def test_what_is_rounded():
    size = input_size()
    scaled, divided = (sizes.expression(math.trunc(x)).args[0] for x in (size * 1.3, size / 2))
    factor, number = scaled.as_coeff_Mul()
    assert float(factor) == 1.3 and number.func is sizes.ToFloat
    assert divided.func is sizes.IntTrueDiv and divided.args[1] == 2


def test_a_division_without_remainder():
    a, b = sympy.symbols("a b", integer=True, positive=True)
    assert sizes.CleanDiv(a, b).subs({a: 12, b: 4}) == 3


def test_a_size_is_an_expression_of_symbols():
    size = input_size()
    assert sizes.expression(size).is_Symbol
    assert sizes.expression(size * 2 + 1) == sizes.expression(size) * 2 + 1


def test_what_is_known_of_a_size():
    size = input_size()
    symbols, symbol = sizes.Symbols(size), sizes.expression(size)
    assert (symbols.bounds(symbol).lower, symbols.bounds(symbol).upper) == (3, 40)
    assert symbols.example(symbol) == 7
    assert not symbols.is_unbacked(symbol)
    assert symbols.identity == sizes.Symbols(size * 2).identity != sizes.Symbols(input_size()).identity


def test_examples_of_sizes():
    assert sizes.example_of(input_size() * 2 + 1) == 15
    (read,) = position_program().graph.find_nodes(op="call_function", target=torch.ops.aten.item.default)
    assert sizes.example_of(read.meta["val"]) is None


def test_what_is_known_of_a_position():
    program = position_program()
    (read,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.item.default)
    position = read.meta["val"]
    symbols, symbol = sizes.Symbols(position), sizes.expression(position)
    assert symbols.is_unbacked(symbol)
    assert symbols.example(symbol) is None
    assert symbols.bounds(symbol).lower == 0
    (length,) = (size for node in program.graph.nodes if node.name == "x" for size in node.meta["val"].shape)
    together = {symbol: 45, sizes.expression(length): 10}
    assert any(check.subs(together) == sympy.false for check in symbols.checks()), "45 + 10 is more than 50"
    together[symbol] = 40
    assert all(check.subs(together) == sympy.true for check in symbols.checks())


def test_what_may_be_negative():
    class Number(nn.Module):
        def forward(self, x, n):
            return x * n.item()

    number = torch.export.export(Number(), (torch.rand(2), torch.tensor(3)))
    for program, expected in (position_program(), False), (number, True):
        (read,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.item.default)
        assert sizes.may_be_negative(read.meta["val"]) is expected


def test_sizes_that_are_read_off_a_tensor():
    program = position_program()
    (read,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.item.default)
    start = read.meta["val"]
    assert sizes.is_read_off_tensor(start + 1) and not sizes.is_read_off_tensor(input_size())
    assert not sizes.is_read_off_tensor(3)
    assert sizes.largest_of(input_size()) == 40 and sizes.largest_of(input_size() * 2 + 1) == 81


def test_symbols_go_to_another_node():
    program = position_program()
    (read,) = program.graph.find_nodes(op="call_function", target=torch.ops.aten.item.default)
    (symbol,) = read.meta["unbacked_bindings"]
    finder = program.graph.create_node("call_function", torch.ops.aten.nonzero.default)
    sizes.move_symbols(read, finder)
    place = finder.meta["unbacked_bindings"][symbol]
    exported = torch.export.export(_Found(), (torch.rand(12),)).run_decompositions({})
    (usual,) = (n for n in exported.graph.nodes if n.target == torch.ops.aten.nonzero.default)
    assert list(usual.meta["unbacked_bindings"].values()) == [place], "as PyTorch says it of such a node"


def test_bounds_of_expressions():
    size = input_size() // 3
    symbols, expr = sizes.Symbols(size), sizes.expression(size)
    bounds = sizes.bounds_of(expr, {s: symbols.bounds(s) for s in expr.free_symbols})
    assert (bounds.lower, bounds.upper) == (1, 13)


class _Found(torch.nn.Module):
    def forward(self, x):
        found = torch.nonzero(x)
        torch._check(found.shape[0] <= 9)
        return found


def test_sizes_that_are_found_in_data():
    """A node that finds one has the symbol in its result, and a check of it has a condition."""
    exported = torch.export.export(_Found(), (torch.rand(12),)).run_decompositions({})
    found = {node: sizes.symbols_found_by(node) for node in exported.graph.nodes}
    ((node, symbols),) = ((node, symbols) for node, symbols in found.items() if symbols)
    assert node.target == torch.ops.aten.nonzero.default
    assert symbols == {sizes.expression(node.meta["val"].shape[0])}
    conditions = [n.meta["val"] for n in exported.graph.nodes if isinstance(n.meta.get("val"), torch.SymBool)]
    assert conditions
    assert all(sizes.symbols_of(condition) == symbols for condition in conditions)
    assert sizes.symbols_of(True) == set()
    assert sizes.symbols_of_inputs(exported.graph) == set()


def test_symbols_of_inputs():
    program = torch.export.export(nn.ReLU(), (torch.rand(7),), dynamic_shapes=({0: Dim("n", min=3, max=40)},))
    (value,) = (n.meta["val"] for n in program.graph.nodes if n.op == "placeholder")
    assert sizes.symbols_of_inputs(program.graph) == {sizes.expression(value.shape[0])}
