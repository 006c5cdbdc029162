# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Sizes: an ``int``, or a SymPy expression over symbols whose values arrive with a call."""

import dataclasses
import functools
import math

import sympy

from ...serialization.scaled import Scaled

Dim = int | sympy.Expr


@dataclasses.dataclass(frozen=True)
class Range:
    """The values a symbol may take, both ends included.

    ``max`` is None where the program gives no upper bound; ``hint`` is the size it was exported with.
    ``plan`` is for what the graph is planned where that is not the ``largest``.
    """

    min: int
    max: int | None
    hint: int
    plan: int | None = None

    @property
    def largest(self) -> int:
        return self.hint if self.max is None else self.max

    @property
    def planned(self) -> int:
        return self.largest if self.plan is None else self.plan


@functools.cache
def symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, integer=True, nonnegative=True)


def simplify(dim: Dim) -> Dim:
    """``dim`` as an ``int`` where it is one."""
    if isinstance(dim, sympy.Expr) and dim.is_Integer:
        return int(dim)
    return dim


def minimum(a: Dim, b: Dim) -> Dim:
    return simplify(sympy.Min(a, b))


def maximum(a: Dim, b: Dim) -> Dim:
    return simplify(sympy.Max(a, b))


def floordiv(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return simplify(sympy.floor(sympy.sympify(a) / b))


def scale(dim: Dim, factor: float) -> Dim:
    """``dim`` times a positive ``factor`` in float64, without its fraction."""
    exact = sympy.Rational(*factor.as_integer_ratio())
    if exact.p < _EXACT:
        return simplify(sympy.floor(dim * exact))
    return simplify(Scaled(sympy.sympify(dim), exact))


#: A size below 2^31 times a number below this over a power of two has no more digits than float64.
_EXACT = 1 << 22


def is_static(shape: tuple[Dim, ...]) -> bool:
    return all(isinstance(d, int) for d in shape)


def numel(shape: tuple[Dim, ...]) -> Dim:
    """The number of elements of a tensor of this shape."""
    return simplify(math.prod(shape))


def broadcast(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The shape of an elementwise result, by the rules of NumPy."""
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + tuple(a), (1,) * (rank - len(b)) + tuple(b)
    return tuple(y if x == 1 else x for x, y in zip(a, b, strict=True))


def evaluate(dim: Dim, values: dict[str, int]) -> int:
    """``dim`` with every symbol replaced by its value."""
    if isinstance(dim, int):
        return dim
    return int(dim.subs({symbol(name): value for name, value in values.items()}))
