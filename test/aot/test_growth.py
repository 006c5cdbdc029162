# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The work of lowering grows as the program does, and so does its memory. Work is counted in calls: time differs from
run to run."""

import gc
import sys
import tracemalloc

import pytest
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.backend import EtXnnpackBackend
from executorch.exir import to_edge_transform_and_lower
from torch import nn


class Layers(nn.Module):
    """As many of a layer as asked for."""

    def __init__(self, count):
        super().__init__()
        self.layers = nn.ModuleList(self.Layer() for _ in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Transformer(Layers):
    x = torch.rand(1, 16, 8)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
            self.conv, self.batch_norm = nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).reshape(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
            y = (q @ k.transpose(-1, -2) * 0.5).softmax(-1) @ v
            x = x + self.out(y.transpose(1, 2).reshape(x.shape))
            y = self.batch_norm(self.conv(x.transpose(1, 2).reshape(-1, 8, 4, 4))).relu()
            y = torch.cat([y[:, :4], y[:, 4:] * 2], 1)
            return x + y.flatten(2).transpose(1, 2)


class HalfTransformer(Transformer):
    x = Transformer.x.bfloat16()

    def __init__(self, count):
        super().__init__(count)
        self.bfloat16()


class DynamicTransformer(Transformer):
    x = torch.rand(2, 16, 8)
    dynamic_shapes = ({0: torch.export.Dim("batch", min=1, max=8)},)


class Recurrent(Layers):
    x = torch.rand(1, 3, 4)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(4, 4, batch_first=True)

        def forward(self, x):
            return x + self.lstm(x)[0]


class States(Layers):
    x = torch.rand(4)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("state", torch.zeros(4))

        def forward(self, x):
            self.state.add_(x)
            return (x + self.state).tanh()


class Positions(Layers):
    x = torch.rand(4)

    class Layer(nn.Module):
        def forward(self, x):
            return x + (100 ** torch.arange(4, dtype=torch.float64)).float()


class Cut(Layers):
    """What is outside lies between any two layers."""

    x = torch.rand(4, 4)

    class Layer(nn.Module):
        def forward(self, x):
            return F.pdist(x).sum() * x + 1


class Collected(Transformer):
    """One operator reads every layer."""

    x = torch.rand(1, 8, 6)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv1d(8, 8, 3, padding=1)

        def forward(self, x):
            a, b = self.conv(x).chunk(2, 1)
            return torch.cat([b.sigmoid(), a], 1)

    def forward(self, x):
        parts = []
        for layer in self.layers:
            x = layer(x)
            parts.append(x.transpose(1, 2)[:, ::2])
        return torch.cat(parts, 2)


class Unrolled(Layers):
    """Every step reads the same weights and the same input."""

    x = torch.rand(2, 4)

    class Layer(nn.Module):
        pass

    def __init__(self, count):
        super().__init__(count)
        self.of_input, self.of_state = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        state = x
        for _ in self.layers:
            state = (self.of_input(x) + self.of_state(state)).tanh()
        return state


class Counter:
    """Counts the calls that functions make, of Python and of C, directly or not."""

    def __init__(self):
        self.calls = 0

    def _count(self, frame, event, argument):
        self.calls += event in ("call", "c_call")

    def counting(self, function):
        def counted(*args, **kwargs):
            outer = sys.getprofile()
            sys.setprofile(self._count)
            try:
                return function(*args, **kwargs)
            finally:
                sys.setprofile(outer)

        return counted


class Memory:
    """The most that one of several functions has in use at once, of what it allocates itself."""

    def __init__(self):
        self.peak = 0

    def measuring(self, function):
        def measured(*args, **kwargs):
            if tracemalloc.is_tracing():  # one of them calls another
                return function(*args, **kwargs)
            tracemalloc.start()
            try:
                return function(*args, **kwargs)
            finally:
                self.peak = max(self.peak, tracemalloc.get_traced_memory()[1])
                tracemalloc.stop()

        return measured


def lower_watched(kind, count, monkeypatch, watched):
    """What is ours of it by way of ``watched``."""
    torch.manual_seed(0)
    exported = torch.export.export(kind(count).eval(), (kind.x,), dynamic_shapes=getattr(kind, "dynamic_shapes", None))
    with monkeypatch.context() as patch:
        for name in "transform_for_pre_decomposition", "ops_to_not_decompose", "partition":
            patch.setattr(EtXnnpackPartitioner, name, watched(getattr(EtXnnpackPartitioner, name)))
        patch.setattr(EtXnnpackBackend, "preprocess", staticmethod(watched(EtXnnpackBackend.preprocess)))
        to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])


def calls_to_lower(kind, count, monkeypatch):
    counter = Counter()
    lower_watched(kind, count, monkeypatch, counter.counting)
    return counter.calls


def memory_to_lower(kind, count, monkeypatch):
    memory = Memory()
    lower_watched(kind, count, monkeypatch, memory.measuring)
    return memory.peak


@pytest.mark.parametrize(
    "kind, count",
    [
        (Transformer, 2),
        pytest.param(HalfTransformer, 2, marks=pytest.mark.large),
        pytest.param(DynamicTransformer, 2, marks=pytest.mark.large),
        pytest.param(Recurrent, 2, marks=pytest.mark.large),
        (States, 12),
        (Positions, 12),
        (Cut, 6),
        (Collected, 6),
        (Unrolled, 12),
    ],
)
def test_four_times_the_program_is_four_times_the_work(kind, count, monkeypatch):
    calls_to_lower(kind, 1, monkeypatch)  # fills the caches of a process
    few, many = (calls_to_lower(kind, n, monkeypatch) for n in (count, 4 * count))
    print(f"{kind.__name__}: {few} calls, {many}, {many / few:.2f}")
    assert many < 4 * few


@pytest.mark.parametrize("kind, count", [(Transformer, 2), pytest.param(Unrolled, 12, marks=pytest.mark.large)])
def test_four_times_the_program_is_four_times_the_memory(kind, count, monkeypatch):
    memory_to_lower(kind, 1, monkeypatch)
    few, many = (memory_to_lower(kind, n, monkeypatch) for n in (count, 4 * count))
    print(f"{kind.__name__}: {few} bytes, {many}, {many / few:.2f}")
    assert many < 4 * few


def test_the_collector_looks_at_young_objects_only(monkeypatch):
    """A full collection visits all that torch.export has made, too, and a large program has many of them."""
    inside, full = [], []

    def watched(function):
        def call(*args, **kwargs):
            inside.append(function)
            try:
                return function(*args, **kwargs)
            finally:
                inside.pop()

        return call

    def collects(phase, information):
        if phase == "start" and information["generation"] == 2:
            full.append(tuple(inside))

    monkeypatch.setattr(EtXnnpackBackend, "preprocess", staticmethod(watched(EtXnnpackBackend.preprocess)))
    monkeypatch.setattr(EtXnnpackPartitioner, "_stable_groups", watched(EtXnnpackPartitioner._stable_groups))
    exported = torch.export.export(Transformer(1).eval(), (Transformer.x,))
    before = gc.get_threshold()
    gc.freeze()
    gc.collect()  # of nothing: a full collection comes when a quarter of what the last one saw is new
    gc.callbacks.append(collects)
    gc.set_threshold(20, 2, 0)
    try:
        to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
        assert gc.get_threshold() == (20, 2, 0)
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collects)
        gc.unfreeze()
    assert full and not any(full)
