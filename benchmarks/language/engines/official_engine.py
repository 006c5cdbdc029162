# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from engines.official_engine import TITLE

from . import _exporter

__all__ = ["TITLE", "begin", "check", "load", "prepare"]


def check():
    pass


def prepare(model, form, context, folder):
    options = {
        "backend.xnnpack.enabled": True,
        "backend.xnnpack.extended_ops": True,
        "backend.xnnpack.enable_bf16": form.cache_bits == 16,
    }
    return _exporter.prepare("executorch.extension.llm.export.export_llm", options, model, form, context, folder)


def begin(threads):
    import executorch.kernels.quantized  # noqa: F401 - registers the operators of quantized embeddings
    from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401 - and those of caches

    _exporter.begin(threads)


def load(folder, form, context):
    return _exporter.Session(folder)
