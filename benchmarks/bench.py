# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Latency of whole models: et_xnnpack beside the official XNNPACK delegate and other engines.

Each engine runs in a process of its own. The engines take turns, in an order that rotates, so that
whatever else the machine does meets all of them; each result is compared with eager PyTorch first.
Writes results.json, results.md and ratios.svg.
"""

import argparse
import hashlib
import importlib.metadata
import json
import os
import platform
import statistics
import sys
from pathlib import Path

import engines
import machine_limits
import models
import numpy as np
import published_models
from engines import OFFICIAL, OURS, TOLERANCE
from markdown_table import table
from options import add_output, positive, with_published
from rich.console import Console
from rich.progress import Progress
from turns import turns
from worker import Worker

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

console = Console(stderr=True, highlight=False)


def main() -> int:
    arguments = parse_arguments()
    folder = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    facts, rows, errors, steps = {}, [], [], []
    known_limits = machine_limits.measure(folder, arguments.threads)
    with Progress(console=console) as progress:
        task = progress.add_task("", total=len(arguments.models) * (len(arguments.threads) + 1))
        for name in arguments.models:
            progress.update(task, description=f"{name}: preparing")
            facts[name], failed = prepare(models.get(name), arguments.engines, folder, arguments.fresh)
            errors += failed
            progress.advance(task)
            for threads in arguments.threads:
                progress.update(task, description=f"{name}: {threads} thread(s)")
                row, failed = measure(name, list(facts[name]), folder, threads, arguments)
                rows.append({"model": name, "threads": threads, "engines": row})
                errors += failed
                if OURS in row:
                    found, failed = machine_limits.steps_of(name, folder / name, threads, known_limits[threads])
                    steps += found
                    errors += failed
                progress.advance(task)
    results = {
        "machine": machine(),
        "versions": versions(),
        "product_speed": {threads: product_speed(threads) for threads in arguments.threads},
        "limits": known_limits,
        "steps": steps,
        "flop": {name: _flop(folder / name) for name, prepared in facts.items() if prepared},
        "programs": facts,
        "latency": rows,
        "errors": errors,
    }
    (folder / "results.json").write_text(json.dumps(results, indent=1))
    text = report(results)
    (folder / "results.md").write_text(text)
    plot(results, folder / "ratios.svg")
    print(text)
    console.print(f"Written: {os.path.relpath(folder)}/results.json, results.md, ratios.svg")
    wrong = [e for r in rows for e, v in r["engines"].items() if e == OURS and v["difference"] > TOLERANCE]
    return 1 if wrong or any(e["engine"] == OURS for e in errors) else 0


def parse_arguments() -> argparse.Namespace:
    usual = [m.name for m in models.MODELS]
    published = [m.name for m in published_models.PUBLISHED]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models",
        nargs="+",
        choices=[*usual, *published, "published"],
        default=usual,
        metavar="MODEL",
        help=f"{', '.join(usual)}; with the packages of the zoo also published, which are {', '.join(published)}",
    )
    parser.add_argument(
        "--engines",
        nargs="+",
        choices=engines.NAMES,
        default=list(engines.NAMES),
        metavar="ENGINE",
        help=", ".join(engines.NAMES),
    )
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=positive, default=15, help="turns of each engine")
    parser.add_argument("--calls", type=positive, default=5, help="timed calls in a turn; 2 more warm up")
    parser.add_argument("--seconds", type=float, default=30, help="no new round of a model after this time")
    add_output(parser)
    parser.add_argument("--fresh", action="store_true", help="prepare all programs again")
    arguments = parser.parse_args()
    arguments.models = with_published(arguments.models, published)
    return arguments


# Programs -------------------------------------------------------------------------------


def prepare(model, names, folder: Path, fresh: bool) -> tuple[dict, list]:
    """The programs of every engine that can have one, made unless nothing they depend on changed."""
    facts, errors = {}, []
    where = folder / model.name.replace("/", "_")
    where.mkdir(exist_ok=True)
    for name in names:
        target = where / name
        target.mkdir(exist_ok=True)
        notes = target / "facts.json"
        current = fingerprint(name)
        try:
            known = json.loads(notes.read_text())
        except (OSError, ValueError):
            known = {}
        if fresh or known.get("fingerprint") != current:
            worker = Worker(name)
            try:
                worker.write_reference(model.name, where)
                known = {"fingerprint": current, **worker.prepare(model.name, target)}
                notes.write_text(json.dumps(known))
            except RuntimeError as error:
                errors.append({"model": model.name, "engine": name, "what": f"preparing: {error}"})
                continue
            finally:
                worker.close()
        facts[name] = known
    return facts, errors


def fingerprint(engine: str, *more: Path) -> str:
    """Changes when a package, the source of the benchmark with the files ``more``, or of our lowering does."""
    digest = hashlib.sha256()
    files = [HERE / "models.py", HERE / "worker.py", *sorted((HERE / "engines").glob("*.py")), *more]
    if engine == OURS:
        files += sorted((ROOT / "aot").rglob("*.py")) + sorted((ROOT / "serialization").glob("*.*"))
    for file in files:
        if file.is_file():
            digest.update(file.read_bytes())
    digest.update(json.dumps(versions()).encode())
    return digest.hexdigest()


_PACKAGES = ("torch", "executorch", "onnxruntime", "openvino", "nncf", "onnx", "onnxscript", "transformers")


def versions(names: tuple[str, ...] = _PACKAGES) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


# Measuring ------------------------------------------------------------------------------


def measure(model: str, names: list[str], folder: Path, threads: int, arguments) -> tuple[dict, list]:
    workers, row, errors = {}, {}, []
    try:
        for name in names:
            workers[name] = Worker(name)
            try:
                load_ms, difference = workers[name].load(model, folder / model / name, threads)
                row[name] = {"load_ms": load_ms, "difference": difference, "samples": []}
            except RuntimeError as error:
                errors.append({"model": model, "engine": name, "what": f"running: {error}"})
                workers.pop(name).close()
        for order in turns(workers, arguments.rounds, arguments.seconds):
            for name in order:
                row[name]["samples"] += workers[name].time(2, arguments.calls)
    finally:
        for worker in workers.values():
            worker.close()
    for value in row.values():
        samples = value.pop("samples")
        value["median_ms"] = statistics.median(samples)
        value["min_ms"] = min(samples)
        value["calls"] = len(samples)
    return row, errors


def product_speed(threads: int) -> float:
    worker = Worker("eager")
    try:
        return worker.product_speed(threads)
    finally:
        worker.close()


def _flop(folder: Path) -> int:
    return int(np.load(folder / "reference.npz")["flop"])


# The report -----------------------------------------------------------------------------


def machine() -> dict[str, object]:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [s.partition(":")[2].strip() for s in info.read_text().splitlines() if s.startswith("model name")]
        cpu = lines[0] if lines else cpu
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"cpu": cpu, "cpus": os.cpu_count(), "system": platform.system(), "load_at_end": load}


def report(results) -> str:
    parts = ["# Latency of whole models", _method(results), _summary(results), *machine_limits.report(results)]
    for threads in sorted({r["threads"] for r in results["latency"]}):
        parts.append(
            f"## {threads} thread{'s' * (threads != 1)}: median ms of a call (times faster than {_title(OFFICIAL)})"
        )
        rows = [_latency_row(r) for r in results["latency"] if r["threads"] == threads]
        parts.append(
            table(
                ["model", *(_title(n) for n in _columns(results))],
                [[row.get(c, "") for c in ("model", *_columns(results))] for row in rows],
            )
        )
    parts.append("## Programs")
    parts.append(
        table(
            [
                "model",
                "input",
                "delegate calls: ours",
                "official",
                "ops outside: ours",
                "official",
                "lowering s: ours",
                "official",
            ],
            [_program_row(name, facts) for name, facts in results["programs"].items()],
        )
    )
    parts.append("## Largest difference from eager PyTorch, relative to the largest value")
    parts.append(
        table(
            ["model", *(_title(n) for n in _columns(results))],
            [
                [
                    r["model"],
                    *(f"{r['engines'][n]['difference']:.1e}" if n in r["engines"] else "" for n in _columns(results)),
                ]
                for r in results["latency"]
                if r["threads"] == results["latency"][0]["threads"]
            ],
        )
    )
    if results["errors"]:
        parts.append("## Engines that failed")
        parts += [
            f"- {e['model']}, {_title(e['engine'])}: `{e['what'].strip().splitlines()[-1]}`" for e in results["errors"]
        ]
    return "\n\n".join(parts) + "\n"


def _method(results) -> str:
    found, m = results["versions"], results["machine"]
    packages = ", ".join(f"{k} {v}" for k, v in found.items())
    return (
        f"{m['cpu']}, {m['cpus']} CPUs, {m['system']}. float32, batch 1. {packages}. Each engine in its own process, "
        "in turns; medians. Take the ratios: times hold for this machine only."
    )


def _summary(results) -> str:
    """How many times faster et_xnnpack is than each other engine, at each number of threads, and how near the limit."""
    counts = sorted({r["threads"] for r in results["latency"]})
    others = [n for n in _columns(results) if n != OURS]
    lines = []
    for name in results["programs"]:
        found = {r["threads"]: r["engines"] for r in results["latency"] if r["model"] == name}
        if any(OURS not in row for row in found.values()):
            continue
        ms = {threads: row[OURS]["median_ms"] for threads, row in found.items()}
        speed = {threads: results["flop"][name] / ms[threads] * 1e3 for threads in counts}
        ratios = [
            " / ".join(f"{found[t][n]['median_ms'] / ms[t]:.2f}" if n in found[t] else "-" for t in counts)
            for n in others
        ]
        share = " / ".join(f"{speed[t] / results['product_speed'][t]:.0%}" for t in counts)
        lines.append([name, " / ".join(f"{ms[t]:.1f}" for t in counts), *ratios, share])
    threads = " / ".join(map(str, counts))
    peak = " / ".join(f"{results['product_speed'][t] / 1e9:.0f}" for t in counts)
    headers = ["model", "ms", *(f"x {_title(n)}" for n in others), "of a matrix product's GFLOP/s"]
    return (
        f"et_xnnpack with {threads} threads: the time of a call, how many times as fast as the others that is, and the "
        "floating point operations a second of linear layers, convolutions and attention beside those of one "
        f"large matrix product (1024 x 1024, eager PyTorch: {peak} GFLOP/s).\n\n" + table(headers, lines)
    )


def _columns(results) -> list[str]:
    present = {n for r in results["latency"] for n in r["engines"]}
    return [n for n in engines.NAMES if n in present]


def _latency_row(row) -> dict[str, str]:
    base = row["engines"].get(OFFICIAL, {}).get("median_ms")
    cells = {"model": row["model"]}
    for name, value in row["engines"].items():
        ms = value["median_ms"]
        cells[name] = f"{ms:.2f}" + (f" ({base / ms:.2f}x)" if base and name != OFFICIAL else "")
    return cells


def _program_row(name: str, facts) -> list[object]:
    ours, official = facts.get(OURS, {}), facts.get(OFFICIAL, {})
    pair = (ours, official)
    return [
        name,
        models.get(name).note,
        *(f.get("calls", "") for f in pair),
        *(sum(f["outside"].values()) if "outside" in f else "" for f in pair),
        *(f"{f['seconds']:.1f}" if f else "" for f in pair),
    ]


def _title(name: str) -> str:
    return engines.get(name).TITLE


def plot(results, path: Path) -> None:
    """How many times faster than the base each engine is, one panel for each number of threads."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    counts = sorted({r["threads"] for r in results["latency"]})
    names = [n for n in _columns(results) if n != OFFICIAL]
    figure, axes = plt.subplots(
        1,
        len(counts),
        sharey=True,
        squeeze=False,
        layout="constrained",
        figsize=(5 * len(counts), 0.55 * len(results["programs"]) + 1.5),
    )
    height = 0.8 / max(len(names), 1)
    for axis, threads in zip(axes[0], counts, strict=True):
        rows = [r for r in results["latency"] if r["threads"] == threads and OFFICIAL in r["engines"]]
        for k, name in enumerate(names):
            points = [(i + k * height, r) for i, r in enumerate(rows) if name in r["engines"]]
            ratios = [r["engines"][OFFICIAL]["median_ms"] / r["engines"][name]["median_ms"] for _, r in points]
            axis.barh([y for y, _ in points], ratios, height, label=_title(name))
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set_yticks([i + 0.4 - height / 2 for i in range(len(rows))], [r["model"] for r in rows])
        axis.set_title(f"{threads} thread{'s' * (threads != 1)}")
        axis.set_xlabel(f"times as fast as {_title(OFFICIAL)}")
    axes[0][0].invert_yaxis()
    axes[0][-1].legend()
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())
