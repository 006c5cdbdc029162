# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Latency of models and layers with two builds of our library, of two versions of XNNPACK, beside the official one.

A name is that of a model, of a layer (layers.py), ``layers`` for all of them, or of a model with a number format of
quantized.py, such as ``minilm:dynamic``. All run the same programs, in processes of their own that take turns as in
bench.py. A build takes the place of the installed library, which must be of the same sources.
"""

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
from pathlib import Path

import layers
import models
import quantized_programs
from bench import ROOT, prepare
from engines import OFFICIAL, OURS, TOLERANCE
from markdown_table import table
from options import add_output, positive
from turns import turns
from worker import CPU_TIME, Worker

DEFAULT = ["mobilenet_v2", "resnet50", "minilm"]
LAYERS = [layer.name for layer in layers.LAYERS]
BUILT = [ROOT / "build" / f"release-{version}" / "runtime" / "libet_xnnpack.so" for version in ("4ea82e5", "92a7ad5")]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", nargs="+", type=Path, default=BUILT, metavar="FILE", help="builds of ours")
    parser.add_argument("--models", nargs="+", default=DEFAULT, metavar="MODEL")
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=positive, default=15, help="turns of each")
    parser.add_argument("--calls", type=positive, default=5, help="timed calls in a turn; 2 more warm up")
    parser.add_argument("--without-official", action="store_true", help="compare builds of ours only")
    parser.add_argument(
        "--cpu-time", action="store_true", help="time of the process, on a busy machine; of all threads"
    )
    parser.add_argument("--best", action="store_true", help="the least of all calls instead of the median")
    add_output(parser, "programs")
    arguments = parser.parse_args()
    arguments.models = [n for name in arguments.models for n in (LAYERS if name == "layers" else [name])]
    known = {model.name for model in models.MODELS} | set(LAYERS)
    known |= {f"{model}:{scheme}" for model in quantized_programs.MODELS for scheme in quantized_programs.SCHEMES}
    if unknown := set(arguments.models) - known:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(sorted(known))}")

    builds = {}
    for library in arguments.libraries:
        whole = version_of(library)
        version = whole.split(" (")[0]
        builds[whole if version in builds else version] = library  # the second of a version with all its parts
    if len(builds) < len(arguments.libraries):
        parser.error(f"several of these libraries are {', '.join(builds)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    wanted = [OURS] if arguments.without_official else [OURS, OFFICIAL]
    rows, wrong = [], []
    middle = min if arguments.best else statistics.median
    workers = {}
    if arguments.cpu_time:
        os.environ[CPU_TIME] = "1"
    for version, library in builds.items():
        with instead(library):
            workers[version] = (OURS, Worker(OURS))
    if not arguments.without_official:
        workers[OFFICIAL] = (OFFICIAL, Worker(OFFICIAL))
    for name in arguments.models:
        programs = find_programs(name, wanted, arguments.output)
        engines = {version: pair for version, pair in workers.items() if pair[0] in programs}
        for threads in arguments.threads:
            times, differences = measure(name, programs, engines, threads, arguments)
            first = middle(times[next(iter(builds))])
            cells = [f"{(ms := middle(times[e])):.3f} ({first / ms:.2f}x)" for e in engines]
            rows.append([name, threads, *cells])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
            if ":" not in name:  # numbers of 8 bits are as near as their format allows
                wrong += [(name, e) for e, difference in differences.items() if e in builds and difference > TOLERANCE]
    for _, worker in workers.values():
        worker.close()
    print(f"{'Least' if arguments.best else 'Median'} ms of a call (times faster than the first)\n")
    print(table(["model", "threads", *builds, *wanted[1:]], rows))
    for name, engine in wrong:
        print(f"{name}: results of {engine} differ from eager PyTorch", file=sys.stderr)
    return 1 if wrong else 0


def find_programs(name: str, wanted: list[str], output: Path) -> dict[str, Path]:
    """The folder of each engine's program, made unless it is there and nothing that it depends on has changed."""
    model, _, scheme = name.partition(":")
    if not scheme:
        facts, errors = prepare(models.get(model), wanted, output, fresh=False)
        for error in errors:
            print(f"{name}, {error['engine']}: {error['what']}", file=sys.stderr)
        return {engine: output / model.replace("/", "_") / engine for engine in facts}
    folder = output / "quantized" / model
    for each in ("fp32", scheme):  # the first writes the inputs
        facts = quantized_programs.facts_of(model, each, folder, wanted)
    folders = {engine: quantized_programs.program_folder(folder, scheme, engine) for engine in wanted}
    return {engine: where for engine, where in folders.items() if "error" not in facts[engine]}


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
    return "XNNPACK " + done.stdout.strip()


def measure(model: str, programs: dict[str, Path], workers: dict, threads: int, arguments) -> tuple[dict, dict]:
    """The milliseconds of all calls, and the largest difference from eager PyTorch, of each engine."""
    times, differences = {name: [] for name in workers}, {}
    for name, (engine, worker) in workers.items():
        _, differences[name] = worker.load(model.partition(":")[0], programs[engine], threads)
    for order in turns(workers, arguments.rounds, seconds=30):
        for name in order:
            times[name] += workers[name][1].time(2, arguments.calls)
    return times, differences


if __name__ == "__main__":
    sys.exit(main())
