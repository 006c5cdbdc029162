# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Passes keep the meaning of random graphs, and what they do once they need not do again."""

import math

import interpreter
import numpy as np
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import Builder, Range, dims
from executorch.backends.et_xnnpack.aot.passes import PIPELINE, optimize
from executorch.backends.et_xnnpack.aot.passes.choose_layout import choose_layout
from executorch.backends.et_xnnpack.aot.passes.drop_unused import drop_unused
from executorch.backends.et_xnnpack.aot.traits.loops import penalty
from executorch.backends.et_xnnpack.aot.verify import check_interface, verify
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.schema import (
    BinaryKind,
    Clamp,
    Padding2D,
    ReduceKind,
    Size2D,
    UnaryKind,
)
from hypothesis import given, settings
from hypothesis import strategies as st

BATCH = dims.symbol("s0")
BATCHES = (1, 3)
SIZES = (1, 2, 3, BATCH)
UNARY = (UnaryKind.Abs, UnaryKind.Neg, UnaryKind.Sigmoid, UnaryKind.Tanh, UnaryKind.Copy)
BINARY = (BinaryKind.Add, BinaryKind.Sub, BinaryKind.Mul, BinaryKind.Maximum)


class Grower:
    """Adds random nodes to a graph, each reading what is there already."""

    def __init__(self, draw):
        self.draw = draw
        self.b = Builder({"s0": Range(1, 4, 2)})
        self.tensors = []

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def number(self, low, high):
        return self.draw(st.integers(low, high))

    def constant(self, shape):
        seed = self.number(0, 99)
        values = np.random.default_rng(seed).integers(-2, 3, shape)
        return self.b.constant(values.astype(np.float32))

    def input(self):
        shape = self.draw(st.lists(st.sampled_from(SIZES), min_size=1, max_size=4))
        value = self.b.value(schema.DType.Float32, shape, "x")
        self.b.input(value)
        self.tensors.append(value)

    def grow(self):
        x = self.pick(*self.tensors)
        made = getattr(self, self.pick(*OPERATORS))(x)
        if made is not None and 0 < made.rank <= 5:
            self.tensors.append(made)

    def axis(self, x):
        return self.number(0, x.rank - 1)

    def unary(self, x):
        return self.b.node(schema.Unary(kind=self.pick(*UNARY)), x, shape=x.shape)

    def clamp(self, x):
        attributes = schema.Unary(kind=UnaryKind.Clamp, clamp=self.pick(Clamp(0.0, math.inf), Clamp(-1.0, 1.0)))
        return self.b.node(attributes, x, shape=x.shape)

    def binary(self, x):
        same = [t for t in self.tensors if t.shape == x.shape]
        attributes = schema.Binary(kind=self.pick(*BINARY))
        return self.b.node(attributes, x, self.pick(*same), shape=x.shape)

    def broadcast(self, x):
        rank = self.number(0, x.rank)
        shape = [d if isinstance(d, int) and self.pick(True, False) else 1 for d in x.shape[x.rank - rank :]]
        operands = [x, self.constant(shape)]
        if self.pick(True, False):
            operands.reverse()
        return self.b.node(schema.Binary(kind=self.pick(*BINARY)), *operands, shape=x.shape)

    def gate(self, x):
        """x times its mean over some axes, of lower rank if it can be."""
        axes = tuple(i for i in range(x.rank) if i == 0 or self.pick(True, False))
        shape = [1 if i in axes else d for i, d in enumerate(x.shape)]
        mean = self.b.node(schema.Reduce(kind=ReduceKind.Mean, axes=axes, keep_dims=True), x, shape=shape)
        if self.pick(True, False):
            mean = self.b.reshape(mean, shape[1:])
        return self.b.node(schema.Binary(kind=BinaryKind.Mul), mean, x, shape=x.shape)

    def transpose(self, x):
        return self.b.transpose(x, self.draw(st.permutations(range(x.rank))))

    def merge_axes(self, x):
        if x.rank < 2:
            return None
        i = self.number(0, x.rank - 2)
        return self.b.reshape(x, (*x.shape[:i], x.shape[i] * x.shape[i + 1], *x.shape[i + 2 :]))

    def squeeze(self, x):
        return self.b.reshape(x, [d for d in x.shape if d != 1])

    def unsqueeze(self, x):
        i = self.number(0, x.rank)
        return self.b.reshape(x, (*x.shape[:i], 1, *x.shape[i:]))

    def expand(self, x):
        shape = (self.pick(1, 2), *(2 if d == 1 and self.pick(True, False) else d for d in x.shape))
        return self.b.node(schema.Expand(shape=shape), x, shape=shape)

    def concat(self, x):
        axis = self.axis(x)
        shape = (*x.shape[:axis], dims.simplify(2 * x.shape[axis]), *x.shape[axis + 1 :])
        same = [t for t in self.tensors if t.shape == x.shape]
        return self.b.node(schema.Concat(axis=axis), x, self.pick(*same), shape=shape)

    def slice(self, x):
        axis = self.axis(x)
        if not isinstance(x.shape[axis], int):
            return None
        start = self.number(0, x.shape[axis] - 1)
        size = self.number(1, x.shape[axis] - start)
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        return self.b.node(schema.Slice(axis=axis, start=start, size=size), x, shape=shape)

    def pad(self, x):
        before, after = (tuple(self.pick(0, 0, 1) for _ in x.shape) for _ in range(2))
        shape = [i + d + j for i, d, j in zip(before, x.shape, after, strict=True)]
        attributes = schema.Pad(before=before, after=after, value=self.pick(0.0, 1.0))
        return self.b.node(attributes, x, shape=shape)

    def reduce(self, x):
        axis = self.axis(x)
        keep = self.pick(True, False)
        shape = [1 if i == axis else d for i, d in enumerate(x.shape) if keep or i != axis]
        attributes = schema.Reduce(kind=ReduceKind.Mean, axes=(axis,), keep_dims=keep)
        return self.b.node(attributes, x, shape=shape)

    def softmax(self, x):
        return self.b.node(schema.Softmax(axis=self.axis(x)), x, shape=x.shape)

    def layer_norm(self, x):
        return self.b.node(schema.LayerNorm(axes=1, epsilon=1.0), x, shape=x.shape)

    def linear(self, x):
        if not isinstance(x.shape[-1], int):
            return None
        size = self.number(1, 3)
        return self.b.node(schema.Linear(), x, self.constant((size, x.shape[-1])), shape=(*x.shape[:-1], size))

    def matmul(self, x):
        if x.rank < 2 or (x.rank == 2 and self.pick(True, False)):
            return None
        other = [t for t in self.tensors if t.rank == x.rank and t.shape[:-2] == x.shape[:-2]]
        other = [t for t in other if t.shape[-2] == x.shape[-1]]
        if not other:
            return None
        y = self.pick(*other)
        return self.b.node(schema.BatchMatMul(), x, y, shape=(*x.shape[:-1], y.shape[-1]))

    def convolution(self, x):
        """As lowering makes it of an NCHW image."""
        if x.rank != 4 or not isinstance(x.shape[1], int):
            return None
        outputs = self.number(1, 3)
        kernel, pad = self.pick((1, 0), (3, 1))
        weight = self.constant((outputs, kernel, kernel, x.shape[1]))
        attributes = schema.Conv2d(stride=Size2D(1, 1), padding=Padding2D(*[pad] * 4), dilation=Size2D(1, 1))
        image = self.b.transpose(x, (0, 2, 3, 1))
        y = self.b.node(attributes, image, weight, shape=(*image.shape[:3], outputs))
        return self.b.transpose(y, (0, 3, 1, 2))


_HELPERS = ("pick", "number", "constant", "input", "grow", "axis")
OPERATORS = [n for n in vars(Grower) if n not in _HELPERS and not n.startswith("_")]


@st.composite
def graphs(draw):
    grower = Grower(draw)
    for _ in range(grower.number(1, 2)):
        grower.input()
    for _ in range(grower.number(1, 14)):
        grower.grow()
    for value in grower.tensors[-1:] + [grower.pick(*grower.tensors)]:
        grower.b.output(value)
    return grower.b.build()


def arguments(graph, batch):
    generator = torch.Generator().manual_seed(0)
    shapes = [graph.values[i.value].shape for i in graph.inputs]
    return [torch.randn([dims.evaluate(d, {"s0": batch}) for d in shape], generator=generator) for shape in shapes]


def assert_same(before, after):
    verify(after)
    check_interface(before, after)
    for batch in BATCHES:
        inputs = arguments(before, batch)
        expected, actual = interpreter.run(before, inputs), interpreter.run(after, inputs)
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4, equal_nan=True)


def layout_cost(graph):
    """The elements that layout makes the graph move."""
    total = 0
    for node in graph.nodes:
        value = graph.values[node.outputs[0]]
        passes = 1 if node.op == "Transpose" else penalty(node, tuple(range(value.rank)))
        total += passes * dims.evaluate(dims.numel(value.shape), {"s0": 4})
    return total


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_pipeline_keeps_the_meaning(graph):
    assert_same(graph, optimize(graph))


@pytest.mark.parametrize("run", dict.fromkeys(PIPELINE), ids=lambda run: run.__name__)
@settings(max_examples=25, deadline=None)
@given(graphs())
def test_pass_keeps_the_meaning(run, graph):
    assert_same(graph, run(graph))


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_layout_costs_less_and_settles(graph):
    graph = drop_unused(graph)
    once = choose_layout(graph)
    assert layout_cost(once) <= layout_cost(graph)
    assert layout_cost(choose_layout(once)) == layout_cost(once)
