# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The programs and commands in the documents run.

The Python blocks of a document are one program. It runs in an empty folder; then, in the same folder, the
files of the document are written and its shell commands run. Those of the pages for people who change the
project run in the checkout. ``documents.py`` says what is run.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import documents
import pytest
from documents import DOCUMENTS, ROOT
from harness import needs_runtime

QUICK_START = "README.md"
IN_CHECKOUT = ("CONTRIBUTING.md", "setup.md")
RUNNABLE = {
    document: [b for b in documents.blocks(document) if b.kind in ("python", "file", "sh")] for document in DOCUMENTS
}
LONG = ("docs/command-line.md",)  # minutes: test/aot/cli runs what is in it, too
PAGES = [document for document in DOCUMENTS if RUNNABLE[document] and document not in (QUICK_START, *IN_CHECKOUT)]


def run(command: list, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [str(c) for c in command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def run_python(document: str, folder: Path) -> str:
    """What the Python of a document prints. Its lines are those of the document."""
    code = ""
    for block in documents.blocks(document, "python"):
        code += "\n" * (block.line - code.count("\n")) + block.code
    program = folder / f"{Path(document).stem}.py"
    program.write_text(code)
    return run([sys.executable, program], folder)


def run_commands(document: str, folder: Path) -> str:
    return "".join(run(["bash", "-e", "-c", block.code], folder) for block in documents.blocks(document, "sh"))


def write_files(document: str, folder: Path) -> None:
    for block in documents.blocks(document, "file"):
        (folder / block.name).write_text(block.code)


def test_there_is_something_to_run():
    assert len(RUNNABLE[QUICK_START]) >= 4 and len(PAGES) >= 5
    assert {block.kind for document in IN_CHECKOUT for block in RUNNABLE[document]} == {"sh"}


@pytest.fixture(scope="module")
def quick_start(tmp_path_factory):
    """The folder in which the Python quick start ran, and what it printed."""
    folder = tmp_path_factory.mktemp("python")
    return folder, run_python(QUICK_START, folder)


@needs_runtime
def test_python_quick_start(quick_start):
    _, printed = quick_start
    assert "3 nodes in 1 delegate call, 0 outside" in printed
    assert float(re.search(r"largest difference: (\S+)", printed).group(1)) < 1e-5


@needs_runtime
def test_cpp_quick_start(quick_start, tmp_path):
    shutil.copy(quick_start[0] / "model.pte", tmp_path)
    write_files(QUICK_START, tmp_path)
    assert "first number:" in run_commands(QUICK_START, tmp_path)


@needs_runtime
@pytest.mark.parametrize(
    "document", [pytest.param(page, marks=pytest.mark.large) if page in LONG else page for page in PAGES]
)
def test_page(document, tmp_path):
    printed = run_python(document, tmp_path)
    if documents.blocks(document, "file"):
        write_files(QUICK_START, tmp_path)  # and its commands build what is in the folder
        write_files(document, tmp_path)
        run_commands(QUICK_START, tmp_path)
    printed += run_commands(document, tmp_path)
    assert all(block.code in printed for block in documents.blocks(document) if block.language == "text")


@pytest.mark.parametrize("document", [document for document in IN_CHECKOUT if RUNNABLE[document]])
def test_commands_in_the_checkout(document):
    run_commands(document, ROOT)
