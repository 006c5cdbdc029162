# Copyright (c) et_xnnpack authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What requirements.txt says, for the build and for the metadata of the package."""

from pathlib import Path


def requirements() -> list[str]:
    """The lines without comments, such as ``numpy>=2.0``."""
    lines = (Path(__file__).parents[1] / "requirements.txt").read_text().splitlines()
    return [line for line in (line.partition("#")[0].strip() for line in lines) if line]


def version_of(package: str) -> str:
    """The version that the file names, such as that of ``executorch``."""
    return next(line.partition("==")[2] for line in requirements() if line.startswith(f"{package}=="))


def dynamic_metadata(field: str, settings: dict) -> list[str]:
    """What scikit-build-core asks for ``dependencies`` of ``pyproject.toml``."""
    if field != "dependencies" or settings:
        raise ValueError(f"cmake/requirements.py gives dependencies without settings, not {field} with {settings}")
    return requirements()
