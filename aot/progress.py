# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Says what takes so long, where somebody looks: the error output is a terminal."""

import contextlib
import contextvars
import io
import os
import sys
import threading
import time
from collections.abc import Iterator

_DELAY = 2.0  # seconds that need no explanation


def _stream():
    return sys.stderr


def _kept(stream):
    """A stream to the same terminal, also while somebody sends the error output elsewhere."""
    try:
        return os.fdopen(os.dup(stream.fileno()), "w", encoding="utf-8", errors="replace")
    except (OSError, io.UnsupportedOperation):
        return contextlib.nullcontext(stream)


class _Work:
    """One line that appears after ``_DELAY``, follows what is done, and goes away. Another thread draws it."""

    def __init__(self, title: str, stream):
        self._title, self._step, self._stream = title, "", stream
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._has_ended = False
        self._live = None
        self._timer = threading.Timer(_DELAY, self._show)
        self._timer.daemon = True
        self._timer.start()

    def step(self, text: str) -> None:
        self._step = text

    def end(self) -> None:
        with self._lock:
            self._has_ended = True
            self._timer.cancel()
            if self._live is not None:
                self._live.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.live import Live

        with self._lock:
            if not self._has_ended:
                console = Console(file=self._stream)
                # What others print stays theirs.
                self._live = Live(
                    get_renderable=self._text,
                    console=console,
                    transient=True,
                    refresh_per_second=4,
                    redirect_stdout=False,
                    redirect_stderr=False,
                )
                self._live.start(refresh=True)

    def _text(self):
        from rich.text import Text

        step = f": {self._step}" if self._step else ""
        return Text(f"{self._title}{step}, {time.monotonic() - self._started:.0f} s", no_wrap=True)


_current: contextvars.ContextVar[_Work | None] = contextvars.ContextVar("work", default=None)


@contextlib.contextmanager
def work(title: str) -> Iterator[None]:
    """While the block runs, shows ``title``, the last ``step`` and the time since it began, from two seconds on. Work
    inside of other work is a step of that. Nothing happens where the error output is no terminal."""
    if _current.get() is not None:
        step(title)
        yield
        return
    stream = _stream()
    if stream is None or not stream.isatty():
        yield
        return
    with _kept(stream) as kept:
        one = _Work(title, kept)
        token = _current.set(one)
        try:
            yield
        finally:
            _current.reset(token)
            one.end()


def step(text: str) -> None:
    """What the work does now."""
    one = _current.get()
    if one is not None:
        one.step(text)
