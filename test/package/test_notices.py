# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The installed package carries the licences of all that its libraries contain."""

import importlib.metadata
import json
import re
from pathlib import Path

import pytest
from harness import needs_runtime

ROOT = Path(__file__).resolve().parents[2]
PINS = json.loads((ROOT / "third-party" / "dependencies.json").read_text())
PROJECTS = {name: pin for name, pin in PINS.items() if "instead_of" not in pin}
# What only some builds contain.
SOMETIMES = {name for name, pin in PROJECTS.items() if "only_for" in pin}
CONTAINED = [name for name, pin in PROJECTS.items() if pin["in_library"] and name not in SOMETIMES] + ["pybind11"]


@pytest.fixture(scope="module")
def notices() -> dict[str, str]:
    """The terms of each project."""
    files = importlib.metadata.files("et_xnnpack")
    (file,) = (file for file in files if file.name == "THIRD-PARTY-NOTICES")
    assert file.parent.name == "licenses" and file.parent.parent.suffix == ".dist-info"
    (_, *parts) = re.split(r"^=+\n(\S+)\n=+\n", file.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@needs_runtime
def test_each_project_is_named_once(notices):
    assert sorted(notices.keys() - SOMETIMES) == sorted(CONTAINED)


@needs_runtime
@pytest.mark.parametrize("name", CONTAINED)
def test_terms_are_whole(notices, name):
    terms = notices[name]
    assert "Copyright" in terms
    assert re.search(r"AS IS|Apache License", terms)
    assert re.search(r"redistribut|Redistribut|copies of the Software", terms)


def test_the_list_says_the_same():
    table = re.findall(r"^\| (\w+) \| .*? \| .*? \| (.*?) \|", (ROOT / "third-party" / "README.md").read_text(), re.M)
    listed = {name.lower(): where in ("yes", "header only") for name, where in table if name.lower() in PROJECTS}
    assert listed == {name: pin["in_library"] for name, pin in PROJECTS.items()}
