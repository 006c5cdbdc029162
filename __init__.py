# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""et_xnnpack: the CPU delegate for ExecuTorch that takes the whole model."""

import importlib

_LAZY = {
    "EtXnnpackBackend": ".aot.backend",
    "EtXnnpackPartitioner": ".aot.partitioner",
}
__all__ = sorted(_LAZY)


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name], __name__), name)
