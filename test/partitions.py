# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What tests of the partitioner lower."""

import harness
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, count_delegation
from executorch.exir import to_edge_transform_and_lower
from torch import nn

IDS = torch.tensor([[1, 2, 3], [4, 5, 6]])
X = torch.rand(2, 4)


def lower(function, *inputs) -> harness.Lowered:
    """The program of a function of a table, 10 rows of 4 floats, and of ``inputs``."""

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.rand(10, 4))

        def forward(self, *args):
            return function(self.table, *args)

    return harness.lower_exported(torch.export.export(Module().eval(), inputs))


def outside(table, ids):
    """An operator that is not delegated."""
    return table.scatter_reduce(0, ids, table, "mean")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.GELU()) for _ in range(3)])
        self.norm = nn.LayerNorm(4)

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return self.norm(x)


def partition(**options):
    """The report for an encoder, the lowered program and its outputs, compared with eager."""
    module = Encoder().eval()
    partitioner = EtXnnpackPartitioner(**options)
    manager = to_edge_transform_and_lower(torch.export.export(module, (X,)), partitioner=[partitioner])
    calls, outside = count_delegation(manager.exported_program())
    assert calls == len(partitioner.report.delegated)
    assert sum(outside.values()) == len(partitioner.report.refusals)
    return partitioner.report, outside
