# Copyright (c) et_xnnpack authors.
# SPDX-License-Identifier: BSD-3-Clause
"""scikit-build-core, with editable installs that leave executorch.backends alone.

scikit-build-core's own editable finder would answer for `executorch.backends` too and hide the
backends that ExecuTorch brings. Ours is an ordinary wheel with the built files and an __init__.py
that reads the Python sources from the checkout (editable_init.py.in).

A build needs ExecuTorch, whose C++ package we compile against, besides the build requirements of pyproject.toml.

With ET_XNNPACK_AOT_ONLY=1 in the environment the wheel only lowers programs, and needs no compiler (aot_wheel.py).
"""

import os
import tempfile
from pathlib import Path

from requirements import requirements
from scikit_build_core import build as _build
from scikit_build_core.build import build_sdist, get_requires_for_build_sdist  # noqa: F401


def _is_aot_only() -> bool:
    """Raises ValueError for a value that says neither yes nor no."""
    value = os.environ.get("ET_XNNPACK_AOT_ONLY", "0")
    if value not in ("", "0", "1"):
        raise ValueError(f"ET_XNNPACK_AOT_ONLY is {value!r}, must be 0 or 1")
    return value == "1"


def _settings(settings, editable=False):
    settings = dict(settings or {})
    if _is_aot_only():
        if editable:
            raise ValueError("an editable install needs the compiled part: install without ET_XNNPACK_AOT_ONLY")
        return {**settings, "wheel.cmake": "false", "wheel.py-api": "py3"}
    return {**settings, "cmake.define.ET_XNNPACK_EDITABLE": "ON" if editable else "OFF"}


def get_requires_for_build_wheel(config_settings=None):
    executorch = [line for line in requirements() if line.startswith("executorch==")]
    return [*_build.get_requires_for_build_wheel(_settings(config_settings)), *executorch]


get_requires_for_build_editable = get_requires_for_build_wheel


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return _build.prepare_metadata_for_build_wheel(metadata_directory, _settings(config_settings))


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if not _is_aot_only():
        return _build.build_wheel(wheel_directory, _settings(config_settings), metadata_directory)
    import aot_wheel

    with tempfile.TemporaryDirectory() as folder:
        name = prepare_metadata_for_build_wheel(folder, config_settings)
        return aot_wheel.write_wheel(wheel_directory, Path(folder, name))


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _build.build_wheel(wheel_directory, _settings(config_settings, editable=True), metadata_directory)
