# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``preprocess`` reads the user's weights where they are."""

import copy

import pytest
import torch
from blocks import Residual, conv
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.backend import EtXnnpackBackend
from executorch.exir import to_edge, to_edge_transform_and_lower
from torch import nn


class Tokens(nn.Module):
    """Weights that are folded, transposed, used twice or not at all, and a state."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 24)
        self.rnn = nn.LSTM(24, 16, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.scale = nn.Parameter(torch.rand(16, 16))
        self.register_buffer("count", torch.zeros(1, 4, 16))

    def forward(self, ids):
        x = self.norm(self.rnn(self.embedding(ids))[0])
        self.count.add_(x)
        return x @ (self.scale * 2 + 1) @ self.scale + self.count


MODELS = {
    "images": (
        lambda: nn.Sequential(
            conv(3, 16, 3), Residual(conv(16, 16, 3), conv(16, 16, 1)), nn.Conv2d(16, 8, 3, groups=4)
        ),
        lambda: (torch.rand(1, 3, 12, 11),),
    ),
    "tokens": (Tokens, lambda: (torch.arange(4)[None],)),
    "bfloat16": (
        lambda: nn.Sequential(nn.Linear(32, 80), nn.GELU(), nn.Linear(80, 7)).bfloat16(),
        lambda: (torch.rand(3, 32).bfloat16(),),
    ),
}


@pytest.fixture(params=MODELS)
def exported(request):
    model, inputs = MODELS[request.param]
    torch.manual_seed(0)
    return torch.export.export(model().eval(), inputs())


def test_the_copy_shares_tensors_and_nothing_else(exported):
    program = to_edge(exported).exported_program()
    other = EtXnnpackBackend.copy_exported_program_for_preprocess(program, [])
    assert other.graph_module is not program.graph_module and other.graph is not program.graph
    for copied, original in ((other.state_dict, program.state_dict), (other.constants, program.constants)):
        assert copied is not original and copied.keys() == original.keys()
        assert all(copied[name] is original[name] for name in original)
    assert program.state_dict


def test_lowering_changes_no_weight(exported):
    tensors = {**exported.state_dict, **exported.constants}
    before = copy.deepcopy(tensors)
    to_edge_transform_and_lower(
        exported, partitioner=[EtXnnpackPartitioner(require_full_delegation=True)]
    ).to_executorch()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, before[name]), name


def test_a_program_has_the_weights_of_when_it_was_lowered(exported):
    before, after = (to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()]) for _ in range(2))
    expected = before.to_executorch().buffer
    with torch.no_grad():
        for tensor in filter(torch.is_floating_point, exported.state_dict.values()):  # others stay with ExecuTorch
            tensor.add_(1)
    assert after.to_executorch().buffer == expected
