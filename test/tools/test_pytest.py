# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What conftest.py sets up."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_may_have_any_name(tmp_path):
    folder = tmp_path / "et_xnnpack-0.1.0"
    (folder / "test").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("conftest.py", "faster_export.py"):
        shutil.copy(ROOT / "test" / name, folder / "test")
    (folder / "__init__.py").write_text("from . import what_is_not_there\n")
    (folder / "test" / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
