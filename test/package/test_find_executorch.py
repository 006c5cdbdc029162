# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A build finds ExecuTorch where Python would, and where pip puts it for a build in isolation."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import executorch.exir
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "cmake" / "find_executorch.py"
PACKAGE = Path(executorch.exir.__file__).parents[1]


@pytest.fixture(scope="module")
def empty_python(tmp_path_factory):
    """Of an environment that has nothing."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    return folder / "bin" / "python"


def find(python, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, SCRIPT]
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True, check=True).stdout.strip()


def test_in_the_environment():
    assert Path(find(sys.executable)).samefile(PACKAGE)


def test_in_the_place_of_a_build_in_isolation(empty_python):
    assert find(empty_python) == ""
    assert Path(find(empty_python, PYTHONPATH=str(PACKAGE.parent))).samefile(PACKAGE)
