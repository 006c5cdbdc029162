# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from . import _executorch

TITLE = "ExecuTorch's kernels"


def prepare(module, inputs, folder):
    return _executorch.prepare(module, inputs, folder, [])


load = _executorch.load
