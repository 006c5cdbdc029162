# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of matrix products."""

import itertools

import torch
from torch import nn

from . import BATCH, LENGTH, Sample, new, rand


class WithConstant(nn.Module):
    """``function`` of the inputs and one constant tensor."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function = function
        self.constant = nn.Parameter(torch.randn(shape))

    def forward(self, *inputs):
        return self.function(*inputs, self.constant)


class TiedTwice(nn.Module):
    """One weight in two layers."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x):
        return self.layer(torch.relu(self.layer(x)))


def _mlp(*sizes):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers)


def _addmm(**options):
    return lambda bias, a, b: torch.addmm(bias, a, b, **options)


SAMPLES = [
    Sample("linear", new(nn.Linear, 7, 5), rand(3, 7)),
    Sample("linear_no_bias", new(nn.Linear, 7, 5, bias=False), rand(3, 7)),
    Sample("linear_decomposed", new(nn.Linear, 7, 5), rand(2, 3, 7), preserve=False),
    Sample("linear_rank1", new(nn.Linear, 7, 5), rand(7)),
    Sample("linear_rank3", new(nn.Linear, 7, 5), rand(2, 3, 7)),
    Sample("linear_rank5", new(nn.Linear, 7, 5), rand(2, 1, 2, 3, 7)),
    Sample("linear_one_output", new(nn.Linear, 64, 1), rand(3, 64)),
    Sample("linear_dynamic", new(nn.Linear, 7, 5), rand(BATCH, 7)),
    Sample("linear_dynamic_sequence", new(nn.Linear, 16, 32), rand(BATCH, LENGTH, 16)),
    Sample("linear_runtime_weight", torch.nn.functional.linear, rand(3, 7), rand(5, 7), rand(5)),
    Sample("linear_runtime_weight_rank3", torch.nn.functional.linear, rand(2, 3, 7), rand(5, 7)),
    Sample("linear_shared", new(TiedTwice), rand(3, 8)),
    Sample("mlp", new(_mlp, 20, 40, 30, 10), rand(BATCH, 20)),
    Sample("mm", torch.mm, rand(3, 7), rand(7, 5)),
    Sample("mm_constant", new(WithConstant, torch.mm, 7, 5), rand(3, 7)),
    Sample("mm_constant_first", new(WithConstant, lambda x, w: torch.mm(w, x), 5, 7), rand(7, 3)),
    Sample("mm_transposed_constant", new(WithConstant, lambda x, w: x @ w.t(), 5, 7), rand(3, 7)),
    Sample("mm_transposed", lambda a, b: a @ b.t(), rand(3, 7), rand(5, 7)),
    Sample("mm_dynamic", torch.mm, rand(BATCH, LENGTH), rand(LENGTH, 5)),
    Sample("addmm", torch.addmm, rand(5), rand(3, 7), rand(7, 5)),
    Sample("addmm_constant", new(WithConstant, lambda b, x, w: torch.addmm(b, x, w), 7, 5), rand(5), rand(3, 7)),
    Sample("addmm_matrix", torch.addmm, rand(3, 5), rand(3, 7), rand(7, 5)),
    Sample("addmm_scaled", _addmm(beta=0.5, alpha=2), rand(5), rand(3, 7), rand(7, 5)),
    Sample("addmm_without_bias", _addmm(beta=0), rand(5), rand(3, 7), rand(7, 5)),
    Sample("bmm", torch.bmm, rand(2, 3, 7), rand(2, 7, 5)),
    Sample("bmm_constant", new(WithConstant, torch.bmm, 2, 7, 5), rand(2, 3, 7)),
    Sample("bmm_dynamic", torch.bmm, rand(BATCH, LENGTH, 7), rand(BATCH, 7, LENGTH)),
    Sample("baddbmm", torch.baddbmm, rand(2, 3, 5), rand(2, 3, 7), rand(2, 7, 5)),
    Sample("matmul_rank4", torch.matmul, rand(2, 3, 4, 7), rand(2, 3, 7, 5)),
    Sample("matmul_rank5", torch.matmul, rand(2, 1, 3, 4, 7), rand(2, 1, 3, 7, 5)),
    Sample("matmul_rank6", torch.matmul, rand(2, 1, 2, 3, 4, 7), rand(2, 1, 2, 3, 7, 5)),
    Sample("matmul_decomposed", torch.matmul, rand(2, 3, 4, 7), rand(2, 3, 7, 5), preserve=False),
    Sample("matmul_broadcast", torch.matmul, rand(2, 1, 4, 7), rand(3, 7, 5)),
    Sample("matmul_rank3_by_rank2", torch.matmul, rand(2, 4, 7), rand(7, 5)),
    Sample("matmul_rank2_by_rank3", torch.matmul, rand(4, 7), rand(2, 7, 5)),
    Sample("matmul_rank3_by_constant", new(WithConstant, torch.matmul, 7, 5), rand(BATCH, 4, 7)),
    Sample("matmul_vectors", torch.matmul, rand(7), rand(7)),
    Sample("matmul_vector_by_matrix", torch.matmul, rand(7), rand(7, 5)),
    Sample("matmul_matrix_by_vector", torch.matmul, rand(3, 7), rand(7)),
    Sample("matmul_batch_by_vector", torch.matmul, rand(2, 3, 7), rand(7)),
    Sample("matmul_vector_by_constant", new(WithConstant, torch.matmul, 7, 5), rand(7)),
    Sample("matmul_scores", lambda q, k: q @ k.transpose(-2, -1), rand(BATCH, 2, LENGTH, 8), rand(BATCH, 2, LENGTH, 8)),
    Sample("mv", torch.mv, rand(3, 7), rand(7)),
    Sample("dot", torch.dot, rand(7), rand(7)),
    Sample("matmul_empty_inner", torch.matmul, rand(3, 0), rand(0, 5)),
]
