# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What both delegates of ExecuTorch share: its exporter of language models, and the call of a program."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from engines import _executorch

from ..models import Format, LanguageModel

CHUNK = 512  # tokens of a prompt that a call takes at most


def prepare(module: str, options: dict, model: LanguageModel, form: Format, context: int, folder: Path) -> dict:
    """Runs the exporter ``module`` as its users do; the facts tell how long it took and how much memory."""
    options = {
        "base.model_class": model.exporter_class,
        "base.checkpoint": folder.parent.parent / "model.pth",
        "base.params": folder.parent.parent / "params.json",
        "base.metadata": '\'{"get_bos_id": 1, "get_eos_ids": [2]}\'',
        "model.use_kv_cache": True,
        "model.use_sdpa_with_kv_cache": True,
        "model.enable_dynamic_shape": True,
        "export.max_seq_length": min(CHUNK + 1, context),  # a call takes one token less
        "export.max_context_length": context,
        "export.output_name": folder / "model.pte",
        "hydra.run.dir": folder,
        **form.exporter,
        **options,
    }
    command = [sys.executable, "-W", "ignore", "-m", module, *(f"{k}={v}" for k, v in options.items())]
    started = time.perf_counter()
    with open(folder / "export.log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        lines = re.findall(r"^\w*(?:Error|Exception): .*", (folder / "export.log").read_text(errors="replace"), re.M)
        raise RuntimeError(lines[-1] if lines else f"{module} ended with {process.returncode}")
    return {"export_s": time.perf_counter() - started, "export_peak_mb": usage.ru_maxrss / 1e3}


def begin(threads: int) -> None:
    import torch

    torch.set_num_threads(1)  # threads are those of the pool, also in ExecuTorch's own operators
    _executorch.use_threads(threads)


class Session:
    def __init__(self, folder: Path):
        import torch

        self._tensor = torch.tensor
        self._program, method = _executorch.load_method(folder)
        self._call = method.call

    def at(self, position: int) -> None:
        self._position = position

    def step(self, tokens: list[int]) -> None:
        inputs = (self._tensor([tokens]), self._tensor([self._position]))
        (self._last,) = self._call(inputs, clone_outputs=False)
        self._position += len(tokens)

    def scores(self) -> np.ndarray:
        return self._last.float().numpy().flatten()
