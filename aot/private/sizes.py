# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What PyTorch knows about symbolic sizes.

The documented interface of ``torch.SymInt`` is that of an integer: it can be computed with and compared, and a
comparison becomes a promise of the program. We must read what is known without adding to it.
"""

from collections.abc import Iterator, Mapping

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import CallMethodKey
from torch.utils._pytree import SequenceKey
from torch.utils._sympy.functions import (
    CeilToInt,
    CleanDiv,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    Max,
    Min,
    Mod,
    PythonMod,
    ToFloat,
    TruncToInt,
)
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy


def expression(size: torch.SymInt | torch.SymFloat | torch.SymBool) -> sympy.Expr:
    """``size`` in terms of the symbols of its program.

    The blob has such expressions, and ``str(size)``, the documented way to them, would have to be parsed.
    """
    return size.node.expr


def symbols_of(condition) -> set[sympy.Symbol]:
    """The symbols of a ``torch.SymBool``; none of anything else."""
    return expression(condition).free_symbols if isinstance(condition, torch.SymBool) else set()


def _shape_symbols(value) -> set[sympy.Symbol]:
    tensors = torch.utils._pytree.tree_leaves(value)
    sizes = [size for t in tensors for size in getattr(t, "shape", ()) if isinstance(size, torch.SymInt)]
    return set().union(*(expression(size).free_symbols for size in sizes))


def symbols_of_inputs(graph: torch.fx.Graph) -> set[sympy.Symbol]:
    """The symbols of sizes that a call gives."""
    return _shape_symbols([node.meta.get("val") for node in graph.nodes if node.op == "placeholder"])


def symbols_found_by(node: torch.fx.Node) -> set[sympy.Symbol]:
    """The symbols of sizes that ``node`` finds in data.

    Its ``unbacked_bindings`` may still have names that they had before.
    """
    if not node.meta.get("unbacked_bindings"):
        return set()
    operands = [_shape_symbols(operand.meta.get("val")) for operand in node.all_input_nodes]
    return _shape_symbols(node.meta.get("val")).difference(*operands)


def move_symbols(reader: torch.fx.Node, finder: torch.fx.Node) -> None:
    """The symbols of an integer that ``reader`` reads off a tensor are those of the first size of ``finder``."""
    place = (CallMethodKey("size"), SequenceKey(0))
    finder.meta["unbacked_bindings"] = dict.fromkeys(reader.meta.get("unbacked_bindings") or (), place)


class Symbols:
    """The ShapeEnv of ``size``: what its program knows of the symbols in it.

    ``ExportedProgram.range_constraints`` has the bounds of most symbols, but neither their examples nor what the
    program checks of several at once.
    """

    def __init__(self, size: torch.SymInt):
        self._env = size.node.shape_env

    @property
    def identity(self) -> int:
        """The same for all sizes of one program."""
        return id(self._env)

    def bounds(self, symbol: sympy.Symbol) -> ValueRanges:
        """What export assumes of the symbol, both ends included."""
        return self._env.var_to_range[symbol]

    def example(self, symbol: sympy.Symbol) -> int | None:
        """The size that the program was exported with; None for one that was read off a tensor."""
        example = self._env.backed_var_to_val.get(symbol)
        return None if example is None else int(example)

    def is_unbacked(self, symbol: sympy.Symbol) -> bool:
        """Whether it was read off a tensor."""
        return self._env.is_unbacked_symint(symbol)

    def checks(self) -> Iterator[sympy.Basic]:
        """What the program checks of sizes that were read off tensors, by ``torch._check`` or by itself."""
        for checks in self._env.deferred_runtime_asserts.values():
            for check in checks:
                yield check.expr.xreplace(self._env.replacements)


def example_of(size: torch.SymInt) -> int | None:
    """What it was when the program was exported; None if it depends on one that was read off a tensor."""
    known = Symbols(size)
    examples = {symbol: known.example(symbol) for symbol in expression(size).free_symbols}
    return None if None in examples.values() else int(expression(size).xreplace(examples))


def is_read_off_tensor(size) -> bool:
    """Whether a size depends on one that was read off a tensor."""
    return isinstance(size, torch.SymInt) and any(map(Symbols(size).is_unbacked, expression(size).free_symbols))


def bounds_of(expr: sympy.Expr, bounds: Mapping[sympy.Symbol, ValueRanges]) -> ValueRanges:
    """The bounds of an expression in PyTorch's own functions, which SymPy knows nothing about."""
    return bound_sympy(expr, bounds)


def largest_of(size: torch.SymInt) -> int | None:
    """The most that it can be; None if nothing that the program says of its sizes does."""
    upper = bounds_of(expression(size), size.node.shape_env.var_to_range).upper
    return int(upper) if upper.is_Integer else None


def may_be_negative(size: torch.SymInt) -> bool:
    """Whether nothing that the program says of its sizes excludes it."""
    return bool(bounds_of(expression(size), size.node.shape_env.var_to_range).lower < 0)


__all__ = [
    "CeilToInt",
    "CleanDiv",
    "FloorDiv",
    "FloorToInt",
    "IntTrueDiv",
    "Max",
    "Min",
    "Mod",
    "PythonMod",
    "Symbols",
    "ToFloat",
    "TruncToInt",
    "ValueRanges",
    "bounds_of",
    "example_of",
    "expression",
    "is_read_off_tensor",
    "largest_of",
    "may_be_negative",
    "move_symbols",
    "symbols_found_by",
    "symbols_of",
    "symbols_of_inputs",
]
