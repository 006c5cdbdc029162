# Copyright (c) et_xnnpack authors.
# SPDX-License-Identifier: BSD-3-Clause
"""scikit-build-core, with editable installs that leave executorch.backends alone.

scikit-build-core's own editable finder would answer for `executorch.backends` too and hide the
backends that ExecuTorch brings. Ours is an ordinary wheel with the built files and an __init__.py
that reads the Python sources from the checkout (editable_init.py.in).

A build needs what requirements.txt lists, besides the build requirements of pyproject.toml.
"""

from requirements import requirements
from scikit_build_core import build as _build
from scikit_build_core.build import (  # noqa: F401
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_wheel,
)

prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def get_requires_for_build_wheel(config_settings=None):
    return [*_build.get_requires_for_build_wheel(config_settings), *requirements()]


get_requires_for_build_editable = get_requires_for_build_wheel


def _wheel(folder, settings, metadata, editable):
    settings = {**(settings or {}), "cmake.define.ET_XNNPACK_EDITABLE": "ON" if editable else "OFF"}
    return _build.build_wheel(folder, settings, metadata)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, config_settings, metadata_directory, editable=False)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, config_settings, metadata_directory, editable=True)
