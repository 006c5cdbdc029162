# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What README.md says is so: its programs run, its table and its quotations are up to date."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from executorch.backends import et_xnnpack

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PACKAGE = Path(et_xnnpack.__path__[0])


def blocks(language: str, text: str = README) -> list[str]:
    """The code blocks of a language, without their indentation."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE)
    return [re.sub(f"^{indent}", "", code, flags=re.MULTILINE) for indent, code in found]


def section(title: str) -> str:
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", README, re.DOTALL | re.MULTILINE).group(1)


def run(command: list, folder: Path, **environment) -> str:
    done = subprocess.run(
        [str(c) for c in command],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def python_quick_start(tmp_path_factory):
    """The folder in which the Python quick start ran, and what it printed."""
    (code,) = blocks("python", section("Quick start in Python"))
    folder = tmp_path_factory.mktemp("python")
    return folder, run([sys.executable, "-c", code], folder)


@pytest.mark.skipif(not et_xnnpack.is_available(), reason="without the compiled part")
def test_python_quick_start(python_quick_start):
    _, printed = python_quick_start
    assert "3 nodes in 1 delegate call, 0 outside" in printed
    assert float(re.search(r"largest difference: (\S+)", printed).group(1)) < 1e-5


@pytest.mark.skipif(not (PACKAGE / "lib" / "cmake").exists(), reason="the package is not installed")
def test_cpp_quick_start(python_quick_start, tmp_path):
    text = section(r"Quick start in C\+\+")
    for name, language in (("main.cpp", "cpp"), ("CMakeLists.txt", "cmake")):
        (tmp_path / name).write_text(*blocks(language, text))
    shutil.copy(python_quick_start[0] / "model.pte", tmp_path)
    (commands,) = blocks("sh", text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    assert "first number:" in run(["bash", "-e", "-c", commands], tmp_path, PATH=path)


@pytest.mark.skipif(not (PACKAGE / "lib" / "cmake").exists(), reason="the package is not installed")
def test_cpp_example(python_quick_start, tmp_path):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    configure = ["cmake", "-S", ROOT / "examples" / "cpp", "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={PACKAGE}"]
    run(configure, tmp_path, PATH=path)
    run(["cmake", "--build", tmp_path], tmp_path, PATH=path)
    printed = run([tmp_path / "quick_start", python_quick_start[0] / "model.pte"], tmp_path)
    assert "32 numbers" in printed


def test_support_table_is_up_to_date():
    run([sys.executable, ROOT / "tools" / "support_table.py", "--check"], ROOT)


def quotations() -> list[tuple[str, str]]:
    """(file, text) of the blocks in "Add an operator", whose first line names the file."""
    found = []
    for language in ("c", "cpp", "python"):
        for code in blocks(language, section("Add an operator")):
            first, _, rest = code.partition("\n")
            found.append((re.sub(r"^(//|#) ", "", first), rest.rstrip()))
    return found


def test_quotations_are_all_found():
    assert len(quotations()) == 7


@pytest.mark.parametrize(("file", "text"), quotations())
def test_quotation(file, text):
    assert text in (ROOT / file).read_text()


def test_links_and_folders_exist():
    links = re.findall(r"\]\((?!http)([^)#]+)", README)
    folders = re.findall(r"`([\w./-]+/)`", section("How it works"))
    assert folders
    assert [x for x in links + folders if not (ROOT / x).exists()] == []


def test_options_are_those_of_the_runtime():
    known = re.findall(r'\{"(\w+)", \w+\{&Options::', (ROOT / "runtime" / "options.cpp").read_text())
    assert known
    assert re.findall(r"^\| `(\w+)` \|", section("Options"), re.MULTILINE) == known
