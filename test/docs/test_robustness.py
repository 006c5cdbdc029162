# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""test/robustness.md and the tests that carry its cases go together."""

import re
from pathlib import Path

TEST = Path(__file__).resolve().parents[1]
CASE = re.compile(r"[A-Z]\d+")


def listed(heading: str) -> list[str]:
    text = (TEST / "robustness.md").read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    first = re.findall(r"^\| ([A-Z]\d.*?) \|", text, re.MULTILINE)
    return [case for cell in first for case in CASE.findall(cell)]


def carried() -> set[str]:
    sources = (path for suffix in ("cpp", "py") for path in TEST.rglob(f"*.{suffix}"))
    lines = [line for path in sources for line in path.read_text().splitlines()]
    tests = re.compile(r"^(?:TEST|def test_|    Sample\().*(?://|#) Robustness: (.*)$")
    return {case for line in lines if (found := tests.match(line)) for case in CASE.findall(found[1])}


def test_every_case_is_listed_once():
    cases = listed("Cases") + listed("What cannot occur")
    assert len(cases) > 90 and len(cases) == len(set(cases))


def test_every_case_that_can_occur_has_a_test():
    assert set(listed("Cases")) - carried() == set()


def test_no_test_carries_another_case():
    assert carried() - set(listed("Cases")) == set()
