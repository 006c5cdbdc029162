# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""One engine in a process of its own, told over a pipe what to do."""

import math
import multiprocessing
import os
import tempfile
import time
import traceback
from pathlib import Path

#: In the environment of a process that counts its own time instead of all, for machines that are busy with others.
CPU_TIME = "ET_XNNPACK_BENCHMARK_CPU_TIME"
#: Seconds before a turn: the threads of the engine before go on looking for work for a while.
REST = 0.1
#: Seconds that calls before those that are timed take at least, so that threads which slept are awake.
WARM_UP = 0.05


def difference(actual, expected) -> float:
    """The largest difference, relative to the largest expected number; infinite where only one array is finite."""
    import numpy as np

    finite = np.isfinite(expected)
    if actual.shape != expected.shape or not np.array_equal(actual[~finite], expected[~finite], equal_nan=True):
        return math.inf
    actual, expected = actual[finite].astype(np.float64), expected[finite].astype(np.float64)
    return float(np.abs(actual - expected).max() / max(np.abs(expected).max(), 1e-30))


class Process:
    """The parent's end. Methods raise RuntimeError with what went wrong in the process."""

    def __init__(self, make_server, *arguments):
        """``make_server(*arguments)`` makes there what has the methods that are asked for."""
        context = multiprocessing.get_context("spawn")
        self._pipe, child = context.Pipe()
        self._log = tempfile.NamedTemporaryFile(suffix=".log")
        self._process = context.Process(
            target=_serve, args=(make_server, arguments, child, self._log.name), daemon=True
        )
        self._process.start()
        child.close()

    def close(self) -> None:
        self._pipe.close()
        self._process.join(timeout=10)
        if self._process.is_alive():
            self._process.kill()
        self._log.close()

    def _ask(self, *message):
        self._pipe.send(message)
        try:
            ok, result = self._pipe.recv()
        except EOFError:
            self._process.join()
            last = Path(self._log.name).read_text(errors="replace")[-500:]
            raise RuntimeError(f"{last}\nthe process ended with {self._process.exitcode}") from None
        if not ok:
            raise RuntimeError(result)
        return result

    def _take_turn(self, *message):
        time.sleep(REST)
        return self._ask(*message)


class Worker(Process):
    """An engine that runs whole models."""

    def __init__(self, engine: str):
        super().__init__(_Server, engine)

    def write_reference(self, model: str, folder: Path) -> None:
        """Writes the inputs of ``model``, what eager PyTorch computes of them, and in how many operations."""
        self._ask("write_reference", model, str(folder))

    def product_speed(self, threads: int) -> float:
        """Floating point operations a second of a large matrix product in eager PyTorch, the best of some."""
        return self._ask("product_speed", threads)

    def prepare(self, model: str, folder: Path) -> dict[str, object]:
        """Makes the files of ``model``; returns the facts the engine tells and the seconds it took."""
        return self._ask("prepare", model, str(folder))

    def load(self, model: str, folder: Path, threads: int) -> tuple[float, float]:
        """Loads and runs once. Returns the milliseconds of loading and the relative difference from eager."""
        return self._ask("load", model, str(folder), threads)

    def time(self, warmup: int, calls: int, folder: Path | None = None) -> list[float]:
        """Milliseconds of each of ``calls`` calls of what was loaded last or from a folder, after ``warmup`` others or
        more; 0: none."""
        return self._take_turn("time", warmup, calls, None if folder is None else str(folder))

    def burst(self, calls: int) -> float:
        """Microseconds a call of what was loaded last, of ``calls`` calls that are timed together."""
        return self._take_turn("burst", calls)

    def run(self, folder: Path, inputs: Path) -> list:
        """The results of what was loaded from ``folder`` of arrays in a file, named by call and argument: 0_0, 0_1."""
        return self._ask("run", str(folder), str(inputs))


class _Server:
    def __init__(self, engine: str):
        import engines

        self.engine = engines.get(engine)
        self.calls = {}

    def write_reference(self, model: str, folder: str):
        import models
        import numpy as np
        import torch
        from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

        found = models.get(model)
        inputs = found.example()
        attention = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        counter = FlopCounterMode(
            display=False, custom_mapping={attention: lambda q, k, v, *_, **__: sdpa_flop_count(q, k, v)}
        )
        with torch.no_grad(), counter:
            expected = found.build()(*inputs)
        expected = expected[0] if isinstance(expected, tuple) else expected  # that one is compared
        named = {f"input{i}": t.numpy() for i, t in enumerate(inputs)}
        flop = counter.get_total_flops()
        np.savez(Path(folder) / "reference.npz", **named, expected=expected.numpy(), flop=flop)

    def product_speed(self, threads: int):
        import torch

        torch.set_num_threads(threads)
        size, seconds = 1024, []
        a, b = torch.rand(size, size), torch.rand(size, size)
        for _ in range(30):
            started = time.perf_counter()
            torch.mm(a, b)
            seconds.append(time.perf_counter() - started)
        return 2 * size**3 / min(seconds)

    def prepare(self, model: str, folder: str):
        import models

        found = models.get(model)
        started = time.perf_counter()
        facts = self.engine.prepare(found.build(), found.example(), Path(folder))
        return {**facts, "seconds": time.perf_counter() - started}

    def load(self, model: str, folder: str, threads: int):
        import numpy as np
        import torch

        reference = np.load(Path(folder).parent / "reference.npz")
        self.inputs = tuple(torch.from_numpy(reference[k]) for k in reference.files if k.startswith("input"))
        expected = reference["expected"]
        started = time.perf_counter()
        self.call = self.calls[folder] = self.engine.load(Path(folder), threads)
        milliseconds = (time.perf_counter() - started) * 1e3
        return milliseconds, difference(np.asarray(self.call(self.inputs)[0]), expected)

    def run(self, folder: str, inputs: str):
        import numpy as np
        import torch

        arrays, results = np.load(inputs), []
        for i in range(len({k.partition("_")[0] for k in arrays.files})):
            count = sum(k.startswith(f"{i}_") for k in arrays.files)
            tensors = tuple(torch.from_numpy(arrays[f"{i}_{k}"]) for k in range(count))
            results.append(np.array(self.calls[folder](tensors)[0]))
        return results

    def burst(self, calls: int):
        call, inputs = self.call, self.inputs
        clock = time.process_time if CPU_TIME in os.environ else time.perf_counter
        started = clock()
        for _ in range(calls):
            call(inputs)
        return (clock() - started) / calls * 1e6

    def time(self, warmup: int, calls: int, folder: str | None):
        call = self.call if folder is None else self.calls[folder]
        began, called = time.perf_counter(), 0
        while called < warmup or (warmup > 0 and time.perf_counter() - began < WARM_UP):
            call(self.inputs)
            called += 1
        clock = time.process_time if CPU_TIME in os.environ else time.perf_counter
        result = []
        for _ in range(calls):
            started = clock()
            call(self.inputs)
            result.append((clock() - started) * 1e3)
        return result


def _serve(make_server, arguments, pipe, log: str) -> None:
    os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 2)  # what libraries say is shown if the process dies
    os.dup2(2, 1)
    server = None
    while True:
        try:
            method, *values = pipe.recv()
        except EOFError:
            return
        try:
            server = server or make_server(*arguments)
            pipe.send((True, getattr(server, method)(*values)))
        except Exception:
            pipe.send((False, traceback.format_exc(limit=-3)))
