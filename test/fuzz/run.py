#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Compares random programs with eager PyTorch until the time is over or one differs: ``make fuzz MINUTES=10``.

What differs is printed as the smallest program that does, and written to build/fuzz. So is each program before it runs,
as ``current.py``: one may end the process.
"""

import argparse
import collections
import itertools
import random
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "benchmarks")]
FOLDER = ROOT / "build" / "fuzz"

import faster_export  # noqa: E402
from hypothesis import HealthCheck, Verbosity, assume, given, seed, settings  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from fuzz.differential import NotComparable, check  # noqa: E402
from fuzz.programs import programs  # noqa: E402

#: Programs between two looks at the clock.
ROUND = 25


class Hunt:
    def __init__(self):
        self.compared = 0
        self.left_out = collections.Counter()
        self.functions = collections.Counter()

    def round(self, number: int) -> None:
        """Raises what a program raises, once it is as small as it gets."""

        @seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @given(programs())
        def compare(program):
            self.latest = program
            (FOLDER / "current.py").write_text(repr(program))
            try:
                check(program)
            except NotComparable as reason:
                self.left_out[str(reason)] += 1
                assume(False)
            finally:
                faster_export.forget_programs()
            self.compared += 1
            self.functions.update(
                line.split("=", 1)[1].strip() for line in program.source.splitlines() if " = " in line
            )

        compare()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long to look")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the first programs")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    warnings.simplefilter("ignore")
    faster_export.patch_torch()
    FOLDER.mkdir(parents=True, exist_ok=True)
    hunt, console, start = Hunt(), Console(), time.monotonic()
    status = 0
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("programs", total=arguments.minutes * 60)
        for number in itertools.count(arguments.seed):
            try:
                hunt.round(number)
            except Exception as error:
                found = FOLDER / f"found-{number}.py"
                found.write_text(repr(hunt.latest))
                console.print(f"[red]differs[/red] (seed {number}, also in {found.relative_to(ROOT)}):")
                console.print(repr(hunt.latest), markup=False, highlight=False)
                console.print(f"{type(error).__name__}: {error}", markup=False, highlight=False)
                status = 1
                break
            elapsed = time.monotonic() - start
            progress.update(task, completed=elapsed, description=f"{hunt.compared} programs")
            if elapsed >= arguments.minutes * 60:
                break
    elapsed = time.monotonic() - start
    console.print(
        f"{hunt.compared} programs compared in {elapsed / 60:.1f} minutes ({hunt.compared / elapsed:.1f} a second), "
        f"{len(hunt.functions)} different lines, from seed {arguments.seed}"
    )
    for reason, count in hunt.left_out.most_common():
        console.print(f"  {count} left out, {reason}", markup=False)
    return status


if __name__ == "__main__":
    sys.exit(main())
