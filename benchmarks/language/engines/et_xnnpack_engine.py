# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from engines.et_xnnpack_engine import TITLE

from . import _exporter

__all__ = ["TITLE", "begin", "check", "load", "prepare"]


def check():
    from executorch.backends import et_xnnpack

    if not et_xnnpack.is_available():
        raise RuntimeError("its compiled part is missing: run `make build`")


def prepare(model, form, context, folder):
    return _exporter.prepare("executorch.backends.et_xnnpack.export_llm", {}, model, form, context, folder)


def begin(threads):
    from executorch.backends import et_xnnpack  # noqa: F401 - registers the backend

    _exporter.begin(threads)


def load(folder, form, context):
    return _exporter.Session(folder)
