# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What profiling costs while nobody profiles: calls of small models with it, without it, and with an event tracer.

All three are one program in one process, on one thread, and take turns in an order that rotates. A turn is many calls
that are timed together; the ratio is the median of those of the turns, with its quartiles. Writes tracer.json and
tracer.md.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import small_models
from bench import machine, versions
from engines import _executorch, et_xnnpack_engine
from executorch.backends import et_xnnpack
from executorch.extension.pybindings import portable_lib
from markdown_table import table
from options import add_output, positive
from turns import turns

#: Options of the load, and whether there is a tracer. What the others are divided by comes first.
WAYS = {
    "profiling=False": ({"profiling": False}, False),
    "default, no tracer": ({}, False),
    "default, tracer": ({}, True),
}
#: A tracer keeps all events until it is written.
TRACED_CALLS = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=positive, default=101, help="turns of each way")
    parser.add_argument("--calls", type=positive, default=2000, help="calls in a turn")
    parser.add_argument("--cpu-time", action="store_true", help="time of the process, on a busy machine")
    add_output(parser)
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_time else time.perf_counter

    _executorch.use_threads(1)
    rows = []
    for model in small_models.SMALL:
        print(f"{model.name}: measuring", file=sys.stderr, flush=True)
        folder = arguments.output / "tracer" / model.name
        folder.mkdir(parents=True, exist_ok=True)
        et_xnnpack_engine.prepare(model.build(), model.example(), folder)
        rows.append({"model": model.name, **measure(folder / "model.pte", list(model.example()), arguments, clock)})
    results = {"machine": machine(), "versions": versions(), "rows": rows}
    (arguments.output / "tracer.json").write_text(json.dumps(results, indent=1))
    text = report(results)
    (arguments.output / "tracer.md").write_text(text)
    print(text)
    return 0


def measure(program: Path, inputs: list, arguments, clock) -> dict:
    """Microseconds a call of each turn, by way, and the ratios to the first way."""
    modules, times = {}, {way: [] for way in WAYS}
    for way, (options, traced) in WAYS.items():
        with et_xnnpack.load_options(**options):
            modules[way] = portable_lib._load_for_executorch(str(program), enable_etdump=traced)
            modules[way].forward(inputs)  # loads the method
    for i, order in enumerate(turns(WAYS, arguments.rounds + 1)):
        for way in order:
            traced = WAYS[way][1]
            calls = min(TRACED_CALLS, arguments.calls) if traced else arguments.calls
            call = modules[way].forward
            started = clock()
            for _ in range(calls):
                call(inputs, clone_outputs=False)
            if i > 0:  # the first one warms up
                times[way].append((clock() - started) / calls * 1e6)
            if traced:
                modules[way].write_etdump_result_to_file(os.devnull, os.devnull)
    base = next(iter(WAYS))
    ratios = {w: statistics.quantiles((t / b for t, b in zip(times[w], times[base], strict=True)), n=4) for w in WAYS}
    return {"turns": times, "ratios": ratios}


def report(results) -> str:
    m = results["machine"]
    packages = ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    first, *others = WAYS
    rows = []
    for row in results["rows"]:
        cells = [f"{statistics.median(row['turns'][first]):.2f}"]
        for way in others:
            low, middle, high = row["ratios"][way]
            cells.append(f"{statistics.median(row['turns'][way]):.2f} ({middle:.3f}x, {low:.3f} to {high:.3f})")
        rows.append([row["model"], *cells])
    parts = [
        "# What profiling costs",
        f"{m['cpu']}, {m['cpus']} CPUs, {m['system']}. {packages}. Microseconds a call from Python, one thread; in "
        f"brackets how many times as long as with {first}, the median of the turns and its quartiles.",
        table(["model", first, *others], rows),
    ]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
