# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""SECURITY.md names the limits that the runtime has."""

import re
from pathlib import Path

import pytest
from runtime_source import constant

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
TABLE = PAGE.split("## What may be asked for")[1].split("\n## ")[0]
ROWS = [[cell.strip() for cell in line.split("|")[1:4]] for line in TABLE.splitlines() if line.startswith("|")]


def limits(what: str) -> list[int]:
    """The numbers that the page has for it."""
    (most,) = (most for _, row, most in ROWS if row.startswith(what))
    return [int(base) ** int(power or 1) for base, power in re.findall(r"\b(\d+)(?:\^(\d+))?\b", most)]


@pytest.mark.parametrize(
    "what, place, names, path",
    [
        ("bytes of a delegate's blob", 0, "kMaxBlobBytes", "program/blob.cpp"),
        ("tables in it", 0, "kMaxTables", "program/blob.cpp"),
        ("tables in it", 1, "kMaxDepth", "program/blob.cpp"),
        ("values, inputs", 0, "kMaxEntries", "program/verify.cpp"),
        ("nodes", 0, "kMaxNodes", "program/verify.cpp"),
        ("axes of a tensor", 0, "kMaxRank", "base/shape.h"),
        ("size of an axis, and", 0, "kMaxLiteralSize", "program/sizes.h"),
        ("bytes of a tensor", 0, "kMaxTensorBytes", "program/tensor_type.h"),
        ("points of a Fourier", 0, "kMaxLength", "kernels/fft/kissfft.h"),
    ],
)
def test_limit(what, place, names, path):
    assert limits(what)[place] == constant(names, path)


def test_messages_are_cut_off():
    (size,) = re.findall(r"char buffer\[(\d+)\]", (ROOT / "runtime" / "base" / "status.cpp").read_text())
    assert limits("bytes of the part of a message") == [int(size) - 1]


def test_programs_may_not_ask_for_these_options():
    options = (ROOT / "runtime" / "options.cpp").read_text()
    of_others = set(re.findall(r'^    \{"(\w+)", .*, false\},$', options, re.M))
    (row,) = (most for _, what, most in ROWS if what == "options")
    assert of_others == set(re.findall(r"`(\w+)`", row))
