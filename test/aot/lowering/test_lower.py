# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What Edge programs become before any pass."""

import harness
import pytest
import torch
from executorch.backends.et_xnnpack.aot.lowering import Unsupported, lower
from executorch.exir import to_edge
from samples import BATCH, Sample, all_samples, new, rand
from torch import nn

SAMPLES = {s.name: s for s in all_samples()}


def graph(sample):
    (result,) = harness.lower_sample(sample).graphs.values()
    return result


def ops(sample):
    return [n.op for n in graph(sample).nodes]


def test_a_transposed_constant_is_folded():
    assert ops(SAMPLES["mm_transposed_constant"]) == ["Linear"]


def test_the_weight_of_a_convolution_is_permuted_ahead_of_time():
    g = graph(SAMPLES["conv2d"])
    assert [n.op for n in g.nodes] == ["Transpose", "Conv2d", "Transpose"]
    assert g.values[g.nodes[1].inputs[1]].array.shape == (5, 3, 3, 3)


def test_the_bound_of_a_dynamic_size_becomes_its_range():
    (size,) = graph(SAMPLES["relu_dynamic"]).ranges.values()
    assert size.max == BATCH.max


def test_an_input_or_output_with_channels_last_has_a_dim_order():
    g = graph(SAMPLES["channels_last"])
    assert g.inputs[0].dim_order == g.outputs[0].dim_order == (0, 2, 3, 1)
    assert g.values[g.inputs[0].value].shape == (2, 6, 5, 3)


def test_sizes_are_no_arguments():
    assert all(i.value is not None for i in graph(SAMPLES["view_dynamic"]).inputs)


def test_a_batch_norm_is_a_product_and_a_sum():
    assert ops(Sample("bn", new(nn.BatchNorm2d, 3), rand(1, 3, 2, 2))) == ["Binary", "Binary"]


def test_an_operator_that_is_not_taken_is_named():
    program = torch.export.export(Call(), (torch.rand(3), torch.zeros(3, dtype=torch.int64)))
    with pytest.raises(Unsupported, match="mean|no row"):
        lower(to_edge(program).exported_program())


class Call(nn.Module):
    def forward(self, x, index):
        return x.scatter_reduce(0, index, x, "mean")
