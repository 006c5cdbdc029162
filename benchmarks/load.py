# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Load time and memory: et_xnnpack beside the official XNNPACK delegate.

Every number comes from a process of its own, and the delegates take turns. Programs are in the page
cache; the largest is that of BERT-base, 434 MB. Memory is what /proc tells: anonymous pages are the
process's own, pages of files are shared and can be dropped. Writes load.json and load.md.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import engines
from child import ask
from engines import OFFICIAL, OURS
from options import add_output, positive
from turns import turns

MODELS = ("mobilenet_v2", "resnet50", "minilm", "bert_base")
LONGEST, SHORT = 512, 128  # tokens, of the model with dynamic sizes
THREADS = 2  # of what is said to load with threads; all else has one


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL")
    parser.add_argument("--rounds", type=positive, default=5, help="processes for each number")
    add_output(parser)
    parser.add_argument("--prepare", nargs=3, metavar=("ENGINE", "MODEL", "FOLDER"), help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=3, metavar=("ENGINE", "WHAT", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.prepare:
        return prepare(*arguments.prepare)
    if arguments.measure:
        return measure(*arguments.measure)

    results = {}
    for model in [*arguments.models, "dynamic"]:
        folders = {}
        for engine in (OURS, OFFICIAL):
            folders[engine] = arguments.output / "load" / model / engine
            folders[engine].mkdir(parents=True, exist_ok=True)
            if not (folders[engine] / "model.pte").exists():
                say(f"{model}: lowering for {engine}")
                ask(__file__, "--prepare", engine, model, folders[engine])
        say(f"{model}: measuring")
        results[model] = measure_model(model, folders, arguments.rounds)
    (arguments.output / "load.json").write_text(json.dumps(results, indent=1))
    text = report(results)
    (arguments.output / "load.md").write_text(text)
    print(text)
    return 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure_model(model: str, folders: dict[str, Path], rounds: int) -> dict:
    kinds = [(OURS, "cold"), (OFFICIAL, "cold")]
    if model != "dynamic":
        kinds += [(OURS, "packed"), (OURS, "warm"), (OFFICIAL, "warm")]
        kinds += [(OURS, "cold threads"), (OFFICIAL, "cold threads"), (OURS, "packed threads")]
        ask(__file__, "--measure", OURS, "packed", folders[OURS])  # writes the file
    if model == "dynamic":
        kinds += [(OURS, "short"), (OFFICIAL, "short")]
    samples = {kind: [] for kind in kinds}
    for order in turns(kinds, rounds):
        for engine, what in order:
            samples[engine, what].append(ask(__file__, "--measure", engine, what, folders[engine]))
    result = {"program_mb": {e: (f / "model.pte").stat().st_size / 1e6 for e, f in folders.items()}}
    for (engine, what), found in samples.items():
        medians = {name: statistics.median(s[name] for s in found) for name in found[0]}
        result[f"{engine} {what}"] = medians
    for what in {w for _, w in samples}:
        if (OURS, what) in samples and (OFFICIAL, what) in samples:
            pairs = list(zip(samples[OURS, what], samples[OFFICIAL, what], strict=True))
            result[f"ratio {what}"] = {
                name: statistics.median(b[name] / o[name] for o, b in pairs if o[name] > 0) for name in pairs[0][0]
            }
    return result


# In a process of its own ----------------------------------------------------------------


def prepare(engine: str, model: str, folder: str) -> int:
    import models
    import torch

    if model == "dynamic":
        module, inputs = models.get("minilm").build(), models.tokens(LONGEST)
        length = torch.export.Dim("length", min=2, max=LONGEST)
        with torch.no_grad():
            exported = torch.export.export(module, inputs, dynamic_shapes=(tuple({1: length} for _ in inputs),))
        engines.get(engine).lower(exported, Path(folder), None)
        inputs = tuple(t[:, :SHORT] for t in inputs)
    else:
        found = models.get(model)
        module, inputs = found.build(), found.example()
        engines.get(engine).prepare(module, inputs, Path(folder))
    torch.save(inputs, Path(folder) / "inputs.pt")
    print("{}")
    return 0


def measure(engine: str, what: str, folder: str) -> int:
    import gc
    import time

    import torch
    from engines import _executorch
    from process_memory import forget_peak, memory

    if engine == OURS:
        from executorch.backends import et_xnnpack

        if what.startswith("packed"):
            et_xnnpack.set_option("packed_cache_path", str(Path(folder) / "packed"))
    inputs = torch.load(Path(folder) / "inputs.pt")
    torch.set_num_threads(1)
    _executorch.use_threads(THREADS if what.endswith("threads") else 1)

    def load():
        return _executorch.load_method(Path(folder))

    loaded = load() if what == "warm" else None
    if loaded:  # the process already has packed weights
        loaded[1].call(inputs)
    gc.collect()
    forget_peak()
    before = memory()
    wall, cpu = time.perf_counter(), time.process_time()
    program, method = load()
    result = {"load_ms": (time.perf_counter() - wall) * 1e3, "load_cpu_ms": (time.process_time() - cpu) * 1e3}
    after = memory()
    wall, cpu = time.perf_counter(), time.process_time()
    method.call(inputs)
    result["ready_ms"] = result["load_ms"] + (time.perf_counter() - wall) * 1e3
    result["ready_cpu_ms"] = result["load_cpu_ms"] + (time.process_time() - cpu) * 1e3
    run = memory()
    start = before["RssAnon"] + before["RssFile"]
    result["peak_loading_mb"] = after["VmHWM"] - start
    result["anonymous_mb"] = after["RssAnon"] - before["RssAnon"]
    result["file_mb"] = after["RssFile"] - before["RssFile"]
    result["peak_with_run_mb"] = run["VmHWM"] - start
    result["run_mb"] = run["RssAnon"] - before["RssAnon"]
    result["resident_mb"] = run["RssAnon"] + run["RssFile"] - start
    result["activations_mb"] = run["RssAnon"] - after["RssAnon"]
    print(json.dumps(result))
    return 0


# The report -----------------------------------------------------------------------------


def report(results) -> str:
    from markdown_table import table

    rows = []
    for model, r in results.items():
        if f"{OURS} packed" not in r:
            continue
        ours, base, packed, warm = (
            r[k] for k in (f"{OURS} cold", f"{OFFICIAL} cold", f"{OURS} packed", f"{OURS} warm")
        )
        threads, base_threads, packed_threads = (
            r[f"{k} threads"]["load_ms"] for k in (f"{OURS} cold", f"{OFFICIAL} cold", f"{OURS} packed")
        )
        rows.append(
            [
                model,
                f"{r['program_mb'][OURS]:.0f}",
                f"{ours['load_ms']:.0f} / {base['load_ms']:.0f}",
                f"{1 / r['ratio cold']['load_cpu_ms']:.2f}",
                f"{warm['load_ms']:.1f} / {r[f'{OFFICIAL} warm']['load_ms']:.1f}",
                f"{packed['load_ms']:.1f} ({ours['load_ms'] / packed['load_ms']:.1f}x)",
                f"{ours['ready_ms']:.0f} / {base['ready_ms']:.0f}, {packed['ready_ms']:.0f}",
                f"{threads:.0f} / {base_threads:.0f}, {packed_threads:.1f}",
                f"{ours['peak_loading_mb']:.0f} / {base['peak_loading_mb']:.0f}",
                " / ".join(f"{e['anonymous_mb']:.0f} + {e['file_mb']:.0f}" for e in (ours, base)),
                f"{ours['peak_with_run_mb']:.0f} / {base['peak_with_run_mb']:.0f}",
                f"{ours['activations_mb']:.1f}",
                f"{ours['resident_mb'] / (r['program_mb'][OURS] + ours['activations_mb']):.2f}",
            ]
        )
    headers = [
        "model",
        "program MB",
        "cold load ms",
        "cold CPU ratio",
        "warm load ms",
        "load with packed file ms",
        "load and first call ms: cold, packed file",
        f"load with {THREADS} threads: cold, packed file",
        "peak MB while loading",
        "MB after load: own + of files",
        "peak MB with first run",
        "MB the first run adds",
        "MB after it / (program + those)",
    ]
    parts = ["# Loading: ours / official", table(headers, rows)]
    if "dynamic" in results:
        r = results["dynamic"]
        pair = [f"{r[f'{e} short']['activations_mb']:.1f}" for e in (OURS, OFFICIAL)]
        parts.append(f"MiniLM for up to {LONGEST} tokens, MB that the first call of {SHORT} takes: {' / '.join(pair)}")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
