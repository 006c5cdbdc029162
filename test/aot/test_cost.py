# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Arithmetic and traffic of nodes: against PyTorch's own count for products, by hand for the rest."""

import pytest
import torch
from executorch.backends.et_xnnpack.aot.cost import Cost, cost_of, example_size, total
from executorch.exir import to_edge
from torch import nn
from torch.utils.flop_counter import FlopCounterMode


class Attention(nn.Module):
    def forward(self, q, k, v):
        return nn.functional.scaled_dot_product_attention(q, k, v)


class Product(nn.Module):
    def forward(self, a, b, c):
        return torch.addmm(c, a, b), a @ b


def nodes(module, *inputs, **arguments):
    graph = torch.export.export(module.eval(), inputs, **arguments).graph
    return [node for node in graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize(
    "module, inputs",
    [
        (nn.Linear(8, 16), [(3, 5, 8)]),
        (nn.Conv2d(4, 6, 3, groups=2, stride=2), [(1, 4, 9, 7)]),
        (nn.ConvTranspose2d(4, 6, 3, groups=2, stride=2), [(1, 4, 9, 7)]),
        (Product(), [(3, 4), (4, 5), (3, 5)]),
        (Attention(), [(1, 2, 6, 8), (1, 2, 7, 8), (1, 2, 7, 4)]),
    ],
    ids=["linear", "conv2d", "conv_transpose2d", "mm", "attention"],
)
def test_products_are_what_pytorch_counts(module, inputs):
    tensors = [torch.rand(shape) for shape in inputs]
    if isinstance(module, Attention):
        expected = 2 * 2 * 6 * 7 * (8 + 4)
    else:
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            module(*tensors)
        expected = counter.get_total_flops()
    edge = torch.export.export(module.eval(), tuple(tensors)).run_decompositions({})
    assert total(edge.graph.nodes).flop == expected


def test_what_moves_data_costs_traffic_only():
    edge = to_edge(torch.export.export(nn.Flatten(), (torch.rand(2, 3, 4),))).exported_program()
    (node,) = (node for node in edge.graph.nodes if node.op == "call_function")
    assert cost_of(node) == Cost(0, 2 * 4 * 24)


def test_elementwise_and_reductions_cost_one_for_each_element():
    assert [cost_of(n).flop for n in nodes(nn.GELU(), torch.rand(2, 3))] == [6]

    class Sum(nn.Module):
        def forward(self, x):
            return x.sum(0)

    assert [cost_of(n).flop for n in nodes(Sum(), torch.rand(4, 3))] == [12]


def test_dynamic_sizes_are_those_of_the_example():
    batch = {"input": {0: torch.export.Dim("batch", max=64)}}
    (node,) = nodes(nn.Linear(8, 16), torch.rand(5, 8), dynamic_shapes=batch)
    assert cost_of(node).flop == 2 * 5 * 8 * 16
    assert example_size(node.meta["val"].shape[0]) == 5


def test_sizes_read_off_a_tensor_are_the_largest():
    class Slice(nn.Module):
        def forward(self, x, n):
            size = n.item()
            torch._check(size >= 0)
            torch._check(size <= 7)
            return x[:size]

    found = nodes(Slice(), torch.rand(9, 2), torch.tensor(3))
    assert example_size(found[-1].meta["val"].shape[0]) == 7
