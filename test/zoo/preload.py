# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Imports the packages that are there, and fills PyTorch's tables of operators: processes are forked with both."""

import importlib
import logging
import warnings

import faster_export

from . import libraries

libraries.prepare()
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import torch  # noqa: E402

for _name in ("diffusers", "timm", "torchaudio.models", "torchvision", "transformers.integrations.executorch"):
    if libraries.has(_name.partition(".")[0]):
        importlib.import_module(_name)

from . import child, measure  # noqa: E402, F401

torch.set_num_threads(1)  # threads would be missing in processes that are forked
faster_export.patch_torch()
_PROGRAM = torch.export.export(torch.nn.Linear(2, 2).eval(), (torch.zeros(1, 2),))
for _partitioner in (measure.EtXnnpackPartitioner(), measure.XnnpackPartitioner()):
    measure.to_edge_transform_and_lower(_PROGRAM, partitioner=[_partitioner])
child.architectures()
