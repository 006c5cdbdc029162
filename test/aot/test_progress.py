# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Long work is shown on a terminal, from two seconds on, and nowhere else."""

import io
import os
import pty
import select
import threading
import time

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot import progress
from executorch.backends.et_xnnpack.aot.passes.pipeline import PIPELINE
from executorch.exir import to_edge_transform_and_lower


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(progress, "_stream", lambda: stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def wait_for(stream, text):
    end = time.monotonic() + 60
    while text not in stream.getvalue():
        assert time.monotonic() < end, stream.getvalue()
        time.sleep(0.01)


def test_long_work_says_what_it_does(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    with progress.work("lowering"):
        progress.step("the first pass")
        wait_for(terminal, "lowering: the first pass, ")
        with progress.work("inside"):
            wait_for(terminal, "lowering: inside, ")
        progress.step("the second pass")
        wait_for(terminal, "lowering: the second pass, ")
    assert "\x1b[2K" in terminal.getvalue().rpartition(" s")[2]  # the line has gone
    assert progress._current.get() is None


def test_short_work_is_not_shown(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 60)
    before = threading.active_count()
    with progress.work("lowering"):
        progress.step("a pass")
    assert terminal.getvalue() == ""
    time.sleep(0.05)
    assert threading.active_count() <= before


def test_an_error_ends_it(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    with pytest.raises(ValueError), progress.work("lowering"):
        wait_for(terminal, "lowering")
        raise ValueError
    shown = len(terminal.getvalue())
    time.sleep(0.6)
    assert len(terminal.getvalue()) == shown


def test_without_a_terminal_there_is_nothing(monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(progress, "_stream", lambda stream=stream: stream)
        before = threading.active_count()
        with progress.work("lowering"):
            progress.step("a pass")
            time.sleep(0.02)
            assert threading.active_count() == before
        assert stream is None or stream.getvalue() == ""


def test_lowering_names_partitioning_and_every_pass(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_DELAY", 60)
    seen = []
    monkeypatch.setattr(progress._Work, "step", lambda self, text: seen.append((self._title, text)))
    exported = torch.export.export(torch.nn.GELU(), (torch.rand(2, 3),))
    to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
    assert {title for title, _ in seen} == {"et_xnnpack partitions forward", "et_xnnpack lowers"}
    assert {f"pass {run.__name__}" for run in PIPELINE} <= {text for _, text in seen}
    assert terminal.getvalue() == ""


def test_it_is_shown_while_the_error_output_goes_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(progress, "_DELAY", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    screen, keyboard = pty.openpty()
    monkeypatch.setattr(progress, "_stream", lambda: terminal)
    with os.fdopen(keyboard, "w") as terminal, progress.work("loading"):
        kept = os.dup(keyboard)
        with open(tmp_path / "log", "wb") as log:
            os.dup2(log.fileno(), keyboard)
            time.sleep(0.5)
        os.dup2(kept, keyboard)
        os.close(kept)
    assert select.select([screen], [], [], 10)[0] and b"loading" in os.read(screen, 1000)
    assert (tmp_path / "log").read_bytes() == b""
    os.close(screen)
