#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Runs the fuzzers of the runtime (test/fuzz/targets), one after the other, each until its time is over or it finds
something: ``make fuzz-native MINUTES=10``.

Each begins with what earlier runs found worth keeping, in build/fuzz/<target>, and with what the checkout has: the
blobs of test/golden, and test/reproducers. What fails is written to build/fuzz. With ``--check`` they make the same
inputs each time, from those of the checkout alone.
"""

import argparse
import base64
import dataclasses
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))

from fuzz.totals import FOLDER, Counter  # noqa: E402

FUZZER = ROOT / "build" / "asan-clang" / "test" / "fuzz" / "targets" / "et_xnnpack_fuzzer"

#: A run may take 20 seconds: tensors are small. Functions are not looked up, which would take longer than most runs.
OPTIONS = ["-timeout=20", "-rss_limit_mb=4096", "-malloc_limit_mb=4096", "-print_funcs=0"]
MOST_FRAMES = 12  #: of the calls that led to what failed
STATUS = re.compile(r"#(\d+)\s.*cov: (\d+) ft: \d+ corp: (\d+)/")


@dataclasses.dataclass(frozen=True)
class Target:
    share: float  #: of the time
    longest: int  #: input, in bytes


TARGETS = {
    "blob": Target(0.5, 8192),
    "arguments": Target(0.2, 512),
    "packed": Target(0.15, 256),
    "options": Target(0.15, 1024),
}


@dataclasses.dataclass
class Run:
    code: int = 0
    executions: int = 0
    edges: int = 0
    kept: int = 0  #: inputs that differ in what they reach
    tail: str = ""  #: what was printed at the end


def write_seeds(target: str, folder: Path) -> None:
    """All blobs of the checkout; for the others what was found once, and one input for each first byte."""
    extension = "etx" if target == "blob" else target
    for path in (ROOT / "test").rglob(f"*.{extension}"):
        shutil.copy(path, folder / path.name)
    if target != "blob":
        for first in range(16):
            (folder / f"{first}").write_bytes(bytes([first, 1, 0, 2, 3]))


def fuzz(command: list[str], name: str, seconds: float, total: Counter | None, console: Console) -> Run:
    run, tail = Run(), []
    # Allocations remember little of where they were made, and freed memory comes back sooner: a fifth of the time.
    options = {"ASAN_OPTIONS": "malloc_context_size=2:quarantine_size_mb=16", "UBSAN_OPTIONS": "print_stacktrace=1"}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, errors="replace", env=options | dict(os.environ)
    )
    start = time.monotonic()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(name, total=seconds)
        for line in process.stderr:
            if match := STATUS.match(line):
                run.executions, run.edges, run.kept = map(int, match.groups())
                tail = []
                if total is not None:
                    total.reached(run.executions)
                elapsed = time.monotonic() - start
                progress.update(task, completed=elapsed, description=f"{name}: {run.executions} inputs")
            else:
                tail.append(line)
    run.code, run.tail = process.wait(), "".join(tail)
    if total is not None:
        total.reached(run.executions, is_last=True)
    return run


def merge(target: str, corpus: Path, console: Console) -> None:
    """Keeps the fewest and smallest inputs that reach what all reach."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as smaller:
        command = [FUZZER, f"--target={target}", "-merge=1", *OPTIONS, smaller, corpus]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
            console.print("the corpus could not be made smaller: it stays as it is")
            return
        before = len(list(corpus.iterdir()))
        shutil.rmtree(corpus)
        shutil.copytree(smaller, corpus)
    console.print(f"  {len(list(corpus.iterdir()))} of {before} inputs kept in {corpus.relative_to(ROOT)}")


def what_failed(output: str) -> list[str]:
    """What a sanitizer says, and where: of its output, the lines that matter first."""
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if re.match(r"\s+#0 ", line)), len(lines))
    frames = itertools.takewhile(lambda line: re.match(r"\s+#\d+ ", line), lines[first:])
    ours = [line for line in map(named, frames) if "fuzz/targets/" not in line and "libFuzzer" not in line]
    said = re.compile(r"(==\d+==)?\s*(ERROR|SUMMARY|BROKEN PROMISE): |.*: runtime error: ")
    return [line for line in lines if said.match(line)] + ours[:MOST_FRAMES]


def named(frame: str) -> str:
    """A frame with function, file and line, where the sanitizer had no symbolizer and gives a program and an offset."""
    place = re.match(r"(\s+#\d+ )0x[0-9a-f]+\s+\((\S+)\+(0x[0-9a-f]+)\)", frame)
    if place is None or shutil.which("addr2line") is None:
        return frame
    command = ["addr2line", "--demangle", "--functions", "--pretty-print", "--exe", place[2], place[3]]
    answer = subprocess.run(command, capture_output=True, text=True)
    return place[1] + answer.stdout.strip() if answer.returncode == 0 else frame


def as_text(data: bytes) -> str:
    """One line without quotes, from which ``restored`` makes the same bytes."""
    return base64.b64encode(zlib.compress(data, level=9)).decode()


def restored(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text, validate=True))


def hunt(target: str, seconds: float, seed: int, check: bool, console: Console) -> int:
    start = time.monotonic()
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        corpus = Path(folder, "corpus") if check else FOLDER / target
        seeds = Path(folder, "seeds")
        corpus.mkdir(exist_ok=True)
        seeds.mkdir()
        write_seeds(target, seeds)
        limits = [f"-max_total_time={round(seconds)}", f"-seed={seed}", f"-max_len={TARGETS[target].longest}"]
        prefix = f"-artifact_prefix={FOLDER}/found-{target}-"
        command = [FUZZER, f"--target={target}", *OPTIONS, *limits, prefix, corpus, seeds]
        total = None if check else Counter(target, every=10_000)
        run = fuzz(command, target, seconds, total, console)
        elapsed = time.monotonic() - start
        console.print(
            f"{target}: {run.executions} inputs in {elapsed / 60:.1f} minutes "
            f"({run.executions / elapsed:.0f} a second), {run.edges} edges of the runtime reached, "
            f"{run.kept} inputs that differ in what they reach, {'something' if run.code else 'nothing'} found"
            + ("" if total is None else f"; {total.total} in all"),
            soft_wrap=True,
        )
        if run.code != 0:
            console.print(run.tail, markup=False, highlight=False, soft_wrap=True)
            found = re.search(r"Test unit written to (\S+)", run.tail)
            if found:
                path = Path(found[1])
                again = f"{FUZZER.relative_to(ROOT)} --target={target} {path.relative_to(ROOT)}"
                lines = [
                    *what_failed(run.tail),
                    "Once more, and smaller:",
                    f"  {again}",
                    f"  {again} -minimize_crash=1 -runs=20000",
                    "On another machine, first:",
                    f"  echo '{as_text(path.read_bytes())}' | python test/fuzz/native.py --restore {path.name}",
                ]
                console.print("[red]failed[/red]")
                console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
            else:
                console.print(f"[red]failed[/red]: the fuzzer ended with code {run.code}")
        elif not check:
            merge(target, corpus, console)
    return 1 if run.code else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long to look, all targets together")
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS), metavar="TARGET")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers; 0 for others each time")
    parser.add_argument(
        "--check", action="store_true", help="always the same inputs: no corpus of earlier runs, seed 1"
    )
    parser.add_argument(
        "--restore", metavar="NAME", help="write the input that CI printed, read from stdin, to build/fuzz"
    )
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if arguments.restore:
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / Path(arguments.restore).name
        path.write_bytes(restored(sys.stdin.read().strip()))
        print(path.relative_to(ROOT))
        return 0
    if not FUZZER.exists():
        print(f"{FUZZER.relative_to(ROOT)} does not exist: make fuzz-native builds it", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    console = Console()
    whole = sum(TARGETS[target].share for target in arguments.targets)
    status = 0
    for target in arguments.targets:
        seconds = arguments.minutes * 60 * TARGETS[target].share / whole
        seed = 1 if arguments.check else arguments.seed
        status |= hunt(target, seconds, seed, arguments.check, console)
    return status


if __name__ == "__main__":
    sys.exit(main())
