# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""PyTorch's symbolic sizes as expressions of the IR."""

import sympy
import torch
from torch.export import ExportedProgram

from ..ir import Range, dims
from ..private import sizes as torch_sizes
from .unsupported import Unsupported


def _finite(bound) -> int | None:
    return int(bound) if isinstance(bound, int) or bound.is_Integer else None


def _remainder(a, b):
    """PyTorch rolls what has no elements without dividing by their number."""
    return sympy.Mod(a, b if b.is_Integer else sympy.Max(b, 1))


def _quotient(a, b):
    """Without common factors: one that is 0 would else divide by 0 what is empty."""
    return sympy.cancel(a / b) if b.free_symbols else a / b


class Sizes:
    """The sizes of one program as expressions of the IR, with the range of every symbol."""

    _FUNCTIONS = {
        torch_sizes.FloorDiv: lambda a, b: sympy.floor(_quotient(a, b)),
        torch_sizes.CleanDiv: _quotient,
        torch_sizes.Mod: _remainder,
        torch_sizes.PythonMod: _remainder,
        torch_sizes.Max: sympy.Max,
        torch_sizes.Min: sympy.Min,
    }

    def __init__(self, program: ExportedProgram):
        self._constraints = program.range_constraints
        self._cache: dict[object, dims.Dim] = {}
        self._known: dict[int, torch_sizes.Symbols] = {}  # by their identity
        self._bounds: dict[sympy.Symbol, torch_sizes.ValueRanges] = {}
        self.ranges: dict[str, Range] = {}
        self._examples: dict[str, int] = {}
        self.assumed: dict[str, int] = {}  #: the least size that export assumed where we take less

    def convert(self, size: int | torch.SymInt) -> dims.Dim:
        """Raises Unsupported for a size that no expression of the IR gives."""
        if isinstance(size, int) and not isinstance(size, torch.SymInt):
            return size
        expr = torch_sizes.expression(size)
        symbols = torch_sizes.Symbols(size)
        self._known.setdefault(symbols.identity, symbols)
        if expr not in self._cache:
            for symbol in sorted(expr.free_symbols, key=str):
                self._add_range(symbol, symbols)
            self._cache[expr] = dims.simplify(self._rebuild(expr))
        return self._cache[expr]

    def is_negative(self, dim: sympy.Expr) -> bool:
        """Whether it is for the example, or with sizes read off a tensor, of which there is none, for all of them."""
        if any(symbol.name not in self._examples for symbol in dim.free_symbols):
            return bool(dim.is_nonpositive)
        return dims.evaluate(dim, self._examples) < 0

    def conditions(self) -> list:
        """What the program checks of its sizes at a call."""
        found = {}
        for symbols in self._known.values():
            for condition in symbols.checks():
                if all(symbol.name in self.ranges for symbol in condition.free_symbols):
                    found[condition] = None
        return [rebuilt for condition in found if (rebuilt := self._rebuild_condition(condition)) is not None]

    def _rebuild_condition(self, condition):
        """None for one that has no form here."""
        if condition.is_Boolean and not condition.is_Relational:
            parts = [self._rebuild_condition(part) for part in condition.args]
            return None if None in parts else condition.func(*parts)
        try:
            return condition.func(*(self._rebuild(side) for side in condition.args))
        except Unsupported:
            return None

    def _rebuild(self, expr):
        if expr.is_Integer:
            return sympy.Integer(int(expr))
        if expr.is_Rational:
            return sympy.Rational(expr.p, expr.q)
        if expr.is_Symbol:
            return dims.symbol(expr.name)
        if expr.func in (torch_sizes.TruncToInt, torch_sizes.FloorToInt, torch_sizes.CeilToInt):
            return self._rounded(expr, up=expr.func is torch_sizes.CeilToInt)
        args = [self._rebuild(a) for a in expr.args]
        if expr.func in self._FUNCTIONS:
            return self._FUNCTIONS[expr.func](*args)
        if expr.func in (sympy.Add, sympy.Mul, sympy.Pow):
            return expr.func(*args)
        raise Unsupported(f"the size {expr} cannot be computed in the delegate")

    def _rounded(self, expr, up: bool):
        """A size divided by an integer, without its fraction or ``up``; times a float, without its fraction."""
        factor, number = expr.args[0].as_coeff_Mul()
        if isinstance(number, (torch_sizes.ToFloat, torch_sizes.IntTrueDiv)) and factor > 0:
            size, divisor = (*number.args, 1)[:2]
            if self._is_size(size):
                if divisor == 1 and not up:
                    return sympy.sympify(dims.scale(self._rebuild(size), float(factor)))
                if factor == 1 and sympy.sympify(divisor).is_Integer and divisor > 0:
                    return sympy.floor((self._rebuild(size) + up * (int(divisor) - 1)) / int(divisor))
        raise Unsupported(f"the size {expr} cannot be computed in the delegate")

    def _is_size(self, expr) -> bool:
        """Whether it cannot be negative: rounded down it is then the same as without its fraction."""
        return bool(torch_sizes.bounds_of(expr, self._bounds).lower >= 0)

    def _add_range(self, symbol, symbols: torch_sizes.Symbols) -> None:
        if symbol.name in self.ranges:
            return
        bounds = self._constraints.get(symbol)
        if bounds is None:
            bounds = symbols.bounds(symbol)
        self._bounds[symbol] = bounds
        low, high = _finite(bounds.lower), _finite(bounds.upper)
        if symbols.is_unbacked(symbol):
            if low is None or low < 0:
                raise Unsupported("an integer from a tensor may be negative; torch._check can say that it is not")
        elif low is None or low <= 2:  # export assumes at least 2 where the user allows 0 and 1
            self.assumed[symbol.name] = _finite(symbols.bounds(symbol).lower) or 0
            low = 0
        if high is not None and high >= 2**31 - 1:
            high = None
        example = symbols.example(symbol)
        if example is not None:
            self._examples[symbol.name] = example
        hint = max(low, 1) if example is None else example
        self.ranges[symbol.name] = Range(low, high, hint)
