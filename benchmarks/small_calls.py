# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a call of a small model costs from Python and C++, beside the official XNNPACK delegate and ONNX Runtime.

One thread; each engine runs in a process of its own, and they take turns, in an order that rotates. A turn is many
calls that are timed together; the median of all turns counts, and the ratio is the median of those of the turns.
Writes small_calls.json and small_calls.md.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
from pathlib import Path

import engines
import small_models
from bench import machine, prepare, versions
from cpp_worker import CppWorker
from engines import OFFICIAL, OURS, TOLERANCE
from markdown_table import table
from options import absolute, add_output, positive
from turns import turns
from worker import CPU_TIME, Worker

LANGUAGES = ("Python", "C++")
ENGINES = (OURS, OFFICIAL, "onnxruntime")
MODELS = {model.name: model for model in small_models.SMALL}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL")
    parser.add_argument("--rounds", type=positive, default=25, help="turns of each engine")
    parser.add_argument("--calls", type=positive, default=5000, help="calls in a turn")
    parser.add_argument("--cpu-time", action="store_true", help="time of the process, on a busy machine")
    parser.add_argument(
        "--programs", type=absolute, help="folder of the compiled programs; without it from Python alone"
    )
    add_output(parser)
    parser.add_argument("--fresh", action="store_true", help="prepare all programs again")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        os.environ[CPU_TIME] = "1"

    folder = arguments.output / "small"
    folder.mkdir(parents=True, exist_ok=True)
    rows, errors = [], []
    for name in arguments.models:
        facts, failed = prepare(MODELS[name], ENGINES, folder, arguments.fresh)
        errors += failed
        for language in LANGUAGES:
            present = [engine for engine in facts if is_there(language, engine, arguments.programs)]
            if not present:
                continue
            print(f"{name}: measuring from {language}", file=sys.stderr, flush=True)
            found, failed = measure(name, language, present, folder, arguments)
            rows.append({"model": name, "language": language, "engines": found})
            errors += failed
    results = {"machine": machine(), "versions": versions(), "rows": rows, "errors": errors}
    (arguments.output / "small_calls.json").write_text(json.dumps(results, indent=1))
    text = report(results)
    (arguments.output / "small_calls.md").write_text(text)
    print(text)
    wrong = [r for r in rows if r["engines"].get(OURS, {}).get("difference", 0) > TOLERANCE]
    return 1 if wrong or any(e["engine"] == OURS for e in errors) else 0


def is_there(language: str, engine: str, programs: Path | None) -> bool:
    return language == "Python" or (programs is not None and CppWorker.is_there(engine, programs))


def measure(model: str, language: str, names: list[str], folder: Path, arguments) -> tuple[dict, list]:
    """Microseconds a call of each turn, and the difference from eager PyTorch, by engine; what failed."""
    found, errors = {}, []
    with contextlib.ExitStack() as stack:
        workers = {}
        for name in names:
            is_python, where = language == "Python", folder / model / name
            worker = Worker(name) if is_python else CppWorker(name, arguments.programs)
            workers[name] = stack.enter_context(contextlib.closing(worker))
            try:
                difference = worker.load(model, where, 1)[1] if is_python else worker.load(where)
                worker.burst(arguments.calls)  # warms up
                found[name] = {"difference": difference, "turns": []}
            except RuntimeError as error:
                errors.append({"model": model, "engine": name, "what": f"running from {language}: {error}"})
        for order in turns(found, arguments.rounds):
            for name in order:
                found[name]["turns"].append(workers[name].burst(arguments.calls))
    for value in found.values():
        value["median_us"], value["min_us"] = statistics.median(value["turns"]), min(value["turns"])
        if OURS in found:
            pairs = zip(value["turns"], found[OURS]["turns"], strict=True)
            value["ratio"] = statistics.median(one / ours for one, ours in pairs)
    return found, errors


def report(results) -> str:
    m = results["machine"]
    packages = ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    parts = [
        "# Small calls",
        f"{m['cpu']}, {m['cpus']} CPUs, {m['system']}. {packages}. Microseconds a call, one thread; in brackets how "
        "many times as fast et_xnnpack is. Outputs are not copied where an engine lets the caller avoid it.",
    ]
    for language in LANGUAGES:
        of_language = [row for row in results["rows"] if row["language"] == language]
        present = [e for e in ENGINES if any(e in row["engines"] for row in of_language)]
        rows = [
            [row["model"], *(_cell(e, row["engines"][e]) if e in row["engines"] else "-" for e in present)]
            for row in of_language
        ]
        if rows:
            parts += [f"## From {language}", table(["model", *(engines.get(e).TITLE for e in present)], rows)]
    if results["errors"]:
        parts.append("## Engines that failed")
        parts += [f"- {e['model']}, {e['engine']}: `{e['what'].strip().splitlines()[-1]}`" for e in results["errors"]]
    return "\n\n".join(parts) + "\n"


def _cell(engine: str, value) -> str:
    ratio = f" ({value['ratio']:.2f}x)" if engine != OURS and "ratio" in value else ""
    return f"{value['median_us']:.2f}{ratio}"


if __name__ == "__main__":
    sys.exit(main())
