#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Runs the fuzzer of blobs (test/fuzz/blob) until the time is over or one fails: ``make fuzz-blobs MINUTES=10``.

It begins with the blobs of test/golden and test/reproducers and with what earlier runs found worth keeping, in
build/fuzz/corpus. What fails is written to build/fuzz. With ``--check`` it makes the same blobs each time, from those
of the checkout alone.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "fuzz"
FUZZER = ROOT / "build" / "asan-clang" / "test" / "fuzz" / "blob" / "et_xnnpack_blob_fuzzer"

#: A run may take 20 seconds: tensors are small. Functions are not looked up, which would take longer than most runs.
OPTIONS = ["-timeout=20", "-rss_limit_mb=4096", "-malloc_limit_mb=4096", "-max_len=8192", "-print_funcs=0"]
STATUS = re.compile(r"#(\d+)\s.*cov: (\d+) ft: \d+ corp: (\d+)/")


def copy_seeds(folder: Path) -> None:
    for path in (ROOT / "test").rglob("*.etx"):
        shutil.copy(path, folder / path.name)


def fuzz(command: list[str], seconds: float, console: Console) -> tuple[int, tuple[int, int, int], str]:
    """The exit code, the last (executions, edges, inputs kept), and what was printed at the end."""
    status, tail = (0, 0, 0), []
    # Allocations remember less of where they were made, which takes time.
    options = {"ASAN_OPTIONS": "malloc_context_size=8", "UBSAN_OPTIONS": "print_stacktrace=1"}
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, errors="replace", env=options | dict(os.environ)
    )
    start = time.monotonic()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("blobs", total=seconds)
        for line in process.stderr:
            if match := STATUS.match(line):
                status, tail = tuple(map(int, match.groups())), []
                progress.update(task, completed=time.monotonic() - start, description=f"{status[0]} blobs")
            else:
                tail.append(line)
    return process.wait(), status, "".join(tail)


def merge(corpus: Path, console: Console) -> None:
    """Keeps the fewest and smallest inputs that reach what all reach."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as smaller:
        command = [FUZZER, "-merge=1", *OPTIONS, smaller, corpus]
        if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
            console.print("the corpus could not be made smaller: it stays as it is")
            return
        before = len(list(corpus.iterdir()))
        shutil.rmtree(corpus)
        shutil.copytree(smaller, corpus)
    console.print(f"  {len(list(corpus.iterdir()))} of {before} inputs kept in {corpus.relative_to(ROOT)}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long to look")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers; 0 for others each time")
    parser.add_argument("--check", action="store_true", help="always the same blobs: no corpus of earlier runs, seed 1")
    return parser.parse_args()


def main() -> int:
    arguments = parse_arguments()
    if not FUZZER.exists():
        print(f"{FUZZER.relative_to(ROOT)} does not exist: make fuzz-blobs builds it", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    console, seconds, start = Console(), arguments.minutes * 60, time.monotonic()
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        corpus = Path(folder, "corpus") if arguments.check else FOLDER / "corpus"
        seeds = Path(folder, "seeds")
        corpus.mkdir(exist_ok=True)
        seeds.mkdir()
        copy_seeds(seeds)
        seed = 1 if arguments.check else arguments.seed
        prefix = f"-artifact_prefix={FOLDER}/found-"
        limits = [f"-max_total_time={round(seconds)}", f"-seed={seed}", prefix]
        code, (executions, edges, kept), tail = fuzz([FUZZER, *OPTIONS, *limits, corpus, seeds], seconds, console)
        elapsed = time.monotonic() - start
        console.print(
            f"{executions} blobs in {elapsed / 60:.1f} minutes ({executions / elapsed:.0f} a second), "
            f"{edges} edges of the runtime reached, {kept} inputs that differ in what they reach",
            soft_wrap=True,
        )
        if code != 0:
            console.print(tail, markup=False, highlight=False, soft_wrap=True)
            found = re.search(r"Test unit written to (\S+)", tail)
            if found:
                run = f"{FUZZER.relative_to(ROOT)} {Path(found[1]).relative_to(ROOT)}"
                console.print("[red]failed[/red]. Once more, and smaller:")
                console.print(f"  {run}\n  {run} -minimize_crash=1 -runs=20000", markup=False, soft_wrap=True)
            else:
                console.print(f"[red]failed[/red]: the fuzzer ended with code {code}")
        elif not arguments.check:
            merge(corpus, console)
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
