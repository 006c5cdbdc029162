# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of matrix products."""

import functools
import itertools

import torch
from torch import nn

from . import BATCH, LENGTH, Argument, Sample, Size, integers, new, rand


class WithConstant(nn.Module):
    """``function`` of the inputs and one constant tensor."""

    def __init__(self, function, *shape):
        super().__init__()
        self.function = function
        self.constant = nn.Parameter(torch.randn(shape))

    def forward(self, *inputs):
        return self.function(*inputs, self.constant)


class WithInt8(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.register_buffer("weight", torch.randint(-128, 128, shape, dtype=torch.int8))

    def forward(self, x):
        return torch._int_mm(x, self.weight)


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


def _addbmm_without_bias(bias, a, b):
    return torch.addbmm(bias, a, b, beta=0, alpha=-1)


def _grouped_mm(x, weight, ends):
    """The operator with which transformers multiplies by the experts of a mixture."""
    try:
        from transformers.integrations import moe  # noqa: F401  (defines it)
    except ImportError:
        _define_grouped_mm()
    return torch.ops.transformers.grouped_mm_fallback(x, weight, ends)


@functools.cache
def _define_grouped_mm():
    @torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
    def grouped_mm(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        y = input.new_zeros(len(input), weight.shape[2])
        for start, end, matrix in zip((0, *offs.tolist()), offs.tolist(), weight, strict=False):
            y[start:end] = input[start:end] @ matrix
        return y

    grouped_mm.register_fake(lambda input, weight, offs: input.new_empty(input.shape[0], weight.shape[2]))


class Grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(4, 6, 7))

    def forward(self, x, ends):
        ends = ends.clamp(max=x.shape[0])
        rows = torch.arange(x.shape[0])[:, None] < ends[-1]  # of others PyTorch says nothing
        return _grouped_mm(x, self.weight.transpose(-2, -1), ends) * rows


_ENDS = Argument((4,), lambda s, g: torch.tensor([2, 2, 4, 5], dtype=torch.int32))


def _halves(*shape):
    return Argument(shape, lambda s, g: torch.rand(s, generator=g).bfloat16())


_DEPTH = Size("depth", 2060, (2060, 1024, 2049, 1025, 8, 1))


def _int8(*shape, low=-128, high=128):
    return integers(*shape, low=low, high=high, dtype=torch.int8)


# Sums beyond 2^24, which Float32 does not hold: of the largest products, too.
_INT_MM = [
    Sample("int_mm", torch._int_mm, _int8(33, 24), _int8(24, 16), rtol=0, atol=0),
    Sample("int_mm_constant", new(WithInt8, 1032, 16), _int8(33, 1032), rtol=0, atol=0),
    Sample("int_mm_deep", torch._int_mm, _int8(17, 3000, low=125), _int8(3000, 16, low=125), rtol=0, atol=0),
    Sample("int_mm_least", torch._int_mm, _int8(17, 3000, high=-126), _int8(3000, 16, high=-127), rtol=0, atol=0),
    Sample("int_mm_dynamic", torch._int_mm, _int8(BATCH, 16), _int8(16, 8), rtol=0, atol=0),
    Sample("int_mm_dynamic_depth", torch._int_mm, _int8(5, _DEPTH, low=100), _int8(_DEPTH, 8, low=90), rtol=0, atol=0),
]


class Expanded(nn.Module):
    """A product with a constant that is expanded."""

    def __init__(self, shape, expanded):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(shape))
        self.expanded = expanded

    def forward(self, x):
        return x @ self.weight.expand(self.expanded)


class Scaled(nn.Module):
    """A product with integers that is multiplied by a constant of any rank."""

    def __init__(self, *shape):
        super().__init__()
        self.register_buffer("weight", torch.randint(-9, 9, (3, 4)).float())
        self.register_buffer("scale", torch.rand(shape))

    def forward(self, x):
        return nn.functional.linear(x, self.weight) * self.scale


SAMPLES = [
    Sample("linear", new(nn.Linear, 7, 5), rand(3, 7)),
    Sample("linear_no_bias", new(nn.Linear, 7, 5, bias=False), rand(3, 7)),
    Sample("linear_decomposed", new(nn.Linear, 7, 5), rand(2, 3, 7), preserve=False),
    Sample("matmul_large_constant", new(WithConstant, torch.matmul, 3, 130, 140), rand(3, LENGTH, 130), atol=1e-4),
    Sample(
        "matmul_large_constant_transposed",
        new(WithConstant, lambda x, w: x @ w.transpose(1, 2), 2, 140, 130),
        rand(2, LENGTH, 130),
        atol=1e-4,
    ),
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
    Sample("addmv", lambda b, a, x: torch.addmv(b, a, x, beta=0.5, alpha=2), rand(3), rand(3, 7), rand(7)),
    Sample("addbmm", torch.addbmm, rand(3, 5), rand(2, 3, 7), rand(2, 7, 5)),
    Sample("addbmm_dynamic", _addbmm_without_bias, rand(3, 5), rand(BATCH, 3, 7), rand(BATCH, 7, 5)),
    Sample("bilinear_form", new(nn.Bilinear, 3, 4, 5), rand(BATCH, 6, 3), rand(BATCH, 6, 4)),
    Sample("bilinear_runtime_weight", torch.nn.functional.bilinear, rand(2, 3), rand(2, 4), rand(5, 3, 4)),
    Sample("grouped_mm", new(Grouped), rand(LENGTH, 7), _ENDS),
    Sample("grouped_mm_runtime_weight", _grouped_mm, rand(5, 7), rand(4, 7, 6), _ENDS),
    Sample("grouped_mm_of_torch", torch._grouped_mm, _halves(5, 8), _halves(4, 8, 16), _ENDS, rtol=0.02, atol=0.02),
    *_INT_MM,
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
    # What is expanded is no matrix that repeats; large enough not to be a constant.
    Sample("matmul_expanded_column", new(Expanded, (512, 1), (2, 512, 64)), rand(2, 3, 512), atol=1e-3),
    Sample("matmul_expanded_columns", new(Expanded, (512, 1), (512, 64)), rand(BATCH, 512), atol=1e-3),
    Sample("matmul_expanded_row", new(Expanded, (1, 64), (2, 512, 64)), rand(2, 3, 512), atol=1e-3),
    Sample("matmul_average", new(Expanded, (1, 1), (256, 256)), rand(3, 256), atol=1e-3),
    Sample("matmul_expanded_matrix", new(Expanded, (512, 64), (2, 512, 64)), rand(2, 3, 512), atol=1e-3),
    Sample("linear_scaled_in_rank3", new(Scaled, 1, 1, 1), rand(2, 4)),
]
