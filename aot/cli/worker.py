# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A program in a process of its own, which is told over a pipe what to do: its memory and its pool are its own.

The parent's end is ``Worker``; the process runs this module.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .errors import Failure, failed


class Worker:
    """The parent's end. Its methods end the command with one line if something goes wrong in the process."""

    def __init__(self):
        self._program = "a program"
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def load(self, program: str, method: str, inputs: str, **arguments) -> dict[str, float]:
        """Loads and calls once: milliseconds of both, and the bytes that the process took for it at most."""
        self._program = program
        return self._ask(do="load", program=program, method=method, inputs=inputs, **arguments)

    def time(self, calls: int) -> list[float]:
        """Milliseconds of each call. Where one fails after others have not, as where the room of a state ends, it is
        loaded anew."""
        return self._ask(do="time", calls=calls)

    def profile(self, calls: int, path: str) -> None:
        """Calls, as often as there is room for, and writes an ETDump."""
        self._ask(do="profile", calls=calls, path=path)

    def limits(self, threads: int) -> dict[str, float]:
        """What the machine can do at most."""
        return self._ask(do="limits", threads=threads)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.stdin.close()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.stdout.close()
        self._process.stderr.close()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _ask(self, **message):
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            code = self._process.wait()
            lines = [line for line in self._process.stderr.read().splitlines() if line.strip()]
            last = f": {lines[-1].strip()}" if lines else ""
            failed(f"{self._program}: its process ended with {code}{last}")
        answer = json.loads(line)
        if "error" in answer:
            failed(answer["error"])
        return answer["result"]


class _Server:
    def load(self, program, method, inputs, threads, options, data, operators, etdump=False):
        import torch

        from .execute import import_runtime

        import_runtime()
        torch.set_num_threads(1)
        self.inputs = torch.load(inputs, weights_only=True)
        before = _memory()["VmRSS"]
        _reset_peak()
        self.arguments = {"options": options, "data_path": data, "etdump": etdump, "operators": operators}
        self.arguments |= {"path": program, "method": method}
        self._load(threads)
        started = time.perf_counter()
        self.loaded.call(self.inputs)
        first = 1000 * (time.perf_counter() - started)
        peak = _memory()["VmHWM"] - before
        self.is_new = False
        return {"load_ms": 1000 * self.loaded.load_seconds, "first_call_ms": first, "peak_bytes": max(peak, 0)}

    def _load(self, threads=None):
        from .execute import Loaded

        self.loaded = None  # before there is another one
        self.loaded, self.is_new = Loaded(threads=threads, **self.arguments), True

    def time(self, calls):
        found = []
        while len(found) < calls:
            before = len(found)
            try:
                with self.loaded.running():
                    self._time(calls, found)
                return found
            except Failure:
                if self.is_new and len(found) == before:
                    raise
            self._load()  # after the exception, which keeps the method
        return found

    def _time(self, calls, found):
        call, inputs, clock = self.loaded.method.call, tuple(self.inputs), time.perf_counter
        call(inputs, clone_outputs=False)  # caches are those of another program
        while len(found) < calls:
            started = clock()
            call(inputs, clone_outputs=False)
            found.append(1000 * (clock() - started))
        self.is_new = False

    def profile(self, calls, path):
        done = 0
        try:
            while done < calls:
                self.loaded.call(self.inputs)
                done += 1
        except Failure:
            if done == 0:
                raise
        if done < calls:
            self._load()
            for _ in range(done):
                self.loaded.call(self.inputs)
        self.loaded.write_etdump(path)

    def limits(self, threads):
        from ... import _runtime_module

        return _runtime_module().limits(threads)


def _memory() -> dict[str, int]:
    """Bytes by name; zeros where there is no /proc."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    found = {"VmRSS": 0, "VmHWM": 0}
    for line in lines:
        name, _, value = line.partition(":")
        if name in found:
            found[name] = 1024 * int(value.split()[0])
    return found


def _reset_peak() -> None:
    """Linux forgets the largest size so far; where it does not, importing libraries may have been it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


def _serve() -> None:
    import logging

    import click

    logging.disable(logging.WARNING)
    answers = os.fdopen(os.dup(1), "w", buffering=1)  # nothing else is written there
    os.dup2(2, 1)
    server = _Server()
    for line in sys.stdin:
        message = json.loads(line)
        try:
            answer = {"result": getattr(server, message.pop("do"))(**message)}
        except click.ClickException as error:
            answer = {"error": error.format_message()}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    _serve()
