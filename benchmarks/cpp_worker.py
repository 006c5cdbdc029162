# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""One engine in a process of its own that is written in C++ (``calls/``), told over a pipe how often to call."""

import contextlib
import importlib.util
import subprocess
import tempfile
import time
from pathlib import Path

from engines import OFFICIAL, OURS
from worker import REST, difference

#: By engine: the program, the library that it loads, within the packages of Python, and the file of a model.
_ENGINES = {
    OURS: ("executorch_calls", "executorch", "backends/et_xnnpack/lib/libet_xnnpack.so", "model.pte"),
    OFFICIAL: ("executorch_calls", "executorch", "lib/libexecutorch_backend_xnnpack.so", "model.pte"),
    "onnxruntime": ("onnxruntime_calls", "onnxruntime", "capi/libonnxruntime.so*", "model.onnx"),
}


class CppWorker:
    """The parent's end, as that of ``worker.Worker``; one thread. Methods raise RuntimeError with what went wrong."""

    def __init__(self, engine: str, programs: Path):
        """``programs`` is the folder of the compiled ``calls/*.cpp``."""
        name, package, pattern, self._model = _ENGINES[engine]
        self._program = programs / name
        root = Path(importlib.util.find_spec(package).submodule_search_locations[0])
        self._library = next(root.glob(pattern), root / pattern)
        self._folder = tempfile.TemporaryDirectory()
        self._process = None

    @staticmethod
    def is_there(engine: str, programs: Path) -> bool:
        """Whether its program has been compiled."""
        return (programs / _ENGINES[engine][0]).exists()

    def load(self, folder: Path) -> float:
        """Loads what ``Worker.prepare`` made, and calls it once. Returns the relative difference from eager."""
        import numpy as np

        reference = np.load(folder.parent / "reference.npz")
        own = Path(self._folder.name)
        result, inputs = own / "result", [own / name for name in reference.files if name.startswith("input")]
        for file in inputs:
            reference[file.name].tofile(file)
        command = [self._program, folder / self._model, self._library, result, *inputs]
        pipe = subprocess.PIPE
        with open(own / "log", "w") as log:
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True, bufsize=1)
        self.burst(1)
        expected = reference["expected"]
        actual = np.fromfile(result, expected.dtype)
        return difference(actual.reshape(expected.shape) if actual.size == expected.size else actual, expected)

    def burst(self, calls: int) -> float:
        """Microseconds a call, of ``calls`` calls that are timed together."""
        time.sleep(REST)
        with contextlib.suppress(BrokenPipeError):  # then there is no answer
            print(calls, file=self._process.stdin)
        answer = self._process.stdout.readline()
        if not answer:
            last = Path(self._folder.name, "log").read_text(errors="replace")[-500:]
            raise RuntimeError(f"{last}\nthe process ended with {self._process.wait()}")
        return float(answer)

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
        self._folder.cleanup()
