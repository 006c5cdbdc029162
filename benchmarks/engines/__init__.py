# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is compared. Each module offers the same three names::

    TITLE                             what tables call it
    prepare(module, inputs, folder)   ahead of time; writes files into ``folder``, returns facts for the table
    load(folder, threads)             -> call(inputs) -> outputs, lists of arrays; ``call`` is what is timed

Delegates of ExecuTorch take exported programs of any number format; others make their own of the model in float32::

    lower(exported, folder, config, **runtime_options)             of DELEGATES, returns facts as ``prepare`` does; only
                                                                   et_xnnpack has options
    convert(module, inputs, folder, scheme, calibration)           for the number formats in SCHEMES; ``calibration`` is
                                                                   a list of inputs

Nothing heavy is imported before ``prepare`` or ``load`` runs: a process that measures one engine
loads no other.
"""

import importlib
from types import ModuleType

OURS, OFFICIAL = "et_xnnpack", "official"
DELEGATES = (OFFICIAL, OURS)
#: In the order of the columns. What the others are divided by comes first.
NAMES = (*DELEGATES, "onnxruntime", "openvino", "eager")
#: How far a result of float32 may be from that of eager PyTorch, relative to the largest value.
TOLERANCE = 1e-4


def get(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}_engine")
