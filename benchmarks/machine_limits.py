# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs of ours beside what the machine can do at most, measured in the same run.

The limits of a step are its multiply-adds in registers, its operands and results read from memory, and the time of the
smallest step that there is.
"""

import tempfile
from pathlib import Path

import numpy as np
import small_models
from engines import OURS
from markdown_table import table
from worker import Worker

SMALLEST = small_models.SMALL[0].name


def measure(folder: Path, thread_counts) -> dict[int, dict[str, float]]:
    """The limits by number of threads."""
    from executorch.backends.et_xnnpack.aot.cli.worker import Worker as CommandWorker

    smallest = folder / "smallest" / OURS
    smallest.mkdir(parents=True, exist_ok=True)
    worker = Worker(OURS)
    try:
        worker.write_reference(SMALLEST, smallest.parent)
        worker.prepare(SMALLEST, smallest)
    finally:
        worker.close()
    found = {}
    for threads in thread_counts:
        with CommandWorker() as worker:
            found[threads] = worker.limits(threads)
        profile = _profile(smallest.parent, threads)
        found[threads]["step_seconds"] = min(event.milliseconds for event in profile if event.nodes) / 1000
    return found


def steps_of(name: str, folder: Path, threads: int, limits: dict) -> tuple[list[dict], list[dict]]:
    """What the steps of a model add up to, beside the limits; what failed."""
    from click import ClickException
    from executorch.backends.et_xnnpack.aot.cli import roofline

    try:
        events = roofline.relate(_profile(folder, threads), limits)
    except ClickException as error:
        return [], [{"model": name, "engine": OURS, "what": f"profiling: {error.format_message()}"}]
    summary = roofline.summarize(events)
    return [{"model": name, "threads": threads, "events": events, "summary": summary}], []


def _profile(folder: Path, threads: int) -> list:
    """The events of the program of ours in ``folder``, with the inputs that are there."""
    import torch
    from executorch.backends.et_xnnpack.aot.cli import profile
    from executorch.backends.et_xnnpack.aot.cli import program as reader
    from executorch.backends.et_xnnpack.aot.cli.worker import Worker as CommandWorker

    path = str(folder / OURS / "model.pte")
    reference = np.load(folder / "reference.npz")
    inputs = [torch.from_numpy(reference[k]) for k in reference.files if k.startswith("input")]
    with tempfile.TemporaryDirectory() as temporary, CommandWorker() as worker:
        file = str(Path(temporary, "inputs.pt"))
        torch.save(inputs, file)
        arguments = {"inputs": file, "options": {}, "data": None, "threads": threads}
        return profile.take(worker, path, reader.read(path).method("forward"), temporary, **arguments)


# The report -----------------------------------------------------------------------------


def report(results) -> list[str]:
    """For each model the share of the limits that it reaches, which limit that is, and the steps farthest from it."""
    latency = {(r["model"], r["threads"]): r["engines"] for r in results["latency"]}
    rows = []
    for steps in results["steps"]:
        summary = steps["summary"]
        if summary is None:
            continue
        ms = latency[steps["model"], steps["threads"]][OURS]["median_ms"]
        parts = sorted(summary["ms_by_limit"].items(), key=lambda pair: -pair[1])
        rows.append(
            [
                steps["model"],
                steps["threads"],
                f"{summary['limit_ms'] / ms:.0%}",
                ", ".join(f"{name} {part / summary['limit_ms']:.0%}" for name, part in parts),
                "; ".join(_step(event, ms) for event in summary["farthest"]),
            ]
        )
    if not rows:
        return []
    known = [
        f"{threads} thread{'s' * (threads != 1)}: {found['flop_per_second'] / 1e9:.0f} GFLOP/s, "
        f"{found['bytes_read_per_second'] / 1e9:.1f} GB/s read, "
        f"{found['step_seconds'] * 1e6:.2f} microseconds for the smallest step"
        for threads, found in results["limits"].items()
    ]
    return [
        "## Beside the limits of the machine",
        f"{'; '.join(known)}. *of the limits*: the time that all steps would take at theirs, beside that of a call; a "
        "step that is faster, from caches or with fewer multiplications, counts as it is. *farthest*: the steps that "
        "lose the most time, with their share of a call and of their limit.",
        table(["model", "threads", "of the limits", "which", "farthest"], rows),
    ]


def _step(event, ms: float) -> str:
    size = "x".join(map(str, event["sizes"]))
    return f"{event['name']} {size}: {event['ms'] / ms:.0%}, {event['of_limit']:.0%} of {event['bound_by']}"
