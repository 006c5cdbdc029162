# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What instructions of a program read and write."""

import pytest
import torch
from executorch.backends.et_xnnpack.aot.cli import program as programs
from executorch.exir import to_edge
from torch import nn


class Views(nn.Module):
    """The first view takes no instruction; ``cat`` has a list of tensors, and the last operator two results."""

    def forward(self, x):
        y = x.exp().view(2, 8)
        z = torch.cat([-y, y])
        return torch.nn.functional.layer_norm(z, (8,))


@pytest.fixture(scope="module")
def method(tmp_path_factory):
    exported = torch.export.export(Views(), (torch.rand(4, 4),))
    path = tmp_path_factory.mktemp("program") / "views.pte"
    path.write_bytes(to_edge(exported).to_executorch().buffer)
    return programs.read(path).method(None)


def test_flow(method):
    names = [instruction.name for instruction in method.instructions]
    assert [name.split(".")[1] for name in names] == ["exp", "neg", "cat", "native_layer_norm"]
    exp, neg, cat, norm, end = method.flow
    assert [len(flow.writes) for flow in (exp, neg, cat, norm, end)] == [1, 1, 1, 3, 0]
    (made,) = exp.writes
    assert list(neg.reads.values()) == [made] and made not in neg.reads  # by the view of it
    assert sorted(cat.reads.values()) == sorted([made, *neg.writes])
    assert list(norm.reads.values()) == list(cat.writes)
    assert list(end.reads.values()) == [norm.writes[0]]
    assert set(exp.reads) == set(method.inputs)


def test_a_view_keeps_what_lies_in_its_memory(method):
    x = y = 4 * 16
    means = 2 * 4 * 4
    assert method.live_bytes == [x + y, y + y, y + y + 2 * y, 2 * y + 2 * y + means]


class Counts(nn.Module):
    """Positions as far as the input goes, whose size an operator reads that makes no tensor."""

    def forward(self, x):
        return torch.arange(x.shape[0]) + 1


def test_what_reads_a_size_writes_no_tensor(tmp_path):
    shapes = ({0: torch.export.Dim("n", max=9)},)
    exported = torch.export.export(Counts(), (torch.rand(4, 2),), dynamic_shapes=shapes)
    path = tmp_path / "counts.pte"
    path.write_bytes(to_edge(exported).to_executorch().buffer)
    method = programs.read(path).method(None)
    flow = dict(zip((instruction.name for instruction in method.instructions), method.flow, strict=False))
    assert list(flow["aten.sym_size.int"].reads) == list(method.inputs)
    assert flow["aten.sym_size.int"].writes == ()
    assert all(one.writes for name, one in flow.items() if name.startswith("aten.a"))
