# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What conftest.py sets up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(folder: Path, *options: str) -> subprocess.CompletedProcess:
    """A test in a checkout in ``folder``, whose modules it finds."""
    (folder / "test").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("conftest.py", "faster_export.py"):
        shutil.copy(ROOT / "test" / name, folder / "test")
    (folder / "test" / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    alone["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)


def test_a_checkout_may_have_any_name(tmp_path):
    folder = tmp_path / "et_xnnpack-0.1.0"
    folder.mkdir()
    (folder / "__init__.py").write_text("from . import what_is_not_there\n")
    done = run(folder)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("options, passes", (((), False), (("--without-runtime",), True)), ids=str)
def test_a_run_without_the_runtime_fails_unless_told(options, passes, tmp_path):
    (tmp_path / "absent.py").write_text(
        "from executorch.backends import et_xnnpack\net_xnnpack.is_available = lambda: False\n"
    )
    done = run(tmp_path, "-p", "absent", *options)
    assert (done.returncode == 0) is passes, done.stdout
    assert ("the compiled part of et_xnnpack is not available" in done.stderr) is not passes
