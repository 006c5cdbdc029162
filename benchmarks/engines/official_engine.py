# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from . import _executorch

TITLE = "official XNNPACK"


def _partitioners():
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return [XnnpackPartitioner()]


def prepare(module, inputs, folder):
    return _executorch.prepare(module, inputs, folder, _partitioners())


def lower(exported, folder, config):
    return _executorch.lower(exported, folder, _partitioners(), config)


load = _executorch.load
