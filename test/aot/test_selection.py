# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is delegated where the user says so."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime
from partitions import partition
from torch import nn


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y = self.norm(x)
        return x + F.scaled_dot_product_attention(y, y, y)


def test_blocked_operators_stay_outside():
    report, outside = partition(block_operators=["aten.gelu"])
    assert outside == {"aten.gelu.default": 3}
    assert {r.reason for r in report.refusals} == {"its operator is in block_operators"}


def test_an_operator_also_stands_for_what_it_is_decomposed_into():
    _, outside = partition(block_operators=["aten.linear.default"])
    assert set(outside) == {"aten.permute_copy.default", "aten.addmm.default"}


def test_only_allowed_operators_are_delegated():
    report, _ = partition(allow_operators=["aten.linear", "aten.ad*"])
    assert {t for targets in report.delegated for t in targets} == {"aten.linear.default", "aten.add.Tensor"}


def test_blocked_modules_stay_outside_with_all_that_is_in_them():
    report, outside = partition(block_modules=["layers.1"])
    assert sorted(outside) == ["aten.addmm.default", "aten.gelu.default", "aten.permute_copy.default"]
    assert len(report.delegated) == 2


def test_only_allowed_modules_are_delegated():
    report, _ = partition(allow_modules=["layers.?"])
    assert {t for targets in report.delegated for t in targets} == {"aten.linear.default", "aten.gelu.default"}


def test_operators_stay_whole_beside_others_of_their_kind_that_do_not(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(Attention(), Attention(), Attention()).eval()
    exported = torch.export.export(
        model, (torch.rand(2, 2, 6, 8),), dynamic_shapes=({0: torch.export.Dim("batch", max=2)},)
    )
    partitioner = EtXnnpackPartitioner(block_modules=["1"])
    lowered = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    delegated = [target for group in partitioner.report.delegated for target in group]
    assert delegated.count("aten.scaled_dot_product_attention.default") == 2
    assert delegated.count("aten.layer_norm.default") == 2
    nodes = [node for node in lowered.exported_program().graph.nodes if node.op == "call_function"]
    outside = " ".join(str(node.target) for node in nodes)
    assert "aten.bmm.default" in outside and "aten.native_layer_norm.default" in outside
    assert "et_xnnpack" not in outside and "scaled_dot_product" not in outside
    path = tmp_path / "model.pte"
    path.write_bytes(lowered.to_executorch().buffer)
    method = Runtime.get().load_program(path).load_method("forward")
    for batch in (2, 1):
        x = torch.rand(batch, 2, 6, 8)
        torch.testing.assert_close(method.execute((x,))[0], model(x))
