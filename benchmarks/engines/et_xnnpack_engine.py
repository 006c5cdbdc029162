# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from . import _executorch

TITLE = "et_xnnpack"


def _partitioners(**runtime_options):
    from executorch.backends.et_xnnpack import EtXnnpackPartitioner

    return [EtXnnpackPartitioner(runtime_options=runtime_options)]


def prepare(module, inputs, folder):
    return _executorch.prepare(module, inputs, folder, _partitioners())


def lower(exported, folder, config, **runtime_options):
    return _executorch.lower(exported, folder, _partitioners(**runtime_options), config)


def load(folder, threads):
    from executorch.backends import et_xnnpack

    if not et_xnnpack.is_available():
        raise RuntimeError("The compiled part of et_xnnpack is missing: run `make build`.")
    return _executorch.load(folder, threads)
