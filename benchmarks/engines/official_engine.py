# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from . import _executorch

TITLE = "official XNNPACK"


def prepare(module, inputs, folder):
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    return _executorch.prepare(module, inputs, folder, XnnpackPartitioner())


load = _executorch.load
