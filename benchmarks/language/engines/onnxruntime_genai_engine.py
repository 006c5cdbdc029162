# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import importlib.util
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

TITLE = "ONNX Runtime GenAI"


def check():
    try:
        import onnxruntime_genai  # noqa: F401
    except ImportError as error:
        raise RuntimeError(f"there is no onnxruntime-genai: {error}") from error


def prepare(model, form, context, folder):
    """Its own builder makes the model, from a folder as published for transformers, with its best options for CPUs."""
    from ..transformers_folder import write_folder

    if form.onnx is None:
        raise RuntimeError(f"its builder has no {form.title} for CPUs")
    source = folder / "source"
    write_folder(model, folder.parent.parent / "model.pth", source)
    options = ["prune_lm_head=true", "hf_token=false"]
    builder = Path(importlib.util.find_spec("onnxruntime_genai").origin).parent / "models" / "builder.py"
    command = [sys.executable, "-W", "ignore", builder, "-i", source, "-o", folder]
    command += ["-p", form.onnx, "-e", "cpu", "-c", folder / "cache", "--extra_options", *options]
    started = time.perf_counter()
    with open(folder / "export.log", "w") as log:
        done = subprocess.run(list(map(str, command)), stdout=log, stderr=subprocess.STDOUT)
    for made in source, folder / "cache":
        shutil.rmtree(made, ignore_errors=True)
    if done.returncode != 0:
        lines = (folder / "export.log").read_text(errors="replace").strip().splitlines()
        raise RuntimeError(lines[-1] if lines else f"its builder ended with {done.returncode}")
    return {"export_s": time.perf_counter() - started}


def begin(threads):
    import onnxruntime_genai  # noqa: F401

    global _threads
    _threads = threads


class Session:
    def __init__(self, folder, context):
        import onnxruntime_genai as genai

        config = genai.Config(str(folder))
        options = {"intra_op_num_threads": _threads, "inter_op_num_threads": 1}
        config.overlay(json.dumps({"model": {"decoder": {"session_options": options}}}))
        self._model = genai.Model(config)
        parameters = genai.GeneratorParams(self._model)
        parameters.set_search_options(max_length=context, do_sample=False)
        self._generator = genai.Generator(self._model, parameters)

    def at(self, position):
        """Its attention looks at the tokens that are there, so they must have been computed."""
        from ._exporter import CHUNK

        while (known := self._generator.token_count()) < position:
            self.step([1] * min(CHUNK, position - known))
        if known > position:
            self._generator.rewind_to(position)

    def step(self, tokens):
        self._generator.append_tokens(tokens)

    def scores(self):
        return self._generator.get_logits()[0, -1].copy()


def load(folder, form, context):
    return Session(folder, context)
