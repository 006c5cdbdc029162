# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The packages that architectures come from."""

import functools
import importlib.metadata
import importlib.util
import re
import sys
import types
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_NMS = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def missing() -> list[str]:
    """What of requirements.txt is not installed in the version that it names, as ``name==version``."""
    lines = (re.match(r"([\w.-]+)==([\w.]+)", line) for line in REQUIREMENTS.read_text().splitlines())
    return [found.group(0) for found in lines if found and _version(found.group(1)) != found.group(2)]


def has(name: str) -> bool:
    """Whether the package of an architecture is there, in whatever version."""
    return importlib.util.find_spec(name.partition("/")[0]) is not None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def require() -> None:
    """Raises RuntimeError, which says what to install, if a package is not there."""
    absent = missing()
    if absent:
        how = "make zoo installs it, and pip install --no-deps -r test/zoo/requirements.txt"
        raise RuntimeError(f"the zoo needs {', '.join(absent)}: {how}")


@functools.cache
def prepare() -> None:
    """Makes the packages that are there importable beside a PyTorch for CPUs.

    The wheels of PyPI for torchvision and torchaudio have a compiled part that needs PyTorch for CUDA. Their Python
    part does without, but for the operator ``nms``, which is registered here, and an import.
    """
    import torch

    if torch.version.cuda is not None or not has("torchvision"):
        return
    folder = Path(importlib.util.find_spec("torchvision").origin).parent
    try:
        torch.ops.load_library(str(folder / "_C.so"))
    except OSError:
        for name in ("nms", "qnms"):  # whose shapes torchvision registers
            torch.library.define(f"torchvision::{name}", _NMS)
        torch.library.impl("torchvision::nms", "CPU", _nms)
        _import_torchaudio_without_extension()
        import torchvision

        torchvision.extension._has_ops = lambda: True


def _import_torchaudio_without_extension() -> None:
    module = types.ModuleType("torchaudio._extension")
    module._IS_TORCHAUDIO_EXT_AVAILABLE = module._IS_ALIGN_AVAILABLE = False
    module.fail_if_no_align = lambda function: function
    sys.modules["torchaudio._extension"] = module


def _nms(boxes, scores, iou_threshold):
    """The boxes, best first, that overlap no better one by more than ``iou_threshold``."""
    import torch
    from torchvision.ops import box_iou

    order, kept = scores.argsort(descending=True, stable=True), []
    while order.numel():
        best, order = order[0], order[1:]
        kept.append(best)
        order = order[box_iou(boxes[best][None], boxes[order])[0] <= iou_threshold]
    return torch.stack(kept) if kept else order
