# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A part of ``make suite``: ExecuTorch's own tests of some operators pass and are fully delegated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from harness import needs_runtime


@needs_runtime
@pytest.mark.parametrize(
    "flow,tests", (("fp32", 12), pytest.param("static_int8_per_channel", 6, marks=pytest.mark.large))
)
def test_executorchs_own_tests_are_fully_delegated(tmp_path, flow, tests):
    run = [sys.executable, Path(__file__).with_name("run.py"), "--quick", "--flow", flow, "--workers", "1"]
    output = tmp_path / "results.json"
    environment = {**os.environ, "ET_XNNPACK_SUITE_RESULTS": str(tmp_path / "suite.jsonl")}
    done = subprocess.run([*run, "--output", output], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    results = json.loads(output.read_text())
    assert len(results) >= tests
    assert [r["test"] for r in results if r["outcome"] != "passed" or not r["full"]] == [], done.stdout
