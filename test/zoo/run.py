#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lowers published architectures and compares them with eager PyTorch: ``make zoo``.

Each part of each runs in a process of its own; families take turns, so that a run that ends early has some of each.
Parts that the file of results has already are not run again. setup.md has more.
"""

import argparse
import datetime
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEST = str(ROOT / "test")
sys.path.insert(0, TEST)

from rich.console import Console  # noqa: E402
from rich.progress import Progress  # noqa: E402

from zoo import libraries, table  # noqa: E402
from zoo.child import work  # noqa: E402
from zoo.registry import PARTS, Architecture, architectures, in_turns, select  # noqa: E402

PAGE = ROOT / "docs" / "zoo.md"


RESULTS = ROOT / "test" / "zoo" / "results.jsonl"


class Limits:
    """For a part of one architecture: seconds of processor time, memory, and seconds that its process may sleep."""

    def __init__(self, seconds: float = 300, gigabytes: float = 8, idle: float = 120):
        self.seconds, self.gigabytes, self.idle = seconds, gigabytes, idle


def start(packages: bool = True) -> multiprocessing.context.ForkServerContext:
    """What starts processes that have the packages imported.

    packages: all of them must be there, or RuntimeError says what to install; else those that are.
    """
    if packages:
        libraries.require()
    os.environ["PYTHONPATH"] = os.pathsep.join([TEST, *filter(None, [os.environ.get("PYTHONPATH")])])
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["zoo.preload"])
    return context


def run_parts(context, architecture: Architecture, limits: Limits, parts: Sequence[str], known: dict) -> dict:
    """The record of an architecture: what is ``known``, with these parts anew."""
    record = {"name": architecture.name, "family": architecture.family}
    record.update((part, known[part]) for part in PARTS if part in known)
    for part in parts:
        if part in table.possible(record, architecture):
            record[part] = run_part(context, architecture.name, part, limits)
    for part in set(PARTS) - set(table.possible(record, architecture)):
        record.pop(part, None)
    return record


def run_part(context, name: str, part: str, limits: Limits) -> dict:
    """What there is to say of a part, also if its process ended."""
    pipe, far = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(name, part, limits.seconds, limits.gigabytes, far), daemon=True)
    process.start()
    far.close()
    try:
        found = pipe.recv() if _wait(pipe, process.pid, limits.idle) else {"error": "it waits for something"}
    except EOFError:
        process.join()
        found = {"error": f"its process ended with {process.exitcode}"}
        if process.exitcode == -signal.SIGXCPU:
            found = {"error": f"it is not done after {limits.seconds:g} s of processor time"}
    finally:
        process.kill()
        process.join()
        pipe.close()
    return {**found, "day": datetime.date.today().isoformat()}


def _wait(pipe, pid: int, idle: float) -> bool:
    """False if the process sleeps for ``idle`` seconds: others may keep a machine busy for hours, or freeze it."""
    used = None
    while not pipe.poll(idle):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        before, used = used, fields[11:13]
        if used == before and fields[0] == "S":
            return False
    return True


def check(known: dict[str, dict], seed: str, seconds: float, console: Console) -> int:
    """Runs some that the results have as right, and says what has become worse."""
    chosen = table.affordable(known, [a for a in architectures() if libraries.has(a.name)], seed, seconds)
    context, worse = start(packages=False), 0
    for architecture in chosen:
        before = known[architecture.name]
        record = run_parts(context, architecture, Limits(), [p for p in table.VARIANTS if p in before], {})
        console.print(f"{architecture.name}: {table.outcome(record)}", markup=False, highlight=False)
        for text in table.worse(before, record):
            console.print(f"  WORSE: {text}", markup=False, highlight=False)
            worse += 1
    console.print(f"{len(chosen)} of {len(known)} run again, chosen by {seed}; {worse} of their results are worse")
    return int(worse > 0 or not chosen)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", metavar="PATTERN", nargs="+", default=[], help="names that contain one of these, or match it: timm/*"
    )
    parser.add_argument(
        "--tenth", metavar="SEED", type=int, help="every tenth of them, in an order that the seed gives"
    )
    parser.add_argument("--output", type=Path, default=RESULTS, help="the results (%(default)s)")
    parser.add_argument("--again", action="store_true", help="also what the results have already")
    parser.add_argument("--seconds", type=float, default=300, help="processor time for a part of one (%(default)s)")
    parser.add_argument("--gigabytes", type=float, default=8, help="memory for a part of one (%(default)s)")
    parser.add_argument("--minutes", type=float, help="start none after this time")
    parser.add_argument(
        "--leave-out",
        choices=PARTS,
        nargs="+",
        default=[],
        help="parts: as exported, with dynamic sizes, which take two thirds of the time, or the official delegate",
    )
    parser.add_argument(
        "--check",
        metavar="SEED",
        help="instead run some again that the results have, and fail if one is worse; the packages that are there do",
    )
    parser.add_argument(
        "--check-seconds", metavar="SECONDS", type=float, default=90, help="processor time of these (%(default)s)"
    )
    parser.add_argument("--list", action="store_true", help="print the names, run nothing")
    parser.add_argument(
        "--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)} from the results, run nothing"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    chosen, console = in_turns(select(architectures(), arguments.only, arguments.tenth)), Console()
    known = {} if not arguments.output.exists() else table.read(arguments.output)
    if arguments.list:
        print("\n".join(a.name for a in chosen))
        return 0
    if arguments.page:
        table.write(arguments.output, known, architectures())
        PAGE.write_text(table.page(known, architectures()))
        return 0
    if arguments.check:
        return check(known, arguments.check, arguments.check_seconds, console)
    if not chosen:
        console.print(f"no architecture is called {' or '.join(arguments.only)}", markup=False)
        return 2
    wanted = [part for part in PARTS if part not in arguments.leave_out]
    missing = {a.name: wanted if arguments.again else table.missing(known.get(a.name, {}), a, wanted) for a in chosen}
    # The other parts say nothing without the first.
    waiting = [a for a in chosen if missing[a.name] and "static" in {*missing[a.name], *known.get(a.name, ())}]
    try:
        context = start() if waiting else None
    except RuntimeError as error:
        console.print(str(error), markup=False)
        return 2
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    limits = Limits(arguments.seconds, arguments.gigabytes)
    until = time.monotonic() + (arguments.minutes or 1e9) * 60
    try:
        with Progress(console=console) as progress:
            task = progress.add_task("", total=len(waiting))
            for architecture in waiting:
                if time.monotonic() > until:
                    break
                progress.update(task, description=architecture.name)
                before = known.get(architecture.name, {})
                record = run_parts(context, architecture, limits, missing[architecture.name], before)
                with arguments.output.open("a") as results:  # each time: --page may have replaced the file
                    results.write(json.dumps(record) + "\n")
                known[architecture.name] = record
                progress.console.print(f"{architecture.name}: {table.outcome(record)}", markup=False, highlight=False)
                progress.advance(task)
    except KeyboardInterrupt:
        console.print("interrupted; the same command goes on from here")
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    ran = {a.name: known[a.name] for a in chosen if a.name in known}
    console.print(table.summary(ran), markup=False)
    return int(any(table.is_wrong(record) for record in ran.values()))


if __name__ == "__main__":
    sys.exit(main())
