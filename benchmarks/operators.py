# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Single operators: et_xnnpack beside eager PyTorch, ExecuTorch's own kernels and the official XNNPACK delegate.

A program of one operator, from the call in Python to its result; so small operators also measure the call.
Each engine runs in a process of its own, they take turns. Writes operators.json and operators.md.
"""

import argparse
import json
import statistics
import sys

import cases
import engines
import numpy as np
from engines import OFFICIAL, OURS, TOLERANCE
from markdown_table import table
from options import add_output, positive
from rich.console import Console
from rich.progress import Progress
from turns import turns
from worker import Worker

ENGINES = (OURS, "eager", "executorch", OFFICIAL)
TURN_MS = 10  # what a turn of an engine takes at least

console = Console(stderr=True, highlight=False)


def main() -> int:
    known = [c.name for c in cases.CASES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operators", nargs="+", choices=known, default=known, metavar="OPERATOR")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--rounds", type=positive, default=10, help="turns of each engine")
    add_output(parser)
    arguments = parser.parse_args()
    workers = {name: Worker(name) for name in ENGINES}
    rows = []
    try:
        with Progress(console=console) as progress:
            for name in progress.track(arguments.operators):
                rows.append({"name": name, **measure(name, workers, arguments)})
    finally:
        for worker in workers.values():
            worker.close()
    (arguments.output / "operators.json").write_text(json.dumps(rows, indent=1))
    text = report(rows, arguments.threads)
    (arguments.output / "operators.md").write_text(text)
    print(text)
    return 1 if any(OURS in r["errors"] or r["difference"].get(OURS, 0) > TOLERANCE for r in rows) else 0


def measure(name: str, workers: dict[str, Worker], arguments) -> dict:
    folder = arguments.output / "operators" / name.replace(" ", "_")
    folder.mkdir(parents=True, exist_ok=True)
    workers["eager"].write_reference(name, folder)
    reference = np.load(folder / "reference.npz")
    result = {"bytes": sum(a.nbytes for k, a in reference.items() if k != "flop"), "flop": int(reference["flop"])}
    result.update(ms={}, difference={}, facts={}, errors={})
    samples, calls = {}, {}
    for engine, worker in workers.items():
        where = folder / engine
        where.mkdir(exist_ok=True)
        try:
            result["facts"][engine] = worker.prepare(name, where)
            _, result["difference"][engine] = worker.load(name, where, arguments.threads)
            calls[engine] = max(1, round(TURN_MS / min(worker.time(1, 3))))
            samples[engine] = []
        except RuntimeError as error:
            result["errors"][engine] = str(error).strip().splitlines()[-1]
    for order in turns(samples, arguments.rounds):
        for engine in order:
            samples[engine] += workers[engine].time(1, calls[engine])
    result["ms"] = {engine: statistics.median(s) for engine, s in samples.items()}
    return result


def report(rows: list[dict], threads: int) -> str:
    notes = {c.name: c.note for c in cases.CASES}
    others = [n for n in ENGINES if n != OURS]
    lines = []
    for r in rows:
        ours = r["ms"].get(OURS)
        if ours is None:
            continue
        speed = f"{r['flop'] / ours / 1e6:.0f} GFLOP/s" if r["flop"] else f"{r['bytes'] / ours / 1e6:.1f} GB/s"
        ratios = [f"{r['ms'][n] / ours:.2f}" + _left_outside(r, n) if n in r["ms"] else "-" for n in others]
        lines.append([r["name"], notes[r["name"]], f"{ours * 1e3:.0f}", speed, *ratios])
    headers = ["operator", "input", "us", "speed", *(f"x {engines.get(n).TITLE}" for n in others)]
    parts = [
        f"# Single operators, {threads} thread{'s' * (threads != 1)}",
        "Median microseconds of a call of et_xnnpack, the speed that is (of operands and results in memory, or of "
        "arithmetic), and how many times as fast as the others. * The official delegate leaves an operator outside, "
        "to ExecuTorch's kernels.",
        table(headers, lines),
    ]
    failed = [f"- {r['name']}, {engines.get(n).TITLE}: `{what}`" for r in rows for n, what in r["errors"].items()]
    if failed:
        parts += ["Cannot be measured:", "\n".join(failed)]
    return "\n\n".join(parts) + "\n"


def _left_outside(row: dict, engine: str) -> str:
    return "*" if engine == OFFICIAL and row["facts"][engine]["outside"] else ""


if __name__ == "__main__":
    sys.exit(main())
