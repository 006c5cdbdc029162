#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Compares random programs with eager PyTorch until the time is over or one differs: ``make fuzz-programs MINUTES=10``.

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
from hypothesis import HealthCheck, Phase, Verbosity, assume, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from fuzz.coverage import missing  # noqa: E402
from fuzz.differential import NotComparable, check  # noqa: E402
from fuzz.programs import CALLS, Program, programs  # noqa: E402

#: Files between two looks at the clock.
ROUND = 10
MOST_METHODS = 2


def kinds_of(program: Program) -> list[str]:
    """What is special about its graphs, once for each."""
    kinds = {
        "quantized": program.quantization is not None,
        "with states": program.has_states,
        "with empty tensors": program.calls != CALLS,
        "of dynamic sizes": any(isinstance(d, str) for x in program.inputs for d in x.shape),
        "channels_last": any(x.channels_last for x in program.inputs),
    }
    return [kind for kind, holds in kinds.items() if holds for _ in range(program.graphs)]


class Hunt:
    def __init__(self):
        self.compared = 0  # graphs
        self.files = 0
        self.operators = set()
        self.kinds = collections.Counter()
        self.left_out = collections.Counter()
        self.functions = collections.Counter()

    def round(self, number: int) -> None:
        """Raises what a program raises, once it is as small as it gets."""

        @seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            verbosity=Verbosity.quiet,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(programs(), min_size=1, max_size=MOST_METHODS))
        def compare(methods):
            self.latest = "".join(map(repr, methods))
            (FOLDER / "current.py").write_text(self.latest)
            try:
                self.operators |= check(methods)
            except NotComparable as reason:
                self.left_out[str(reason)] += 1
                assume(False)
            finally:
                faster_export.forget_programs()
            self.compared += sum(program.graphs for program in methods)
            self.files += 1
            for program in methods:
                self.kinds.update(kinds_of(program))
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
                found.write_text(hunt.latest)
                console.print(f"[red]differs[/red] (seed {number}, also in {found.relative_to(ROOT)}):")
                console.print(hunt.latest, markup=False, highlight=False)
                console.print(f"{type(error).__name__}: {error}", markup=False, highlight=False)
                status = 1
                break
            elapsed = time.monotonic() - start
            progress.update(task, completed=elapsed, description=f"{hunt.compared} graphs")
            if elapsed >= arguments.minutes * 60:
                break
    elapsed = time.monotonic() - start
    console.print(
        f"{hunt.compared} graphs in {hunt.files} programs compared in {elapsed / 60:.1f} minutes "
        f"({hunt.compared / elapsed:.1f} a second), {len(hunt.functions)} different lines, from seed {arguments.seed}; "
        f"{', '.join(f'{count} {kind}' for kind, count in hunt.kinds.most_common())}",
        soft_wrap=True,
    )
    for reason, count in hunt.left_out.most_common():
        console.print(f"  {count} left out, {reason}", markup=False)
    never = missing(hunt.operators)
    console.print(
        f"  {len(hunt.operators)} operators were delegated; never: {', '.join(never) or 'none'}", markup=False
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
