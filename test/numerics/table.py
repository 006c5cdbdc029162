# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Writes the tables of docs/numerics.md from the cases.

In the folder test:
python -m numerics.table            writes them
python -m numerics.table --measure  prints what is measured here, beside eager PyTorch
"""

import argparse
import sys
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from splice import splice  # noqa: E402

from .cases import FAMILIES  # noqa: E402

PAGE = ROOT / "docs" / "numerics.md"
BEGIN = "<!-- tables: begin. test/numerics/table.py writes them -->"
END = "<!-- tables: end -->"


def tables() -> str:
    parts = []
    for family, cases in FAMILIES.items():
        rows = {}
        for case in cases:
            rows.setdefault((case.bound, case.unit), []).append(case.name)
        lines = [f"| {', '.join(names)} | {_text(*error)} |" for error, names in sorted(rows.items())]
        parts += [f"### {family.capitalize()}", "\n".join(["| operators | error at most |", "|---|---|", *lines])]
    return "\n\n".join(parts)


def _text(bound: float, unit: str) -> str:
    return "exact" if bound == 0 else "rounded once" if bound == 0.5 and unit == "ulp" else f"{bound:g} {unit}"


def _with_tables(page: str) -> str:
    return splice(page, BEGIN, tables(), END)


def is_up_to_date() -> bool:
    page = PAGE.read_text()
    return _with_tables(page) == page


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", action="store_true", help="only print what is measured here")
    if not parser.parse_args().measure:
        PAGE.write_text(_with_tables(PAGE.read_text()))
        return 0
    from .measure import measure

    for family, cases in FAMILIES.items():
        rows = [[m.case.name, f"{m.error:.3f}", m.case.bound, f"{m.eager:.3f}", m.case.unit] for m in measure(cases)]
        print(f"\n{family}\n\n" + tabulate(rows, ["operator", "error", "bound", "of eager", ""], tablefmt="github"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
