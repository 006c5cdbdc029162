# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Number formats: file size, latency and accuracy of each, et_xnnpack beside the official delegate and other engines.

Both delegates lower the same exported program; the others quantize the same model with the same inputs for calibration.
Each runs in a process of its own; programs take turns. Accuracy is relative to eager PyTorch in float32, on inputs that
are random but fixed, for MiniLM on sentences. Writes quantized.json and quantized.md after each model.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
from pathlib import Path

import numpy as np
from bench import machine, versions
from engines import OURS
from options import add_output, positive, with_published
from quantized_programs import (
    CALIBRATION,
    IMAGES,
    INPUTS,
    MODELS,
    PUBLISHED,
    SCHEMES,
    SENTENCES,
    USUAL,
    facts_of,
    program_folder,
    reference_file,
)
from quantized_report import ENGINES, report
from turns import turns
from worker import Worker

SLOW_MS = 2000  # a program that takes longer is called once, and its accuracy is left out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--models",
        nargs="+",
        choices=[*MODELS, "published"],
        default=list(USUAL),
        metavar="MODEL",
        help=f"{', '.join(USUAL)}; with the packages of the zoo also published, which are {', '.join(PUBLISHED)}",
    )
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES), metavar="SCHEME")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--threads", nargs="+", type=positive, default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=positive, default=15, help="turns of each program")
    parser.add_argument("--seconds", type=float, default=20, help="no new round of a model after this time")
    add_output(parser)
    parser.add_argument("--fresh", action="store_true", help="lower all programs again")
    arguments = parser.parse_args()
    arguments.models = with_published(arguments.models, PUBLISHED)
    if OURS not in arguments.engines:
        arguments.engines.insert(0, OURS)
    if "fp32" not in arguments.schemes:  # what all others are divided by
        arguments.schemes.insert(0, "fp32")

    rows = []
    for model in arguments.models:
        folder = arguments.output / "quantized" / model
        schemes = [s for s in arguments.schemes if SCHEMES[s].images or model not in IMAGES]
        facts = {s: facts_of(model, s, folder, arguments.engines, arguments.fresh) for s in schemes}
        print(f"{model}: measuring", file=sys.stderr, flush=True)
        rows += measure(model, facts, folder, arguments)
        results = {"machine": machine(), "versions": versions(), "rows": rows}
        (arguments.output / "quantized.json").write_text(json.dumps(results, indent=1))
        text = report(results)
        (arguments.output / "quantized.md").write_text(text)
    print(text)
    return 0


# Measuring ------------------------------------------------------------------------------


def measure(model: str, facts: dict, folder: Path, arguments) -> list[dict]:
    """One row for each scheme: what is known of each engine's program."""
    expected = _results(folder / "expected.npz")
    masks = _masks(model, folder)
    rows = {s: {"model": model, "scheme": s, **{e: dict(facts[s].get(e, {})) for e in ENGINES}} for s in facts}
    for scheme, row in rows.items():
        if reference_file(folder, scheme).exists():
            row["pytorch"] = _accuracy(model, _results(reference_file(folder, scheme)), expected, masks)
    for threads in arguments.threads:
        with contextlib.ExitStack() as stack:
            workers = {e: stack.enter_context(contextlib.closing(Worker(e))) for e in arguments.engines}
            programs, slow = [], {}
            for scheme, row in rows.items():
                for engine, worker in workers.items():
                    if "megabytes" not in row[engine]:
                        continue
                    try:
                        where = program_folder(folder, scheme, engine)
                        worker.load(model, where, threads)
                        (once,) = worker.time(0, 1, where)
                        if once > SLOW_MS:
                            slow[scheme, engine] = [[once]]
                            continue
                        if "sqnr" not in row[engine]:
                            actual = worker.run(where, folder / "inputs.npz")
                            row[engine].update(_accuracy(model, actual, expected, masks))
                        programs.append((scheme, engine))
                    except RuntimeError as error:
                        row[engine]["error"] = f"running: {str(error).strip().splitlines()[-1][:200]}"
            times = _times(workers, programs, folder, arguments) | slow
            for (scheme, engine), rounds in times.items():
                row = rows[scheme][engine]
                row[f"ms_{threads}"] = statistics.median(t for r in rounds for t in r)
                if base := times.get(("fp32", engine)):
                    pairs = zip(base, rounds, strict=False)  # a slow one has a single round
                    row[f"speed_{threads}"] = statistics.median(min(b) / min(r) for b, r in pairs)
    return list(rows.values())


def _results(path: Path) -> list:
    return [a for _, a in sorted(np.load(path).items(), key=lambda pair: int(pair[0][4:]))]


def _times(workers, programs, folder: Path, arguments) -> dict:
    """Milliseconds of calls by program and round."""
    times = {p: [] for p in programs}
    for order in turns(programs, arguments.rounds, arguments.seconds):
        for scheme, engine in order:
            times[scheme, engine].append(workers[engine].time(1, 3, program_folder(folder, scheme, engine)))
    return times


def _masks(model: str, folder: Path) -> list:
    """Which positions of each result count."""
    if model != "minilm":
        return [None] * (INPUTS + CALIBRATION)
    inputs = np.load(folder / "inputs.npz")
    return [inputs[f"{i}_1"].astype(bool) for i in range(len(SENTENCES))]


def _accuracy(model: str, actual, expected, masks) -> dict[str, float]:
    """On all inputs but those for calibration, which the sentences are too few for."""
    count = len(expected) if model == "minilm" else INPUTS
    same, total, signal, noise, cosines = 0, 0, 0.0, 0.0, []
    for a, e, mask in zip(actual[:count], expected[:count], masks, strict=False):
        a, e = (x.astype(np.float64) if mask is None else x[mask].astype(np.float64) for x in (a, e))
        agrees = a.argmax(-1) == e.argmax(-1)
        same, total = same + agrees.sum(), total + agrees.size
        signal, noise = signal + (e**2).sum(), noise + ((a - e) ** 2).sum()
        if mask is not None:
            u, v = a.mean(0), e.mean(0)
            cosines.append(float(u @ v / np.linalg.norm(u) / np.linalg.norm(v)))
    found = {"top1": float(same / total), "sqnr": float(10 * np.log10(signal / max(noise, 1e-300)))}
    return found | ({"cosine": min(cosines), "mean_cosine": statistics.mean(cosines)} if cosines else {})


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sys.exit(main())
