#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Writes the support table of docs/operators.md from the rows in aot/ops.

python tools/support_table.py          writes it
python tools/support_table.py --check  only says, by its exit status, whether it is up to date
"""

import argparse
import ast
import inspect
import itertools
import sys
import textwrap
from pathlib import Path

from executorch.backends.et_xnnpack.aot import ops
from executorch.backends.et_xnnpack.serialization.schema import DType
from splice import splice

PAGE = Path(__file__).resolve().parent.parent / "docs" / "operators.md"
BEGIN = "<!-- support table: begin. tools/support_table.py writes it -->"
END = "<!-- support table: end -->"
# How the checks of ``Lowering`` complete the text that they are given.
CHECKS = {
    "require": (1, "{}"),
    "refuse": (0, "{}"),
    "require_static": (1, "{} must not depend on an input size"),
    "largest": (1, "{} must be a number, or an input size that has an upper bound"),
}
SHORT = {t: t.name.lower() for t in DType}


def refusals(function) -> list[str]:
    """The reasons with which ``function`` and what it calls in its module can refuse a node."""
    found, seen, waiting = {}, set(), [function]
    while waiting:
        function = waiting.pop(0)
        if function in seen:
            continue
        seen.add(function)
        variables = inspect.getclosurevars(function)
        called = {**variables.globals, **variables.nonlocals}
        for call in _calls(function):
            if isinstance(call.func, ast.Name):
                target = called.get(call.func.id)
                if inspect.isfunction(target) and target.__module__ == function.__module__:
                    waiting.append(target)
            elif isinstance(call.func, ast.Attribute) and call.func.attr in CHECKS:
                position, text = CHECKS[call.func.attr]
                found[text.format(_text(call.args[position]))] = None
    return list(found)


def _calls(function) -> list[ast.Call]:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    return sorted(calls, key=lambda n: (n.lineno, n.col_offset))


def _text(node: ast.expr) -> str:
    """A string of the source; what is only known at run time is an ellipsis."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    return "…"


def _name(row) -> str:
    name = row.target.removeprefix("aten.").removesuffix(".default")
    return f"**`{name}`**" if row.preserve else f"`{name}`"


def _types(row) -> str:
    return "all" if row.dtypes == frozenset(DType) else ", ".join(SHORT[t] for t in DType if t in row.dtypes)


def table() -> str:
    """Rows that differ in nothing but the operator share a line."""
    lines = ["| family | operators | types | refused |", "|---|---|---|---|"]
    rows = sorted(ops.ROWS.values(), key=lambda row: row.family)
    for family, members in itertools.groupby(rows, key=lambda row: row.family):
        groups: dict[tuple, list[str]] = {}
        for row in members:
            key = (_types(row), "; ".join(refusals(row.lower)))
            groups.setdefault(key, []).append(_name(row))
        for (types, reasons), names in groups.items():
            lines.append(f"| {family} | {', '.join(names)} | {types} | {reasons} |".replace("  ", " "))
            family = ""
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    old = PAGE.read_text()
    new = splice(old, BEGIN, table(), END)
    if arguments.check:
        if new != old:
            print("The support table of docs/operators.md is out of date: run python tools/support_table.py")
        return int(new != old)
    PAGE.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
