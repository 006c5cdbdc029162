# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""An engine that runs language models, in a process of its own."""

import os
import time
from pathlib import Path

import numpy as np
import worker


class Worker(worker.Process):
    """``model``, ``form`` and engines are named as in ``models`` and ``engines``."""

    def __init__(self, engine: str):
        super().__init__(_Server, engine)

    def check(self) -> None:
        """Raises RuntimeError if the engine is not here."""
        self._ask("check")

    def prepare(self, model: str, form: str, context: int, folder: Path) -> dict[str, float]:
        """Makes the files of a model; returns the facts that the engine tells, and their size."""
        return self._ask("prepare", model, form, context, str(folder))

    def load(self, model: str, form: str, context: int, folder: Path, threads: int) -> dict[str, float]:
        """Milliseconds and megabytes that it takes, with the files in the page cache."""
        return self._ask("load", model, form, context, str(folder), threads)

    def scores(self) -> np.ndarray:
        """What a prompt that is the same for all engines, and a step after it, give."""
        return self._ask("scores")

    def time(self, position: int, lengths: list[int]) -> list[float]:
        """Seconds of steps with so many tokens each, the first of them with ``position`` tokens in the cache."""
        return self._take_turn("time", position, lengths)

    def memory(self) -> dict[str, float]:
        """Megabytes since before loading: the peak of all, and what is the process's own now."""
        return self._ask("memory")


class _Server:
    def __init__(self, engine: str):
        from . import engines

        self.engine = engines.get(engine)

    def check(self):
        self.engine.check()

    def prepare(self, model: str, form: str, context: int, folder: str):
        from .models import FORMATS, MODELS, write_checkpoint

        write_checkpoint(MODELS[model], Path(folder).parent.parent)
        facts = self.engine.prepare(MODELS[model], FORMATS[form], context, Path(folder))
        return {**facts, "program_mb": sum(f.stat().st_size for f in _files(folder)) / 1e6}

    def load(self, model: str, form: str, context: int, folder: str, threads: int):
        from process_memory import forget_peak, memory

        from .models import FORMATS, MODELS

        for file in _files(folder):
            _read(file)
        self.engine.begin(threads)
        vocabulary = MODELS[model].parameters["vocab_size"]
        self.tokens = np.random.default_rng(0).integers(3, vocabulary, context).tolist()
        forget_peak()
        self.before = memory()
        started = time.perf_counter()
        self.session = self.engine.load(Path(folder), FORMATS[form], context)
        return {"load_ms": (time.perf_counter() - started) * 1e3, **self.memory()}

    def scores(self):
        self.session.at(0)
        self.session.step(self.tokens[:16])
        self.session.step(self.tokens[16:17])
        return self.session.scores()

    def time(self, position: int, lengths: list[int]):
        clock = time.process_time if worker.CPU_TIME in os.environ else time.perf_counter
        seconds = []
        self.session.at(position)
        for length in lengths:
            tokens = self.tokens[position : position + length]
            started = clock()
            self.session.step(tokens)
            seconds.append(clock() - started)
            position += length
        return seconds

    def memory(self):
        from process_memory import memory

        now, before = memory(), self.before
        peak = now["VmHWM"] - before["RssAnon"] - before["RssFile"]
        return {"peak_mb": peak, "own_mb": now["RssAnon"] - before["RssAnon"]}


def _files(folder: str) -> list[Path]:
    return [f for f in Path(folder).iterdir() if f.suffix in (".pte", ".gguf", ".onnx", ".data")]


def _read(file: Path) -> None:
    with open(file, "rb") as stream:
        while stream.read(1 << 24):
            pass
