# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What options of benchmarks may be."""

import argparse
from pathlib import Path


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def absolute(text: str) -> Path:
    """A path that processes with another working directory understand, too."""
    return Path(text).resolve()
