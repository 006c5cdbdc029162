# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How a command ends."""

import contextlib
import enum
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import click

from .output import printable


class ExitCode(enum.IntEnum):
    """What the shell sees."""

    OK = 0
    NO = 1  #: the command did its work, and the answer is no
    USAGE = 2  #: the command line is wrong (that of Click)
    UNREADABLE = 3  #: a file, a module or a model cannot be read, imported or exported, or an output not written
    FAILED = 4  #: a program does not load or run
    MISTAKE = 5  #: of ours


class Failure(click.ClickException):
    """Ends the command with one line and an exit code."""

    def __init__(self, message: str, code: ExitCode):
        super().__init__(printable(message))
        self.exit_code = int(code)


def unreadable(message: str) -> NoReturn:
    raise Failure(message, ExitCode.UNREADABLE)


def failed(message: str) -> NoReturn:
    raise Failure(message, ExitCode.FAILED)


def check_writable(path: str) -> None:
    """Ends the command, before any work, if no file can be at ``path``."""
    folder = Path(path).parent
    if not folder.is_dir():
        unreadable(f"{path}: there is no folder {folder}")
    if Path(path).is_dir():
        unreadable(f"{path}: Is a directory")


def first_line(error: BaseException) -> str:
    """``ValueError: what went wrong``, of a message of many lines the first one that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextlib.contextmanager
def runtime_log() -> Iterator[list[str]]:
    """Keeps what libraries write to the error output: the lines, when the block has ended. ExecuTorch's C++ writes
    to that of Python once its module is loaded."""
    lines: list[str] = []
    saved, text = os.dup(2), io.StringIO()
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            with contextlib.redirect_stderr(text):
                yield lines
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            lines += [*file.read().decode(errors="replace").splitlines(), *text.getvalue().splitlines()]


def reason_in(lines: list[str]) -> str | None:
    """What the log of a failure says: the last line of ours, else the last of ExecuTorch's errors."""
    ours = [line.partition("et_xnnpack: ")[2] for line in lines if "et_xnnpack: " in line]
    missing = [line.rpartition(" ")[2] for line in lines if "Missing operator: " in line]
    if missing and not ours:
        return f"ExecuTorch's Python package has no kernel of {', '.join(missing)}, which is outside of delegates"
    others = [line.partition("] ")[2] for line in lines if line.startswith(("E ", "[")) and "] " in line]
    found = ours or others
    return found[-1].strip() if found else None
