# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from pathlib import Path


def prepare(module, inputs, folder: Path) -> dict[str, object]:
    import torch

    with torch.no_grad():
        torch.onnx.export(module, inputs, folder / "model.onnx", dynamo=True, verbose=False)
    return {}
