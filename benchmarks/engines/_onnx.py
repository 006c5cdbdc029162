# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from pathlib import Path


def prepare(module, inputs, folder: Path) -> dict[str, object]:
    export(module, inputs, folder / "model.onnx")
    return {}


def export(module, inputs, path: Path, external_data: bool = True) -> None:
    """With ``external_data`` weights lie in a file beside ``path``, which tools for quantization may not find."""
    import torch

    with torch.no_grad():
        torch.onnx.export(module, inputs, path, dynamo=True, verbose=False, external_data=external_data)
