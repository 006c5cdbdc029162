# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What options of benchmarks may be, and those that many have."""

import argparse
from collections.abc import Collection, Sequence
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1] / "build" / "bench"


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def absolute(text: str) -> Path:
    """A path that processes with another working directory understand, too."""
    return Path(text).resolve()


def add_output(parser: argparse.ArgumentParser, what: str = "programs and results", default: Path = BENCH) -> None:
    parser.add_argument("--output", type=absolute, default=default, help=f"folder of {what}")


def with_published(names: Sequence[str], published: Collection[str]) -> list[str]:
    """The names of models, with all of those in the place of the word ``published``."""
    if "published" not in names:
        return list(names)
    return [*(name for name in names if name != "published" and name not in published), *published]
