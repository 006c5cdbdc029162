# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What the documents say is so: their tables, quotations, links and names are those of the project."""

import ast
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import documents
import executorch
import pytest
from documents import DOCUMENTS, ROOT
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner

PAGES = [document for document in DOCUMENTS if document.startswith("docs/")]
QUOTATIONS = [block for document in DOCUMENTS for block in documents.blocks(document, "quotation")]
FOLDERS = ("aot", "benchmarks", "cmake", "docs", "examples", "runtime", "serialization", "test", "third-party", "tools")


def test_the_readme_is_short_and_leads_to_every_page():
    assert len(documents.read("README.md").splitlines()) <= 200
    linked = {path for path, _ in documents.links("README.md")}
    assert {*PAGES, "setup.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "LICENSE"} - linked == set()


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_block_is_run_or_says_why_not(document):
    """``test_code.py`` runs what is Python, a shell command or a file for these."""
    assert [str(block) for block in documents.blocks(document) if block.kind == "unknown"] == []
    reasons = [block.reason for block in documents.blocks(document, "not run")]
    assert all(len(reason.split()) > 3 for reason in reasons), reasons
    assert len(reasons) == re.sub("`.*?`", "", documents.text(document)).count("<!-- not run: ")


@pytest.mark.parametrize("document", DOCUMENTS)
def test_code_is_in_blocks_with_a_language(document):
    lines = documents.text(document).splitlines()
    indented = [
        number
        for number, (before, line) in enumerate(zip(["", *lines], lines, strict=False), 1)
        if line.startswith("    ") and not before
    ]
    assert [lines[number - 1] for number in indented] == []
    assert [str(block) for block in documents.blocks(document) if not block.language] == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_tables_are_whole(document):
    """A row without a head, or with other cells than its head, is shown as text or loses cells."""
    wrong, table = [], []
    for line in [*documents.text(document).splitlines(), ""]:
        if line.startswith("|"):
            table.append(line)
        elif table:
            if len(table) < 3 or not re.fullmatch(r"(\| *:?-+:? *)+\|", table[1]):
                wrong.append(table[0])
            wrong += [row for row in table if len(re.findall(r"(?<!\\)\|", row)) != table[1].count("|")]
            table = []
    assert wrong == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document):
    wrong = []
    for path, fragment in documents.links(document):
        target = (ROOT / document).parent / path if path else ROOT / document
        if not target.exists():
            wrong.append(path)
        elif fragment and fragment not in documents.anchors(str(target.resolve().relative_to(ROOT))):
            wrong.append(f"{path}#{fragment}")
    assert wrong == []


@pytest.mark.parametrize("block", QUOTATIONS, ids=str)
def test_quotation(block):
    path, text = block.quoted
    assert text in (ROOT / path).read_text()


def test_quotations_are_found():
    assert {block.document for block in QUOTATIONS} == {"CONTRIBUTING.md"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_of_files_exist(document):
    """In backticks, with a folder of the project in front."""
    names = [name for name in documents.inline_code(document) if re.fullmatch(r"[\w./-]+", name)]
    inside = [name for name in names if name.partition("/")[0] in FOLDERS and "/" in name]
    folder = (ROOT / document).parent
    examples = {"test/aot/test_x.py", "aot/x.py", "test/runtime/base/x_test.cpp", "runtime/base/x.cpp"}
    wrong = {n for n in inside if not (ROOT / n).exists() and not (folder / n).exists()} - examples
    assert wrong == set()


def _targets() -> set[str]:
    phony = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    return set(" ".join(phony).split())


def _commands(document: str) -> list[str]:
    """The lines of blocks, and what is in backticks."""
    lines = [line for block in documents.blocks(document) for line in block.code.splitlines()]
    return [*lines, *documents.inline_code(document)]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_targets_presets_and_options_exist(document):
    text = "\n".join(_commands(document))
    targets = re.findall(r"^(?:\w+=\S+ )*make ((?:[a-z0-9-]+ ?)+)", text, re.MULTILINE)
    assert {word for target in targets for word in target.split()} - _targets() == set()
    presets = json.loads((ROOT / "CMakePresets.json").read_text())
    known = {preset["name"] for kind in ("configurePresets", "workflowPresets") for preset in presets[kind]}
    assert set(re.findall(r"--preset ([\w-]+)", text)) - known == set()
    defined = "".join(path.read_text() for path in [*ROOT.glob("cmake/*.cmake"), *ROOT.glob("*/CMakeLists.txt")])
    assert {name for name in re.findall(r"ET_XNNPACK_BUILD_\w+", text) if name not in defined} == set()


def _strings(path: Path) -> list[str]:
    """The text of a source that people may see, adjacent literals joined."""
    source = path.read_text()
    if path.suffix == ".py":
        found = []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
            elif isinstance(node, ast.JoinedStr):
                found.append("".join(v.value if isinstance(v, ast.Constant) else "\0" for v in node.values))
        return found
    joined = re.sub(r'"\s*\n?\s*"', "", source)
    return [re.sub(r"%(?:l?l?[dux]|z[du]|[sg])", "\0", text) for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)]


def test_messages_are_those_of_the_code():
    paths = [ROOT / "__init__.py", *ROOT.glob("aot/**/*.py"), *ROOT.glob("runtime/**/*.cpp")]
    known = "\n".join(text for path in paths for text in _strings(path))
    document = "docs/troubleshooting.md"
    messages = [
        message
        for title in ("Importing", "Lowering", "Loading", "Calling")
        for message in documents.first_column(document, title)
    ]
    assert len(messages) > 30
    parts = {part.strip() for message in messages for part in re.split(r"…|ETX1|\b0x", message)}
    assert {part for part in parts if len(part) > 3 and part not in known} == set()


def test_error_codes_are_those_of_executorch():
    header = Path(executorch.__path__[0]) / "include" / "executorch" / "runtime" / "core" / "error.h"
    known = dict(re.findall(r"^  (\w+) = (0x\w+),", header.read_text(), re.MULTILINE))
    rows = re.findall(
        r"^\| (0x\w+) \| `(\w+)`", documents.section("docs/troubleshooting.md", "Errors of ExecuTorch"), re.M
    )
    assert rows
    assert {name: code for code, name in rows}.items() <= known.items()


def test_options_are_those_of_the_runtime():
    known = re.findall(r'\{"(\w+)", \w+\{&Options::', (ROOT / "runtime" / "options.cpp").read_text())
    assert known
    assert documents.first_column("docs/options-and-profiling.md", "Options") == known


def test_options_are_those_of_the_partitioner():
    known = set(inspect.signature(EtXnnpackPartitioner.__init__).parameters) - {"self"}
    assert set(documents.first_column("docs/operators.md", "Choose what is delegated")) == known


def test_public_names_are_documented():
    text = "\n".join(documents.read(document) for document in DOCUMENTS)
    assert [name for name in et_xnnpack.__all__ if not re.search(rf"\b{name}\b", text)] == []


def test_recipes_are_all_there():
    from executorch.backends.et_xnnpack.aot.recipes import EtXnnpackRecipeType

    listed = documents.first_column("docs/number-formats.md", "Export recipes")
    assert sorted(listed) == sorted(recipe.name for recipe in EtXnnpackRecipeType)


def test_support_table_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "support_table.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_changelog_has_this_version():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE).group(1)
    assert version in documents.read("CHANGELOG.md")
    titles = re.findall(r"^## (.+)$", documents.read("CHANGELOG.md"), re.MULTILINE)
    assert titles[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", title) for title in titles[1:])
