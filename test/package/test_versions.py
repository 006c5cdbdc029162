# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``requirements.txt`` alone says which versions of ExecuTorch and PyTorch are taken."""

import importlib.metadata
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = (ROOT / "requirements.txt").read_text()
FOLDERS = ("aot", "benchmarks", "cmake", "docs", "examples", "runtime", "serialization", "test", "third-party", "tools")
SUFFIXES = (".cmake", ".cpp", ".h", ".in", ".json", ".md", ".py", ".toml", ".txt")


@pytest.fixture(scope="module")
def requirements():
    sys.path.insert(0, str(ROOT / "cmake"))
    try:
        import requirements
    finally:
        del sys.path[0]
    return requirements


def _version(package: str) -> str:
    return re.search(rf"^{package}==([\d.]+)", REQUIREMENTS, re.MULTILINE).group(1)


def test_the_package_requires_what_the_file_says(requirements):
    required = [r for r in importlib.metadata.requires("et_xnnpack") if "extra ==" not in r]
    assert required == requirements.requirements()
    assert f"executorch=={_version('executorch')}" in requirements.requirements()


def test_nothing_else_is_answered(requirements):
    with pytest.raises(ValueError, match="dependencies"):
        requirements.dynamic_metadata("version", {})


def test_the_package_was_built_with_this_version():
    from executorch.backends.et_xnnpack._version import executorch_version

    assert executorch_version == _version("executorch")


def test_no_other_file_names_the_versions():
    """But the changelog, which tells of the past."""
    files = [*ROOT.glob("*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    files = [path for path in files if path.suffix in SUFFIXES or path.name in ("Makefile", "run")]
    versions = re.compile("|".join(rf"(?<![\d.]){re.escape(_version(p))}(?![\d.]\d)" for p in ("executorch", "torch")))
    naming = {str(path.relative_to(ROOT)) for path in files if versions.search(path.read_text())}
    assert naming - {"CHANGELOG.md"} == {"requirements.txt"}


def test_the_changelog_says_what_the_next_release_is_for():
    expected = f"for ExecuTorch {_version('executorch')} and PyTorch {_version('torch')}"
    assert expected in (ROOT / "CHANGELOG.md").read_text().partition("\n## [0")[0]
