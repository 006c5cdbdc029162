# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ExecuTorch's Inspector compares what operators compute inside of the delegate with eager PyTorch."""

import flatbuffers
import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.serialization import schema_generated as schema
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib
from harness import needs_runtime, only_delegate
from numeric_gaps import gaps

pytestmark = needs_runtime


class Model(torch.nn.Module):
    """Images in NHWC, also from one convolution to the next, a permutation, a batch norm that is folded, operators that
    share a pass."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3)
        self.norm = torch.nn.BatchNorm2d(8)
        self.second = torch.nn.Conv2d(8, 6, 3)
        self.third = torch.nn.Conv2d(6, 6, 1)
        self.linear = torch.nn.Linear(6, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x)))
        y = self.third(self.second(y)).flatten(2).permute(0, 2, 1)
        y = torch.softmax(self.linear(y), -1)
        return torch.sin(y) * torch.cos(y)


EXAMPLE = (torch.rand(2, 3, 9, 8),)


@pytest.fixture(scope="module")
def lowered():
    """The program, and the blob in it."""
    torch.manual_seed(0)
    model = Model().eval()
    model.norm.running_mean.uniform_(-1, 1)
    model.norm.running_var.uniform_(0.5, 2)
    shapes = {"x": {0: torch.export.Dim("batch", min=1, max=4)}}
    exported = torch.export.export(model, EXAMPLE, dynamic_shapes=shapes)
    manager = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()], generate_etrecord=True)
    blob = only_delegate(manager).processed_bytes
    return manager.to_executorch(), blob


def with_softmax_over(axis: int, blob: bytes) -> bytes:
    graph = schema.GraphT.InitFromObj(schema.Graph.GetRootAs(blob))
    (softmax,) = (node for node in graph.nodes if isinstance(node.attributes, schema.SoftmaxT))
    softmax.attributes.axis = axis
    builder = flatbuffers.Builder(4096)
    builder.Finish(graph.Pack(builder), blob[4:8])
    return bytes(builder.Output())


def test_every_result_is_that_of_eager_pytorch(lowered, tmp_path):
    found = gaps(lowered[0], EXAMPLE, tmp_path)
    assert list(found) == [
        "aten_relu_default",
        "aten_convolution_default_1",
        "aten_convolution_default_2",
        "aten_linear_default",
        "aten__softmax_default",
        "aten_mul_tensor",
    ]
    assert max(found.values()) < 1e-3


def test_the_operator_that_computes_something_else_is_found(lowered, tmp_path):
    program, right = lowered
    wrong = with_softmax_over(1, right)
    assert len(wrong) == len(right) and program.buffer.count(right) == 1
    found = gaps(program, EXAMPLE, tmp_path, buffer=program.buffer.replace(right, wrong))
    assert [name for name, gap in found.items() if gap > 1e-3] == ["aten__softmax_default", "aten_mul_tensor"]


class TwoResults(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x):
        y = self.first(x)
        return torch.softmax(self.second(y), -1), y


def test_a_delegate_with_two_results(tmp_path):
    inputs = (torch.rand(2, 8),)
    exported = torch.export.export(TwoResults().eval(), inputs)
    manager = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()], generate_etrecord=True)
    found = gaps(manager.to_executorch(), inputs, tmp_path)
    assert list(found) == ["aten_linear_default", "aten_linear_default_1", "aten__softmax_default"]
    assert max(found.values()) < 1e-3


def test_nothing_is_recorded_for_those_who_measure(lowered, tmp_path):
    module = portable_lib._load_for_executorch_from_buffer(lowered[0].buffer, enable_etdump=True)
    module.run_method("forward", EXAMPLE)
    module.write_etdump_result_to_file(str(tmp_path / "etdump"))
    blocks = Inspector(etdump_path=str(tmp_path / "etdump")).event_blocks
    inside = [event for block in blocks for event in block.events if event.is_delegated_op]
    assert any("Conv2d" in event.name for event in inside)
    assert not any(event.name.startswith("%") or event.debug_data for event in inside)
