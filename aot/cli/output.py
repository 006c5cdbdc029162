# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What commands print: text for people, JSON for tools."""

import json
import math
from collections.abc import Callable, Iterable, Sequence

import click

#: Every command has it.
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


def emit(as_json: bool, data: object, text: Callable[[], None]) -> None:
    """Prints ``data`` as JSON, or calls ``text``, which prints the same for people."""
    if as_json:
        click.echo(json.dumps(_finite(data), indent=1, default=str, allow_nan=False))
    else:
        text()


def _finite(data: object) -> object:
    """With texts for the numbers that JSON has no form for: ``NaN``, ``Infinity`` and ``-Infinity``."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return "NaN" if math.isnan(data) else "Infinity" if data > 0 else "-Infinity"
    return data


def printable(text: str) -> str:
    """With what is not printable as in a string of Python, but for ends of lines: a program may name its methods and
    operators as it likes, and a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def say(text: str = "") -> None:
    """One paragraph, without styles: names may hold brackets."""
    click.echo(printable(text))


def heading(text: str) -> None:
    click.secho(printable(text), bold=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], indent: int = 0) -> None:
    """Columns whose name begins with ``>`` are numbers, on the right. Only a terminal has a width."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    found = Table(box=None, pad_edge=False, show_edge=False, header_style="dim")
    for name in columns:
        found.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    for row in rows:
        found.add_row(*(Text("" if cell is None else printable(str(cell))) for cell in row))
    is_terminal = click.get_text_stream("stdout").isatty()
    console = Console(width=None if is_terminal else 200, highlight=False, force_terminal=is_terminal)
    with console.capture() as captured:
        console.print(Padding(found, (0, 0, 0, indent), expand=False))
    for line in captured.get().splitlines():
        click.echo(line.rstrip())


def count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size(number: float) -> str:
    """Bytes, as 1.23 MB."""
    return _scaled(number, "B")


def flop(number: float) -> str:
    """Operations, as 1.23 GFLOP."""
    return _scaled(number, "FLOP")


def _scaled(number: float, unit: str) -> str:
    for prefix in ("", "k", "M", "G"):
        if abs(number) < 1000:
            return f"{number:.3g} {prefix}{unit}" if prefix or number % 1 else f"{number:.0f} {unit}"
        number /= 1000
    return f"{number:.3g} T{unit}"


def share(part: float, whole: float) -> str:
    """In percent, with as many digits as say something."""
    if whole == 0:
        return "0 %"
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.2g} %"


def distance(difference) -> str:
    """How far two results of one type are apart, for people; ``difference`` as a dict."""
    text = f"{difference['largest']:.3g}, {difference['relative']:.3g} times the largest number"
    if difference.get("is_close") and difference["relative"] > 0.1:
        text += "; --atol is too large for numbers as small as these"
    return text
