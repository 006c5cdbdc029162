# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Language models in their true shapes: tokens a second, time to the first token, loading, memory.

et_xnnpack beside the official XNNPACK delegate, both as ExecuTorch's exporter writes their programs, llama.cpp and
ONNX Runtime GenAI with weights of as many bits. Weights are random, the same for all. Each engine runs in a process of
its own, they take turns, and the memory bandwidth is measured with each of them. Programs are kept; those of all
models, formats and engines take some 50 GB. Writes llm.json and llm.md after each number of threads.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
from pathlib import Path

import numpy as np
from bench import fingerprint, machine, versions
from engines import OFFICIAL, OURS
from executorch.backends.et_xnnpack.aot.cli.worker import Worker as LimitsWorker
from language import engines, report
from language.engines._exporter import CHUNK
from language.models import FORMATS, MODELS, TRIAL
from language.worker import Worker
from options import add_output, positive
from rich.console import Console
from turns import turns
from worker import CPU_TIME

HERE = Path(__file__).resolve().parent
DECODED = 16  # tokens that are generated in a turn, the last of the context; all before are the prompt
PROBE = 8  # tokens of a call that shows whether a whole prompt takes too long

console = Console(stderr=True, highlight=False)


def main() -> int:
    arguments = parse_arguments()
    arguments.output.mkdir(parents=True, exist_ok=True)
    if arguments.cpu_time:
        os.environ[CPU_TIME] = "1"
    path = arguments.output / "llm.json"
    earlier = json.loads(path.read_text())["rows"] if arguments.add and path.exists() else []
    names, absent = present(arguments.engines)
    rows, errors = [], []
    for model in arguments.models:
        for form in arguments.formats:
            facts, failed = prepare(model, form, names, arguments)
            errors += failed
            for threads in arguments.threads:
                console.print(f"{model}, {form}, {threads} thread{'s' * (threads != 1)}: measuring")
                row, failed = measure(model, form, threads, facts, arguments)
                rows.append(row)
                errors += failed
                write(path, [*_others(earlier, rows), *rows], absent, errors)
            if arguments.discard:
                for name in facts:
                    discard(_folder(arguments, model, form, name))
    print(path.with_suffix(".md").read_text())
    return 1 if any(e["engine"] == OURS for e in errors) else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])

    def choice(name: str, known, default) -> None:
        text = f"{', '.join(known)} (default: {'all' if list(default) == list(known) else ', '.join(default)})"
        parser.add_argument(
            name, nargs="+", choices=list(known), default=list(default), metavar=name[2:-1].upper(), help=text
        )

    choice("--models", MODELS, [m for m in MODELS if m != TRIAL])
    choice("--formats", FORMATS, FORMATS)
    choice("--engines", engines.NAMES, engines.NAMES)
    contexts = "tokens of a prompt and of what is generated; programs are made for the largest"
    parser.add_argument("--contexts", nargs="+", type=positive, default=[128, 2048, 8192], metavar="N", help=contexts)
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=positive, default=5, help="turns of each engine")
    parser.add_argument("--seconds", type=float, default=60, help="no new round of a context after this time")
    parser.add_argument(
        "--chunks",
        type=positive,
        default=3,
        help=f"calls of a long prompt, of {CHUNK} tokens each, that are timed; others are what lies between",
    )
    parser.add_argument(
        "--longest", type=float, default=120, help="seconds that such a call may take to be made at all"
    )
    parser.add_argument("--cpu-time", action="store_true", help="time of the process, on a busy machine")
    add_output(parser)
    parser.add_argument("--fresh", action="store_true", help="make all programs again")
    parser.add_argument("--discard", action="store_true", help="remove each program once it is measured")
    parser.add_argument("--add", action="store_true", help="keep what llm.json has and is not measured again")
    arguments = parser.parse_args()
    arguments.contexts = sorted(set(arguments.contexts))
    if arguments.contexts[0] <= DECODED + PROBE:
        parser.error(f"--contexts: at least {DECODED + PROBE + 1}")
    return arguments


# Programs -------------------------------------------------------------------------------


def present(names: list[str]) -> tuple[list[str], dict[str, str]]:
    """Those that are here, and why the others are not."""
    found, absent = [], dict(engines.ABSENT)
    for name in names:
        with contextlib.closing(Worker(name)) as worker:
            try:
                worker.check()
                found.append(name)
            except RuntimeError as error:
                absent[engines.get(name).TITLE] = last_line(error)
    return found, absent


def last_line(error: Exception) -> str:
    return str(error).strip().splitlines()[-1].removeprefix("RuntimeError: ")


def _folder(arguments, model: str, form: str, engine: str) -> Path:
    return arguments.output / "llm" / model / f"{form}-{max(arguments.contexts)}" / engine


def prepare(model: str, form: str, names: list[str], arguments) -> tuple[dict, list]:
    """What is known of the program of each engine that can have one, made unless nothing changed."""
    facts, errors = {}, []
    for name in names:
        folder = _folder(arguments, model, form, name)
        folder.mkdir(parents=True, exist_ok=True)
        notes = folder / "facts.json"
        current = fingerprint(
            name, HERE / "language" / "models.py", *sorted((HERE / "language" / "engines").glob("*.py"))
        )
        known = json.loads(notes.read_text()) if notes.exists() and not arguments.fresh else {}
        if known.get("fingerprint") != current:
            console.print(f"{model}, {form}: preparing {engines.get(name).TITLE}")
            discard(folder)
            with contextlib.closing(Worker(name)) as worker:
                try:
                    known = {"fingerprint": current, **worker.prepare(model, form, max(arguments.contexts), folder)}
                except RuntimeError as error:
                    errors.append(_error(model, form, name, f"preparing: {last_line(error)}"))
                    continue
            notes.write_text(json.dumps(known))
        facts[name] = known
    return facts, errors


def _error(model: str, form: str, engine: str, what: str) -> dict[str, str]:
    return {"model": model, "format": form, "engine": engine, "what": what}


def discard(folder: Path) -> None:
    for file in folder.iterdir():
        if file.is_file():
            file.unlink()


# Measuring ------------------------------------------------------------------------------


def measure(model: str, form: str, threads: int, facts: dict, arguments) -> tuple[dict, list]:
    row, errors, workers, scores = {}, [], {}, {}
    with contextlib.ExitStack() as stack:
        for name in facts:
            worker = stack.enter_context(contextlib.closing(Worker(name)))
            folder = _folder(arguments, model, form, name)
            try:
                loaded = worker.load(model, form, max(arguments.contexts), folder, threads)
                row[name] = {**facts[name], "loaded": loaded, "contexts": {}}
                row[name]["call"] = longest_call(worker, arguments)
                scores[name] = worker.scores()
                workers[name] = worker
            except RuntimeError as error:
                row.pop(name, None)
                errors.append(_error(model, form, name, f"running: {last_line(error)}"))
        meter = stack.enter_context(LimitsWorker())
        bandwidth = []
        for context in arguments.contexts:
            for name, found in measure_context(context, workers, row, meter, bandwidth, threads, arguments).items():
                row[name]["contexts"][str(context)] = found
    for name in scores:
        if name != OFFICIAL and OFFICIAL in scores:
            row[name]["cosine"] = _cosine(scores[name], scores[OFFICIAL])
    found = {"model": model, "format": form, "threads": threads, "engines": row}
    return {**found, "bytes_per_second": statistics.median(bandwidth)}, errors


def longest_call(worker: Worker, arguments) -> int:
    """Tokens of a prompt that the engine takes at once, or fewer if that took too long."""
    worker.time(0, [1])
    (seconds,) = worker.time(0, [PROBE])
    return CHUNK if seconds * CHUNK / PROBE < arguments.longest else PROBE


def measure_context(context, workers, row, meter, bandwidth, threads, arguments) -> dict[str, dict]:
    """By engine: seconds of steps, of the prompt, and megabytes."""
    steps, calls = {n: [] for n in workers}, {n: {} for n in workers}
    for order in turns(workers, arguments.rounds, arguments.seconds, least=1):
        bandwidth.append(meter.limits(threads)["bytes_read_per_second"])
        for name in order:
            for start, length in timed_calls(context - DECODED, row[name]["call"], arguments.chunks):
                calls[name].setdefault((start, length), []).extend(workers[name].time(start, [length]))
            steps[name] += workers[name].time(context - DECODED, [1] * DECODED)[1:]  # the first one follows a prompt
    return {
        name: {
            "step_s": statistics.median(steps[name]),
            "prompt": context - DECODED,
            "prompt_s": seconds_of_prompt(context - DECODED, {k: statistics.median(v) for k, v in calls[name].items()}),
            **workers[name].memory(),
        }
        for name in workers
    }


def timed_calls(prompt: int, call: int, count: int) -> list[tuple[int, int]]:
    """Start and length of at most ``count`` of the calls that a prompt takes, the first and the last among them."""
    starts = list(range(0, prompt, call))
    chosen = sorted({round(x) for x in np.linspace(0, len(starts) - 1, min(count, len(starts)))})
    return [(starts[i], min(call, prompt - starts[i])) for i in chosen]


def seconds_of_prompt(prompt: int, seconds: dict[tuple[int, int], float]) -> float:
    """Of calls of which some were timed; the time of a token grows evenly between them, as its attention does."""
    call = next(iter(seconds))[1]
    known = [start for start, _ in seconds]
    for_token = [s / length for (_, length), s in seconds.items()]
    starts = np.arange(0, prompt, call)
    lengths = np.minimum(call, prompt - starts)
    return float((np.interp(starts, known, for_token) * lengths).sum())


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a.astype(np.float64), b.astype(np.float64)
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


# Results --------------------------------------------------------------------------------


def _others(earlier: list[dict], rows: list[dict]) -> list[dict]:
    measured = {_key(row) for row in rows}
    return [row for row in earlier if _key(row) not in measured]


def _key(row: dict) -> tuple:
    return row["model"], row["format"], row["threads"]


def write(path: Path, rows: list[dict], absent: dict, errors: list[dict]) -> None:
    packages = versions(("torch", "executorch", "torchao", "llama_cpp_python", "onnxruntime_genai"))
    results = {"machine": machine(), "versions": packages, "cpu_time": CPU_TIME in os.environ}
    results |= {"rows": rows, "absent": absent, "errors": errors}
    path.write_text(json.dumps(results, indent=1))
    path.with_suffix(".md").write_text(report.report(results))


if __name__ == "__main__":
    sys.exit(main())
