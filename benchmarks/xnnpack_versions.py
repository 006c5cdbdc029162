# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Latency of whole models with two builds of our library, with two versions of XNNPACK, beside the official delegate.

All run the same programs, in processes of their own that take turns as in bench.py. A build takes the place of the
installed library, which must be of the same sources.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import models
from bench import ROOT, TOLERANCE, prepare
from tabulate import tabulate
from worker import Worker

OURS, OFFICIAL = "et_xnnpack", "official"
BUILT = [ROOT / "build" / f"release-{version}" / "runtime" / "libet_xnnpack.so" for version in ("4ea82e5", "92a7ad5")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", nargs="+", type=Path, default=BUILT, metavar="FILE", help="builds of ours")
    parser.add_argument("--models", nargs="+", default=["mobilenet_v2", "resnet50", "minilm"], metavar="MODEL")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each")
    parser.add_argument("--calls", type=int, default=5, help="timed calls in a turn; 2 more warm up")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "bench", help="folder of programs")
    arguments = parser.parse_args()
    known = {model.name for model in models.MODELS}
    if unknown := set(arguments.models) - known:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")

    builds = {version_of(library): library for library in arguments.libraries}
    if len(builds) < len(arguments.libraries):
        parser.error(f"several of these libraries are {', '.join(builds)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    rows, wrong = [], []
    for name in arguments.models:
        facts, errors = prepare(models.get(name), [OURS, OFFICIAL], arguments.output, fresh=False)
        for error in errors:
            print(f"{name}, {error['engine']}: {error['what']}", file=sys.stderr)
        engines = {version: (OURS, library) for version, library in builds.items()}
        if OFFICIAL in facts:
            engines[OFFICIAL] = (OFFICIAL, None)
        for threads in arguments.threads:
            times, differences = measure(name, engines, threads, arguments)
            first = statistics.median(times[next(iter(builds))])
            cells = [f"{(ms := statistics.median(times[e])):.2f} ({first / ms:.2f}x)" for e in engines]
            rows.append([name, threads, *cells])
            wrong += [(name, e) for e, difference in differences.items() if e in builds and difference > TOLERANCE]
    print("Median ms of a call (times faster than the first)\n")
    print(tabulate(rows, ["model", "threads", *builds, OFFICIAL], tablefmt="github", disable_numparse=True))
    for name, engine in wrong:
        print(f"{name}: results of {engine} differ from eager PyTorch", file=sys.stderr)
    return 1 if wrong else 0


@contextlib.contextmanager
def instead(library: Path | None):
    """Processes that are started here have this library in place of the installed one of its name."""
    if library is not None:
        os.environ["LD_PRELOAD"] = str(library.resolve(strict=True))
    try:
        yield
    finally:
        os.environ.pop("LD_PRELOAD", None)


def version_of(library: Path) -> str:
    code = "from executorch.backends import et_xnnpack; print(et_xnnpack.xnnpack_version())"
    with instead(library):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return "XNNPACK " + done.stdout.split()[0]


def measure(model: str, engines: dict, threads: int, arguments) -> tuple[dict, dict]:
    """The milliseconds of all calls, and the largest difference from eager PyTorch, of each engine."""
    workers, times, differences = {}, {name: [] for name in engines}, {}
    try:
        for name, (engine, library) in engines.items():
            with instead(library):
                workers[name] = Worker(engine)
                folder = arguments.output / model / engine
                _, differences[name] = workers[name].load(model, folder, threads)
        order = list(workers)
        started = time.perf_counter()
        for i in range(arguments.rounds):
            if i >= 3 and time.perf_counter() - started > 30:
                break
            for name in order:
                times[name] += workers[name].time(2, arguments.calls)
            order.append(order.pop(0))
    finally:
        for worker in workers.values():
            worker.close()
    return times, differences


if __name__ == "__main__":
    sys.exit(main())
