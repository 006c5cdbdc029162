# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Writes pictures as one HTML page, which asks no network for anything."""

import dataclasses
import html
import importlib.util
import json
import os
import re
import string
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from ..errors import check_writable, unreadable
from .model import Facts, Picture

_PARTS = Path(__file__).parent / "parts"
_SCRIPTS = ("tree.js", "layout.js", "draw.js", "view.js", "memory.js", "main.js")
_EXTRA = "pip install 'et_xnnpack[pictures]'"
#: How dagre ends in netron's package: a module, while ours is a script among others.
_EXPORT = re.compile(r"^export const \{ layout, Graph \} = dagre;\s*\Z", re.M)

html_option = click.option(
    "--html", "html_path", metavar="FILE", help="Write a picture, too: a page for a browser that needs no network."
)


def check(path: str | None) -> None:
    """Ends the command with one line, before any work, if no page can be written to ``path``."""
    if path is None:
        return
    layout_library()
    check_writable(path)


def write(path: str, title: str, kind: str, pictures: Sequence[Picture]) -> None:
    """Writes the page. Ends the command with one line if that is not possible."""
    text = page(title, kind, pictures)
    draft = Path(f"{path}.part")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        unreadable(f"{path}: {error.strerror}")


def page(title: str, kind: str, pictures: Sequence[Picture]) -> str:
    """The text of the page. ``kind`` is the command that made the pictures."""
    return string.Template((_PARTS / "page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        kind=html.escape(kind),
        style=(_PARTS / "page.css").read_text(encoding="utf-8"),
        library=layout_library(),
        data=_json([dataclasses.asdict(picture) for picture in pictures]),
        script="\n".join((_PARTS / name).read_text(encoding="utf-8") for name in _SCRIPTS),
        tables="\n".join(_table(picture) for picture in pictures),
    )


def layout_library() -> str:
    """dagre as a script. Ends the command with one line that says what to install if it is not there."""
    spec = importlib.util.find_spec("netron")
    folders = spec.submodule_search_locations if spec else None
    file = Path(next(iter(folders)), "dagre.js") if folders else None
    if file is None or not file.is_file():
        unreadable(f"--html draws with a library that is not installed: {_EXTRA}")
    text, found = _EXPORT.subn("", file.read_text(encoding="utf-8"))
    if not found or "</script" in text:
        unreadable(f"--html draws with a netron of another version: {_EXTRA}")
    return text


def _json(data: object) -> str:
    """For a script element, whose text must not end it."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _table(picture: Picture) -> str:
    """The facts of the picture for those who cannot see it, and for those who would rather read."""
    columns = list(dict.fromkeys(name for node in picture.nodes for name, _ in node.facts))
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in ("name", "drawn as", *columns))
    rows = "".join(_row(picture, node, columns) for node in picture.nodes)
    summary = html.escape("; ".join(f"{name}: {text}" for name, text in picture.summary))
    return (
        f"<table><caption>{html.escape(picture.name)}: {summary}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _row(picture: Picture, node, columns: Iterable[str]) -> str:
    facts: Facts = node.facts
    known = dict(facts)
    cells = (picture.groups[node.group].label, *(known.get(name, "") for name in columns))
    texts = "".join(f"<td>{html.escape(text)}</td>" for text in cells)
    return f'<tr><th scope="row">{html.escape(" / ".join((*node.path, node.label)))}</th>{texts}</tr>'
