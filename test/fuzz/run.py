#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Compares random programs with eager PyTorch until the time is over or one differs: ``make fuzz-programs MINUTES=10``.

What differs is printed as the smallest program that does, and written to build/fuzz. So is each program before it runs,
as ``current.program``: one may end the process. Such files can be given as arguments, and are compared alone.
build/fuzz/totals.json has the graphs of all runs, and log.txt their seeds.
"""

import argparse
import gc
import itertools
import random
import sys
import time
import traceback
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "benchmarks")]

import faster_export  # noqa: E402
import torch  # noqa: E402
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool  # noqa: E402
from hypothesis import HealthCheck, Phase, Verbosity, assume, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from fuzz.coverage import missing  # noqa: E402
from fuzz.differential import Compared, check  # noqa: E402
from fuzz.programs import programs, read_programs  # noqa: E402
from fuzz.totals import FOLDER, Counter, commit  # noqa: E402

#: Files of one seed. The first ones of each are small.
ROUND = 40
MOST_METHODS = 2
#: An odd number does not divide what loops have evenly.
THREADS = 3


class Hunt:
    def __init__(self, minutes: float, graphs: float):
        self.end, self.graphs = time.monotonic() + 60 * minutes, graphs
        self.total = Counter("graphs")
        self.failing = False  # from then on it only becomes smaller
        self.compared = Compared()

    def is_over(self) -> bool:
        return time.monotonic() >= self.end or self.total.total >= self.graphs

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
            if self.is_over() and not self.failing:
                return
            self.latest = "".join(map(repr, methods))
            (FOLDER / "current.program").write_text(self.latest)
            compared = Compared() if self.failing else self.compared
            before = compared.graphs
            try:
                compared.add(methods)
            except Exception:
                if not self.failing:
                    found(number).write_text(self.latest)
                    log("differs, and is made smaller now")
                self.failing = True
                raise
            finally:
                faster_export.forget_programs()
            self.total.reached(self.compared.graphs)
            assume(compared.graphs > before)

        def log(what: str) -> None:
            with (FOLDER / "log.txt").open("a") as file:
                file.write(f"{time.strftime('%F %T')} {commit()} seed {number}: {what}\n")

        before = self.compared.graphs
        compare()
        log(f"{self.compared.graphs - before} graphs, {self.total.total} in all")


def found(number: int) -> Path:
    """What differs of this seed: the program as it was found, then a smaller one."""
    return FOLDER / f"found-{number}.program"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="programs that were found, instead of random ones")
    parser.add_argument("--minutes", type=float, default=10, help="how long to look")
    parser.add_argument("--graphs", type=float, default=float("inf"), help="until so many were compared in all runs")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32), help="of the first programs")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    warnings.simplefilter("ignore")
    faster_export.patch_torch()
    torch.fx.config.do_not_emit_stack_traces = True  # of every node
    torch.set_num_threads(1)
    _unsafe_reset_threadpool(THREADS)
    for file in arguments.files:
        check(read_programs(file.read_text()))
    if arguments.files:
        return 0
    hunt, console, start = Hunt(arguments.minutes, arguments.graphs), Console(), time.monotonic()
    status = 0
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("programs", total=arguments.minutes * 60)
        for number in itertools.count(arguments.seed):
            gc.freeze()  # what PyTorch remembers is looked at no more: a tenth of the time after thousands of programs
            try:
                hunt.round(number)
            except Exception as error:
                if not hunt.failing:  # nothing was compared
                    raise
                found(number).write_text(hunt.latest)
                console.print(f"[red]differs[/red] (seed {number}, also in {found(number).relative_to(ROOT)}):")
                console.print(hunt.latest, markup=False, highlight=False)
                console.print("".join(traceback.format_exception(error)), markup=False, highlight=False, soft_wrap=True)
                status = 1
            progress.update(task, completed=time.monotonic() - start, description=f"{hunt.compared.graphs} graphs")
            if status != 0 or hunt.is_over():
                break
    elapsed, compared = time.monotonic() - start, hunt.compared
    console.print(
        f"{compared.graphs} graphs in {compared.files} programs compared in {elapsed / 60:.1f} minutes "
        f"({compared.graphs / elapsed:.1f} a second, {hunt.total.total} in all runs), "
        f"{len(compared.lines)} different lines, from seed {arguments.seed}, {'one' if status else 'none'} differs; "
        f"{', '.join(f'{count} {kind}' for kind, count in compared.kinds.most_common())}",
        soft_wrap=True,
    )
    for reason, count in compared.left_out.most_common():
        console.print(f"  {count} left out, {reason}", markup=False)
    never = missing(compared.operators)
    console.print(
        f"  {len(compared.operators)} operators were delegated; never: {', '.join(never) or 'none'}", markup=False
    )
    return status


if __name__ == "__main__":
    sys.exit(main())
