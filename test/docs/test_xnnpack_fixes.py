# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""third-party/xnnpack-fixes.md names tests, files and functions that exist, and all that we call."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXES = (ROOT / "third-party" / "xnnpack-fixes.md").read_text()
VERDICTS = {"not reached", "fenced", "patched", "no harm", "left"}
FOLDERS = ("runtime", "third-party", "test")

ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in FIXES.splitlines()
    if re.match(r"\| (\(none\)|[0-9a-f]{10}\b)", line)
]


def sources(*suffixes: str) -> str:
    files = (file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in suffixes)
    return "\n".join(file.read_text() for file in files)


CPP = sources(".c", ".cpp", ".h")
RUNTIME = "".join(
    path.read_text() for path in (ROOT / "runtime").rglob("*") if path.suffix in (".cpp", ".h")
)  # without tests
CPP_TESTS = {".".join(names) for names in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", CPP, re.MULTILINE)}


def test_there_are_rows():
    assert len(ROWS) > 80
    assert {row[2] for row in ROWS} == VERDICTS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0][:10] + " " + row[1][:40])
def test_row(row):
    upstream, wrong, verdict, where, *tests = row
    assert verdict in VERDICTS and wrong and where
    for name in re.findall(r"`((?:runtime|third-party|test)/[\w./-]+)`", where):
        assert (ROOT / name).exists(), name
    named = [name for test in tests for name in re.findall(r"`([^`]+)`", test)]
    if verdict in ("fenced", "patched") and "nothing here can run it" not in where:
        assert named
    for name in named:
        file, _, function = name.partition("::")
        assert name in CPP_TESTS or f"def {function}(" in (ROOT / file).read_text(), name


def test_functions_that_are_named_exist():
    everything = CPP + sources(".cmake", ".py")
    for row in ROWS:
        if row[2] not in ("fenced", "patched"):
            continue
        for name in re.findall(r"`([A-Za-z]\w*_\w+|k[A-Z]\w+|\w+::\w+)", row[3]):
            assert name.split("::")[-1] in everything, name


def test_all_that_is_called_is_named():
    called = set(re.findall(r"\bxnn_create_(\w+)", RUNTIME))
    section = FIXES[FIXES.index("## What we call") : FIXES.index("## Runtime")]
    named = set(re.findall(r"`(\w+)`", section))
    missing = {name for name in called if not any(name == n or name.startswith(n + "_") for n in named)}
    assert called
    assert not missing
