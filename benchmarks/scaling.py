# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How programs divide their work between threads: at most how many times as fast they are with 2, 4, 8 and 16 threads.

loop_trace.cpp stands before the thread pool. For each number of threads a process is told that the pool has so many,
runs every item of every parallel loop of XNNPACK and of our kernels on its one thread, and times it. Threads that take
the next item when they have finished one give the time of a loop; what is in no loop runs on one thread. So this says
what the sizes of tiles allow, on a machine with any number of cores, but not what threads cost each other in memory.
Where the pool has several threads, the time that they wait for each other is measured, too.
"""

import argparse
import ctypes
import heapq
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from child import ask
from engines import OURS
from markdown_table import table
from options import positive

ROOT = Path(__file__).resolve().parent.parent
THREADS = "ET_XNNPACK_LOOP_THREADS"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", type=Path, metavar="PROGRAM.pte", help="without any: MobileNetV2")
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2, 4, 8, 16])
    parser.add_argument("--calls", type=positive, default=20, help="the least of so many calls counts for each item")
    parser.add_argument("--trace", type=Path, required=True, help="the library that loop_trace.cpp becomes")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(trace(arguments.programs[0], arguments.calls)))
        return 0
    for program in arguments.programs or [mobilenet_v2()]:
        print(f"# {program.name}\n")
        print(report({n: run(arguments, program, n) for n in arguments.threads}), "\n")
        print(waiting(run(arguments, program, None)), "\n")
    return 0


def mobilenet_v2() -> Path:
    """The program that load.py measures, too."""
    folder = ROOT / "build" / "bench" / "load" / "mobilenet_v2" / OURS
    if not (folder / "model.pte").exists():
        folder.mkdir(parents=True, exist_ok=True)
        ask("load.py", "--prepare", OURS, "mobilenet_v2", folder)
    return folder / "model.pte"


def run(arguments, program: Path, threads: int | None) -> dict:
    """What ``trace`` says in a process of its own, with a pool that pretends to have so many threads."""
    environment = os.environ | {"LD_PRELOAD": str(arguments.trace.resolve())}
    if threads is not None:
        environment[THREADS] = str(threads)
    command = [sys.executable, __file__, str(program), "--child", "--calls", str(arguments.calls)]
    command += ["--trace", str(arguments.trace)]
    return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


def trace(program: Path, calls: int) -> dict:
    """Seconds of a call, and its loops: name, seconds of the pool, of its threads at work, of each item."""
    import torch
    from executorch.backends import et_xnnpack  # noqa: F401
    from executorch.runtime import Runtime

    method = Runtime.get().load_program(program).load_method("forward")
    inputs = [
        torch.zeros(tuple(info.sizes()), dtype=getattr(torch, DTYPES[info.dtype()]))
        for info in (method.metadata.input_tensor_meta(i) for i in range(method.metadata.num_inputs()))
    ]
    loops = ctypes.CDLL(None)
    method.execute(inputs)
    loops.et_xnnpack_forget_loops()
    least = float("inf")
    for _ in range(calls):
        loops.et_xnnpack_next_call()
        start = time.thread_time()
        method.execute(inputs)
        least = min(least, time.thread_time() - start)
    with tempfile.NamedTemporaryFile("r") as file:
        loops.et_xnnpack_write_loops(file.name.encode())
        lines = [line.split() for line in file]
    return {"seconds": least, "loops": [[line[0], *map(float, line[1:])] for line in lines]}


#: By the numbers of ExecuTorch's types.
DTYPES = {4: "int64", 5: "float16", 6: "float32", 11: "bool", 15: "bfloat16"}


def makespan(items: list[float], slowness: list[float]) -> float:
    """When all are done, if each thread takes the next item when it has finished one. ``slowness`` has each thread's
    time for an item, with 1 for that of the thread that was measured."""
    free = [(0.0, times) for times in sorted(slowness)[: len(items)]]  # the fast ones begin
    end = 0.0
    for seconds in items:
        start, times = free[0]
        heapq.heapreplace(free, (start + seconds * times, times))
        end = max(end, start + seconds * times)
    return end


def big_and_little(threads: int) -> list[float]:
    """As the cores of a phone: every other one takes three times as long."""
    return [3.0 if i % 2 else 1.0 for i in range(threads)]


def report(found: dict[int, dict]) -> str:
    rows, worst = [], []
    alone = None
    for threads, traced in found.items():
        loops = [(loop[0].removeprefix("pthreadpool_parallelize_"), loop[3:]) for loop in traced["loops"]]
        work = sum(sum(items) for _, items in loops)
        serial = max(traced["seconds"] - work, 0.0)
        spans = [makespan(items, [1.0] * threads) for _, items in loops]
        uneven = big_and_little(threads)
        ideal = work / sum(1 / times for times in uneven)
        in_use = ideal / sum(makespan(items, uneven) for _, items in loops) if loops else 1.0
        total = serial + sum(spans)
        alone = alone or traced["seconds"]
        rows.append(
            [
                str(threads),
                str(len(loops)),
                str(sum(len(items) < 2 for _, items in loops)),
                str(sum(len(items) < threads for _, items in loops)),
                f"{1e3 * traced['seconds']:.2f}",
                f"{serial / traced['seconds']:.1%}",
                f"{alone / total:.2f}",
                f"{in_use:.0%}",
            ]
        )
        lost = sorted(
            ((span - sum(items) / threads, i) for i, ((_, items), span) in enumerate(zip(loops, spans, strict=True))),
            reverse=True,
        )
        for seconds, i in lost[:3]:
            name, items = loops[i]
            worst.append(
                [str(threads), str(i), name, str(len(items)), f"{1e6 * max(items):.0f}", f"{1e6 * seconds:.0f}"]
            )
    header = ["threads", "loops", "of 1 item", "of fewer items than threads", "ms on one thread", "in no loop"]
    header += ["bound", "uneven cores in use"]
    loss = ["threads", "loop", "kind", "items", "us of the longest item", "us lost"]
    return table(header, rows) + "\n\nThe loops that lose most:\n\n" + table(loss, worst)


def waiting(traced: dict) -> str:
    """What the threads of the real pool do beside work."""
    wall = sum(loop[1] for loop in traced["loops"])
    busy = sum(loop[2] for loop in traced["loops"])
    if not traced["loops"]:
        return "The pool of this machine has one thread: nothing waits."
    return (
        f"{len(traced['loops'])} loops of a call ran on the pool in {1e3 * wall:.2f} ms, its threads together at work "
        f"for {1e3 * busy:.2f} ms."
    )


if __name__ == "__main__":
    sys.exit(main())
