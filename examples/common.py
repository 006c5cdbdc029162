# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What the examples share: lowering with either XNNPACK delegate, measuring, tables.

Importing this module is cheap; PyTorch and ExecuTorch are imported where they are needed.
"""

import argparse
import collections
import contextlib
import copy
import dataclasses
import hashlib
import importlib.metadata
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

OURS = "et_xnnpack"
OFFICIAL = "official XNNPACK"
EAGER = "eager PyTorch"

console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
_options = argparse.Namespace(verbose=False)


def parse_arguments(description: str, output: str, add=lambda parser: None, more: str = "") -> argparse.Namespace:
    """The options of all examples and those that ``add`` puts in; ``more`` is what help says after them."""
    build = Path(__file__).resolve().parent.parent / "build"
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add(parser)
    parser.add_argument("--output", type=Path, default=build / output, help="the program to write")
    parser.add_argument(
        "--threads",
        type=positive,
        default=min(os.cpu_count() or 1, 4),
        help="threads of all engines (default: one for each CPU, at most 4)",
    )
    parser.add_argument("--repeat", type=positive, default=50, help="timed calls of each engine")
    parser.add_argument("--fresh", action="store_true", help="lower again even if nothing changed")
    parser.add_argument("--verbose", action="store_true", help="show what libraries log")
    return parser.parse_args(namespace=_options)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


@contextlib.contextmanager
def step(text: str) -> Iterator[None]:
    """Says what is being done and how long it took. What libraries log meanwhile is not shown."""
    started = time.perf_counter()
    if console.is_terminal:
        waiting = console.status(text)
    else:
        console.print(f"{text} ... ", end="")
        sys.stdout.flush()
        waiting = contextlib.nullcontext()
    with waiting, _stderr_hidden():
        yield
    seconds = f"{time.perf_counter() - started:.1f} s"
    console.print(f"{text} ... {seconds}" if console.is_terminal else seconds)


@contextlib.contextmanager
def _stderr_hidden() -> Iterator[None]:
    """Keeps what any library writes to the standard error; shows it if there is an exception."""
    if _options.verbose:
        yield
        return
    sys.stderr.flush()
    original = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        failed = True
        try:
            yield
            failed = False
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)
            if failed:
                log.seek(0)
                sys.stderr.write(log.read().decode(errors="replace"))


def use_threads(count: int) -> None:
    """The pool that both delegates share, and PyTorch's. Call it before a program is loaded."""
    import torch
    from executorch.extension.pybindings import portable_lib

    torch.set_num_threads(count)
    portable_lib._unsafe_reset_threadpool(count)


# Lowering -------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Program:
    """A program in a file, and what is known about it."""

    name: str
    path: Path
    delegate_calls: int
    outside: dict[str, int]  #: how often each operator stays outside the delegate
    refusals: list[tuple[str, str]]  #: (operator, reason), ours only

    def load(self):
        """The method, by the path with the least overhead for each call."""
        from executorch.extension.pybindings import portable_lib

        return portable_lib._load_program(str(self.path)).load_method("forward")


def lower_all(
    export: Callable[[], object], output: Path, script: str, settings: str = "", dynamically_quantized: bool = False
) -> tuple[Program, Program]:
    """The program of ``export`` for et_xnnpack and for the official delegate.

    Both are kept beside ``output`` and used again while nothing they depend on changed: the script, packages, and what
    ``settings`` says about the model.
    """
    output.parent.mkdir(parents=True, exist_ok=True)
    paths = {OURS: output, OFFICIAL: output.with_name(f"{output.stem}_official{output.suffix}")}
    fingerprints = {name: _fingerprint(script, settings, ours=name == OURS) for name in paths}
    found = {name: _read_back(name, path, fingerprints[name]) for name, path in paths.items()}
    missing = [name for name in paths if found[name] is None]
    exported = None
    if missing:
        with step("Exporting with torch.export"):
            exported = export()
    for name, path in paths.items():
        if name in missing:
            with step(f"Lowering for {name}"):
                found[name] = _lower(
                    _partitioners(name, dynamically_quantized), name, copy.deepcopy(exported), path, fingerprints[name]
                )
        else:
            console.print(f"{path.name} is up to date (--fresh lowers it again)")
    return found[OURS], found[OFFICIAL]


def _lower(partitioners: list, name: str, exported, path: Path, fingerprint: str) -> Program:
    from executorch.backends.et_xnnpack import count_delegation
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower

    config = EdgeCompileConfig(_check_ir_validity=False)  # which quantized programs do not pass
    manager = to_edge_transform_and_lower(exported, partitioner=partitioners, compile_config=config)
    calls, outside = count_delegation(manager.exported_program())
    report = getattr(partitioners[0], "report", None)
    refusals = [(r.target, r.reason) for r in report.refusals] if report else []
    with open(path, "wb") as file:
        manager.to_executorch().write_to_file(file)
    program = Program(name, path, calls, outside, refusals)
    known = {"calls": calls, "outside": outside, "refusals": refusals}
    _notes(path).write_text(json.dumps({"fingerprint": fingerprint, **known}))
    return program


def _partitioners(name: str, dynamically_quantized: bool) -> list:
    if name == OURS:
        from executorch.backends.et_xnnpack import EtXnnpackPartitioner

        return [EtXnnpackPartitioner()]
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
        XnnpackPartitioner,
    )

    if not dynamically_quantized:
        return [XnnpackPartitioner()]
    # In the order that it wants. Of other models the first one would take single operators, each as a call.
    return [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]


def _notes(path: Path) -> Path:
    return path.with_suffix(".json")


def _read_back(name: str, path: Path, fingerprint: str) -> Program | None:
    if _options.fresh or not path.exists() or not _notes(path).exists():
        return None
    try:
        notes = json.loads(_notes(path).read_text())
        if notes["fingerprint"] != fingerprint:
            return None
        refusals = [tuple(r) for r in notes["refusals"]]
        return Program(name, path, notes["calls"], notes["outside"], refusals)
    except (ValueError, KeyError):
        return None


def _fingerprint(script: str, settings: str, ours: bool) -> str:
    """Changes when the script, the settings, a package or (for ours) the source of the lowering does."""
    from executorch.backends import et_xnnpack

    digest = hashlib.sha256(settings.encode())
    files = [Path(script), Path(__file__)]
    if ours:
        files += sorted(Path(et_xnnpack.__file__).parent.glob("[as]*/**/*.py"))
    for file in files:
        digest.update(file.read_bytes())
    for package in sorted(importlib.metadata.distributions(), key=lambda d: d.name):
        digest.update(f"{package.name} {package.version}\n".encode())
    return digest.hexdigest()


# Running and measuring ------------------------------------------------------------------


def largest_difference(actual, expected) -> float:
    return (actual - expected).abs().max().item()


def measure_load(programs: Sequence[Program], times: int = 3) -> dict[str, float]:
    """Median milliseconds from the file to a method that is ready, one program after the other."""
    samples = collections.defaultdict(list)
    for _ in range(times):
        for program in programs:
            started = time.perf_counter()
            method = program.load()
            samples[program.name].append((time.perf_counter() - started) * 1e3)
            del method
    return {name: statistics.median(s) for name, s in samples.items()}


MAX_SECONDS = 15  # for one input; reached on a busy machine only
METHOD = (
    "Median time of a call. All engines use the same inputs and number of threads and take turns: "
    "in each round an engine makes 2 calls that do not count, then 5 that do."
)


def measure(engines: Mapping[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Median milliseconds of a call, as METHOD explains."""
    samples = collections.defaultdict(list)
    order = list(engines)
    enough = time.perf_counter() + MAX_SECONDS
    while not samples or (len(samples[order[0]]) < repeat and time.perf_counter() < enough):
        for name in order:
            call = engines[name]
            call()
            call()
            for _ in range(5):
                started = time.perf_counter()
                call()
                samples[name].append((time.perf_counter() - started) * 1e3)
        order.append(order.pop(0))
    return {name: statistics.median(samples[name]) for name in engines}


# Tables ---------------------------------------------------------------------------------


def table(title: str, *columns: str) -> Table:
    """The first column is text, the others are numbers."""
    result = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE)
    for i, column in enumerate(columns):
        result.add_column(column, justify="right" if i else "left")
    return result


def print_programs(programs: Sequence[Program], load: Mapping[str, float], difference: Mapping[str, float]):
    """``difference``: the largest from eager PyTorch, by program."""
    result = table("Programs", "", "delegate calls", "ops outside", "MB", "load ms", "max difference")
    for p in programs:
        result.add_row(
            p.name,
            str(p.delegate_calls),
            str(sum(p.outside.values())),
            f"{p.path.stat().st_size / 1e6:.1f}",
            f"{load[p.name]:.0f}",
            f"{difference[p.name]:.1e}",
        )
    console.print(result)


def print_outside(program: Program) -> None:
    """The operators that are not delegated, with the reason for each."""
    if not program.refusals:
        console.print("Nothing stays outside the delegate.\n")
        return
    result = table("Outside the delegate", "operator", "times", "why")
    result.columns[2].justify = "left"
    for (target, reason), count in collections.Counter(program.refusals).most_common():
        result.add_row(target, str(count), reason)
    console.print(result)


def print_latency(rows: Mapping[str, Mapping[str, float]], threads: int) -> None:
    """``rows``: for each input the milliseconds of each engine."""
    threads_text = f"{threads} thread{'s' * (threads != 1)}"
    result = table(f"Latency, ms, {threads_text}", "input", EAGER, OFFICIAL, OURS, "official / ours")
    for label, ms in rows.items():
        ratio = ms[OFFICIAL] / ms[OURS]
        result.add_row(label, *(f"{ms[e]:.2f}" for e in (EAGER, OFFICIAL, OURS)), f"{ratio:.2f}x")
    console.print(result)
    console.print(METHOD)
