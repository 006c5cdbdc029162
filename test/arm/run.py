# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Runs programs for aarch64 on emulated CPUs and compares the results with those of eager PyTorch.

A program of float32 must give PyTorch's results within 1e-4 of the largest one, as on other processors. Other number
formats round at other places than PyTorch does, which computes the same program operator by operator. Two results that
are as far from float32 as the format makes them, each in a direction of its own, are sqrt(2) times as far from each
other: ours may be that far from PyTorch's. With ``force_fp16`` the format includes sums in float16, which PyTorch then
has, too (``benchmarks/float16_sums.py``).
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import emulated  # noqa: E402
from engines import TOLERANCE  # noqa: E402


def main() -> int:
    programs = (*emulated.PROGRAMS, *emulated.SPECIAL_PROGRAMS)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path, help="build folder of a preset for aarch64")
    parser.add_argument("--cpus", nargs="+", default=list(emulated.CPUS), metavar="CPU")
    parser.add_argument("--programs", nargs="+", default=list(programs), metavar="PROGRAM")
    arguments = parser.parse_args()
    library = emulated.Library.ours(arguments.build)
    failed = 0
    for program in emulated.prepare(arguments.programs):
        for cpu in arguments.cpus:
            started = time.monotonic()
            try:
                good, text = compare(program, emulated.run(emulated.runner(arguments.build), library, program, cpu))
            except RuntimeError as error:
                good, text = False, str(error)
            failed += not good
            seconds = time.monotonic() - started
            print(f"{'' if good else 'FAILED '}{program.name}, {cpu}: {text} ({seconds:.0f} s)", flush=True)
    print(f"{len(arguments.programs) * len(arguments.cpus)} runs, {failed} failed")
    return 1 if failed else 0


def compare(program: emulated.Program, actual: np.ndarray) -> tuple[bool, str]:
    """Whether the result is good enough, and how far it is from PyTorch's."""
    expected, reference = (program.array(name).astype(np.float64) for name in ("expected", "reference"))
    if not np.array_equal(np.isnan(actual), np.isnan(reference)):
        return False, "other numbers are NaN"
    numbers = ~np.isnan(reference)
    actual, expected, reference = (x[numbers] for x in (actual, expected, reference))
    if program.name.endswith(" fp32"):
        difference = np.abs(actual - expected).max() / np.abs(expected).max()
        return bool(difference <= TOLERANCE), f"largest difference {difference:.1e}"
    ours, format_alone = (np.sqrt(((x - reference) ** 2).mean()) for x in (actual, expected))
    return bool(ours <= np.sqrt(2) * format_alone), f"difference {ours / format_alone:.2f} of what the format costs"


if __name__ == "__main__":
    sys.exit(main())
