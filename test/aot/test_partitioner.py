# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Which groups of nodes the partitioner makes, and what it reports."""

import harness
import torch
from torch import nn


def lower(function, *inputs):
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


IDS = torch.tensor([[1, 2, 3], [4, 5, 6]])


def test_what_only_a_later_group_reads_is_computed_there():
    lowered = lower(lambda table, ids, w: outside(table, ids).sum(1) / w.sum(1, keepdim=True), IDS, torch.rand(2, 3))
    assert len(lowered.delegates) == 1, str(lowered.report)
    assert lowered.outside == ["aten.scatter_reduce.two"]


def test_what_an_operator_outside_reads_is_computed_before_it():
    def function(table, x):
        indices = (x * 2).to(torch.int64)
        return outside(table, indices) + x.sum()

    lowered = lower(function, torch.rand(1, 3))
    assert len(lowered.delegates) == 2, str(lowered.report)


def test_the_parts_of_a_split_stay_with_it():
    def function(table, ids, x):
        a, b = (x + 1).split(2)
        return outside(table, ids).sum() + a * 2, b

    lowered = lower(function, IDS, torch.rand(4))
    assert len(lowered.delegates) <= 2, str(lowered.report)


def test_every_operator_outside_has_a_reason():
    def function(table, ids):
        return outside(table * 2, ids)

    lowered = lower(function, IDS)
    assert sorted(lowered.outside) == sorted(r.target for r in lowered.report.refusals), str(lowered.report)
