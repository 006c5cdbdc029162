# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The project's documents: their code blocks, headings, links and tables.

A fenced block is one of these:

- a picture or what a program prints: ``mermaid`` or ``text``;
- a quotation: its first line is a comment that names a file, ``# aot/ops/shape.py``;
- not run, for the reason in the comment before it: ``<!-- not run: needs a phone -->``;
- a file: the text before it ends in its name, ``main.cpp`` in backticks and a colon;
- else Python or a shell command, which is run.
"""

import dataclasses
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    str(path.relative_to(ROOT))
    for folder in (".", "docs", "serialization", "third-party")
    for path in ROOT.glob(f"{folder}/*.md")
)
PICTURES = ("mermaid", "text")

_FENCE = re.compile(r"^( *)```(\w*)$")
_REASON = re.compile(r"<!-- not run: (.+?) -->$", re.DOTALL)
_QUOTED = re.compile(r"^(?://|#) ([\w.-]+(?:/[\w.-]+)*\.\w+)$")
_NAMED = re.compile(r"`([\w.-]+\.\w+)`:$")
_HEADING = re.compile(r"^(#+) (.+)$")


@dataclasses.dataclass(frozen=True)
class Block:
    """A fenced block."""

    document: str
    line: int
    language: str
    code: str
    section: str
    before: str  #: the last paragraph above it

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"

    @property
    def quoted(self) -> tuple[str, str] | None:
        """The file that it quotes, and what from it."""
        first, _, rest = self.code.partition("\n")
        found = _QUOTED.match(first)
        return (found.group(1), rest.rstrip()) if found else None

    @property
    def reason(self) -> str | None:
        """Why it is not run."""
        found = _REASON.search(self.before)
        return found.group(1) if found else None

    @property
    def name(self) -> str | None:
        """The name of the file that it is."""
        found = _NAMED.search(self.before)
        return found.group(1) if found else None

    @property
    def kind(self) -> str:
        if self.language in PICTURES:
            return "picture"
        if self.quoted is not None:
            return "quotation"
        if self.reason is not None:
            return "not run"
        if self.name is not None:
            return "file"
        return {"python": "python", "sh": "sh"}.get(self.language, "unknown")


def read(document: str) -> str:
    return (ROOT / document).read_text()


def blocks(document: str, kind: str | None = None) -> list[Block]:
    """The blocks of a document, without their indentation."""
    found, section, before, lines = [], "", [], iter(enumerate(read(document).splitlines(), 1))
    for number, line in lines:
        fence = _FENCE.match(line)
        if fence is None:
            heading = _HEADING.match(line)
            section = heading.group(2) if heading else section
            if line or (before and before[-1]):
                before.append(line)
            continue
        code = []
        for _, inner in lines:
            if inner == f"{fence.group(1)}```":
                break
            code.append(inner.removeprefix(fence.group(1)))
        else:
            raise ValueError(f"{document}:{number}: a block without an end")
        paragraph = "\n".join(before).strip().rpartition("\n\n")[2]
        found.append(Block(document, number, fence.group(2), "\n".join(code) + "\n", section, paragraph))
        before = []
    return [block for block in found if kind in (None, block.kind)]


def text(document: str) -> str:
    """A document without its blocks."""
    return re.sub(r"^( *)```\w*\n.*?^\1```$", "", read(document), flags=re.DOTALL | re.MULTILINE)


def section(document: str, title: str) -> str:
    """What is under a heading, up to the next one of its level."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)", read(document), re.DOTALL | re.MULTILINE)
    return found.group(2)


def anchors(document: str) -> set[str]:
    """The fragments that a link may have, as GitHub makes them of headings."""
    found: dict[str, int] = {}
    result = set()
    for _, title in re.findall(_HEADING.pattern, text(document), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        result.add(f"{name}-{found[name]}" if name in found else name)
        found[name] = found.get(name, 0) + 1
    return result


def links(document: str) -> list[tuple[str, str]]:
    """(path, fragment) of each link to something in the project; the path is empty for the document itself."""
    targets = re.findall(r"\]\((?!\w+:)([^)\s]*)\)", text(document))
    return [(path, fragment) for path, _, fragment in (target.partition("#") for target in targets)]


def inline_code(document: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text(document))


def first_column(document: str, title: str) -> list[str]:
    """What stands in backticks in the first column of the tables of a section."""
    cells = re.findall(r"^\|([^|]*)\|", section(document, title), re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
