# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Values know which Edge node they are the result of, and in what order of axes, whatever passes do with them."""

import dataclasses

import harness
import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import Output, Source, parse
from executorch.backends.et_xnnpack.aot.passes.choose_layout import choose_layout
from torch import nn


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3)
        self.norm = nn.BatchNorm2d(8)
        self.last = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        y = torch.relu(self.norm(self.first(x))) + x.mean()
        return self.last(y).permute(0, 2, 3, 1).softmax(-1), y


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.linear = nn.Linear(16, 8)

    def forward(self, x):
        y = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return torch.tanh(self.linear(y)).transpose(1, 2)


@pytest.mark.parametrize(
    "model, example", [(Images, torch.rand(2, 3, 7, 6)), (Sequence, torch.rand(2, 5, 16))], ids=["images", "sequence"]
)
def test_sources_are_what_edge_nodes_compute(model, example):
    torch.manual_seed(0)
    lowered = harness.lower_exported(torch.export.export(model().eval(), (example,)))
    (name,) = lowered.delegates
    program = lowered.delegates[name].original_module
    expected = {}

    class Recorder(torch.fx.Interpreter):
        def run_node(self, node):
            expected[node.meta.get("debug_handle")] = result = super().run_node(node)
            return result

    constants = [
        program.state_dict.get(target, program.constants.get(target))
        for target in (spec.target for spec in program.graph_signature.input_specs)
        if target is not None
    ]
    Recorder(program.graph_module).run(*constants, example)
    graph = lowered.optimized[name]
    results = [value for value in graph.values.values() if value.source is not None]
    assert len(results) > 4
    values = interpreter.run(dataclasses.replace(graph, outputs=tuple(Output(v.name) for v in results)), [example])
    for result, value in zip(results, values, strict=True):
        right = expected[result.source.debug_handle].permute(result.source.order)
        torch.testing.assert_close(value, right, rtol=1e-4, atol=1e-5)


def test_a_layout_moves_the_order():
    graph = parse("""
        in %x: Float32[1, 2, 8, 9]
        const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
        %t: Float32[1, 8, 9, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[1, 8, 9, 2] = Conv2d(%t, %w) stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)
        %u: Float32[1, 2, 8, 9] = Transpose(%c) perm=(0, 3, 1, 2)
        %a: Float32[1, 2, 8, 9] = Unary(%u) kind=Abs
        %v: Float32[1, 8, 9, 2] = Transpose(%a) perm=(0, 2, 3, 1)
        out %v
    """)
    values = dict(graph.values)
    for handle, name in enumerate("ua", 1):
        values[name] = dataclasses.replace(values[name], source=Source(handle, (0, 1, 2, 3)))
    moved = choose_layout(dataclasses.replace(graph, values=values))
    sources = {v.source.debug_handle: v.source.order for v in moved.values.values() if v.source is not None}
    assert sources == {1: (0, 2, 3, 1), 2: (0, 2, 3, 1)}
