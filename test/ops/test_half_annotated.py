# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Random quantized networks with something wrong in one or two places: each operator still gives what PyTorch does.

A place is where a value or a weight is rounded. It may lack that, have numbers that differ between quantize and
dequantize, or such as no CPU code takes. Each seed is one network; a failure names it.
"""

import dataclasses
import random

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends import et_xnnpack
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)

_ops = torch.ops.quantized_decomposed
SEEDS = 60


@dataclasses.dataclass(frozen=True)
class Numbers:
    """How integers stand for numbers; ``scale`` and ``zero_point`` are tuples for the indices of ``axis``."""

    scale: float | tuple[float, ...]
    zero_point: int | tuple[int, ...] = 0
    dtype: torch.dtype = torch.int8
    low: int = -128
    high: int = 127
    axis: int = 0

    def _arguments(self):
        rest = self.low, self.high, self.dtype
        if isinstance(self.scale, tuple):
            return torch.tensor(self.scale), torch.tensor(self.zero_point), self.axis, *rest
        return self.scale, self.zero_point, *rest

    def quantize(self, x):
        by_channel = isinstance(self.scale, tuple)
        return (_ops.quantize_per_channel if by_channel else _ops.quantize_per_tensor)(x, *self._arguments())

    def dequantize(self, q):
        by_channel = isinstance(self.scale, tuple)
        return (_ops.dequantize_per_channel if by_channel else _ops.dequantize_per_tensor)(q, *self._arguments())


@dataclasses.dataclass(frozen=True)
class Place:
    """A value that is rounded with some numbers and read with others; None: not at all."""

    quantized: Numbers | None
    dequantized: Numbers | None

    def __call__(self, x):
        return x if self.quantized is None else self.dequantized.dequantize(self.quantized.quantize(x))

    @property
    def quantum(self) -> float:
        return 0.0 if self.dequantized is None else abs(self.dequantized.scale)

    def radius(self, radius):
        """How far results may be apart for operands that are so far apart."""
        if self.quantized is None:
            return radius
        return self.quantum * (torch.floor(radius / abs(self.quantized.scale)) + 1)


@dataclasses.dataclass(frozen=True)
class Step:
    """One operator, on values that earlier steps made, and how it passes on differences of these."""

    name: str
    inputs: tuple[int, ...]
    function: object
    radius: object
    weight: tuple[torch.Tensor, Numbers | None] | None = None


def _draw_numbers(rng, span=4.0):
    scale = span / rng.choice((100, 127, 200))
    return Numbers(scale, rng.choice((0, 0, -5, 17)))


def _by_channel(weight, axis=0):
    peaks = weight.detach().abs().movedim(axis, 0).flatten(1).amax(1).clamp(min=1e-3)
    scales = tuple((peaks / 127).tolist())
    return Numbers(scales, (0,) * len(scales), low=-127, axis=axis)


def _change_numbers(rng, place: Place) -> Place:
    """The place with something wrong."""
    numbers = place.quantized
    change = rng.choice(
        ("drop", "scale", "zero point", "far zero point", "int16", "uint8", "narrow", "tiny", "huge", "both far")
    )
    if change == "drop":
        return Place(None, None)
    if change == "scale":
        return Place(numbers, dataclasses.replace(numbers, scale=numbers.scale * rng.choice((0.5, 1.25, 3))))
    if change == "zero point":
        return Place(numbers, dataclasses.replace(numbers, zero_point=numbers.zero_point + rng.choice((-7, 1))))
    if change == "far zero point":
        return Place(numbers, dataclasses.replace(numbers, zero_point=rng.choice((300, -129, 128))))
    both = {
        "both far": dict(zero_point=rng.choice((300, -129, 128))),
        "int16": dict(dtype=torch.int16, low=-32768, high=32767),
        "uint8": dict(dtype=torch.uint8, low=0, high=255, zero_point=rng.choice((0, 128))),
        "narrow": dict(low=-100, high=90),
        "tiny": dict(scale=1e-30),
        "huge": dict(scale=1e20),
    }[change]
    changed = dataclasses.replace(numbers, **both)
    return Place(changed, changed)


def _change_weight(rng, weight, numbers):
    """Other numbers for a weight; None leaves it in floats."""
    change = rng.choice(
        ("drop", "per tensor", "axis", "zero points", "uint8", "int16", "zero scale", "infinite", "far")
    )
    count = weight.shape[0]
    if change == "drop":
        return None
    if change == "per tensor":
        return Numbers(0.02, rng.choice((0, 3)))
    if change == "axis":
        return _by_channel(weight, 1)
    changes = {
        "zero points": dict(zero_point=tuple(rng.randrange(-9, 9) for _ in range(count))),
        "uint8": dict(dtype=torch.uint8, low=0, high=255, zero_point=(128,) * count),
        "int16": dict(dtype=torch.int16, low=-32768, high=32767),
        "zero scale": dict(scale=(0.0, *numbers.scale[1:])),
        "infinite": dict(scale=(float("inf"), *numbers.scale[1:])),
        "far": dict(zero_point=(300,) * count),
    }[change]
    return dataclasses.replace(numbers, **changes)


class Network(nn.Module):
    """Steps over a list of values, each rounded at its place."""

    def __init__(self, seed: int, changes: int, every: bool):
        super().__init__()
        rng = self.rng = random.Random(seed)
        torch.manual_seed(seed)
        self.every = every  # value is a result
        self.steps: list[Step] = []
        self.changed: set[int] = set()  # steps whose weights are
        self.places = [self._place()]
        self.channels = [4]
        for _ in range(rng.randrange(2, 6)):
            self._add_step()
        if rng.random() < 0.4:
            self._add_head()
        for _ in range(changes):
            self._change()
        for i, step in enumerate(self.steps):
            if step.weight is not None and step.weight[1] is not None:
                self.register_buffer(f"integers{i}", step.weight[1].quantize(step.weight[0].detach()))

    def _place(self, span=4.0):
        numbers = _draw_numbers(self.rng, span)
        return Place(numbers, numbers)

    def _append(self, name, inputs, function, radius, channels, weight=None, span=4.0):
        self.steps.append(Step(name, inputs, function, radius, weight))
        self.places.append(self._place(span))
        self.channels.append(channels)

    def _any(self):
        return self.rng.randrange(len(self.channels))

    def _add_product(self, name, x, shape, function, channels):
        weight, bias = torch.randn(shape) / torch.tensor(shape[1:]).prod().sqrt(), torch.randn(shape[0]) * 0.1
        bias = self.rng.choice((None, bias))

        def radius(w, r):
            return function(r, w.abs(), None)

        self._append(name, (x,), lambda w, v: function(v, w, bias), radius, channels, (weight, _by_channel(weight)))

    def _add_step(self):
        x = self._any()
        channels = self.channels[x]
        kind = self.rng.choice(
            ("conv", "depthwise", "pointwise", "add", "mul", "cat", "max", "mean", "softmax", "relu", "table", "pad")
        )
        if kind == "conv":
            self._add_product(kind, x, (6, channels, 3, 3), lambda v, w, b: F.conv2d(v, w, b, padding=1), 6)
        elif kind == "depthwise":
            shape = (channels, 1, 3, 3)
            self._add_product(kind, x, shape, lambda v, w, b: F.conv2d(v, w, b, padding=1, groups=v.shape[1]), channels)
        elif kind == "pointwise":
            self._add_product(kind, x, (5, channels, 1, 1), lambda v, w, b: F.conv2d(v, w, b), 5)
        elif kind in ("add", "mul"):
            y = self.rng.choice([i for i, c in enumerate(self.channels) if c == channels])
            if kind == "add":
                self._append(kind, (x, y), torch.add, torch.add, channels)
            else:
                self._append(kind, (x, y), torch.mul, None, channels)
        elif kind == "cat":
            y = self._any()
            self._append(
                kind, (x, y), lambda *v: torch.cat(v, 1), lambda *v: torch.cat(v, 1), channels + self.channels[y]
            )
        elif kind == "max":
            self._append(kind, (x,), *[lambda v: F.max_pool2d(v, 3, 1, 1)] * 2, channels)
        elif kind == "mean":
            self._append(kind, (x,), *[lambda v: F.avg_pool2d(v, 3, 1, 1)] * 2, channels)
        elif kind == "softmax":
            self._append(
                kind, (x,), lambda v: F.softmax(v, 1), lambda r: r.amax(1, True).expand(r.shape), channels, span=1
            )
        elif kind == "relu":
            self._append(kind, (x,), F.relu, lambda r: r, channels)
        elif kind == "table":
            self._append(kind, (x,), F.hardswish, lambda r: r * 1.6, channels)
        else:
            self._append(
                kind,
                (x,),
                lambda v: F.pad(v, (1, 1, 0, 2))[:, :, 2:, 1:-1],
                lambda r: F.pad(r, (1, 1, 0, 2))[:, :, 2:, 1:-1],
                channels,
            )

    def _add_head(self):
        x = len(self.channels) - 1
        channels = self.channels[x]
        self._append("global mean", (x,), *[lambda v: v.mean((2, 3))] * 2, channels)
        self._add_product("linear", x + 1, (7, channels), F.linear, 7)

    def _change(self):
        weights = [i for i, step in enumerate(self.steps) if step.weight is not None and i not in self.changed]
        if weights and self.rng.random() < 0.35:
            i = self.rng.choice(weights)
            self.changed.add(i)
            weight, numbers = self.steps[i].weight
            self.steps[i] = dataclasses.replace(
                self.steps[i], weight=(weight, _change_weight(self.rng, weight, numbers))
            )
            return
        i = self.rng.randrange(len(self.places))
        if self.places[i].quantized is not None:
            self.places[i] = _change_numbers(self.rng, self.places[i])

    def weight(self, i):
        weight, numbers = self.steps[i].weight
        return weight if numbers is None else numbers.dequantize(getattr(self, f"integers{i}"))

    def compute(self, i, values):
        """The value of step ``i`` at its place."""
        step = self.steps[i]
        operands = [values[k] for k in step.inputs]
        if step.weight is not None:
            operands.insert(0, self.weight(i))
        return self.places[i + 1](step.function(*operands))

    def values(self, x):
        values = [self.places[0](x)]
        for i in range(len(self.steps)):
            values.append(self.compute(i, values))
        return values

    def forward(self, x):
        values = self.values(x)
        return tuple(values) if self.every else values[-1]

    def radii(self, x):
        """How far each value may be from PyTorch's where each place rounds one step apart."""
        values, radii = self.values(x), [self.places[0].radius(torch.zeros_like(x))]
        for i, step in enumerate(self.steps):
            operands = [radii[k] for k in step.inputs]
            if step.name == "mul":
                (a, b), (s, t) = [values[k] for k in step.inputs], operands
                radius = a.abs() * t + b.abs() * s + s * t
            elif step.weight is not None:
                radius = step.radius(self.weight(i), *operands)
            else:
                radius = step.radius(*operands)
            radii.append(self.places[i + 1].radius(radius + 1e-5))
        return radii


def _lower(seed, every):
    network = Network(seed, changes=1 + seed % 2, every=every).eval()
    x = torch.rand(2, 4, 6, 5, generator=torch.Generator().manual_seed(seed)) * 4 - 2
    with torch.no_grad():
        lowered = harness.lower_exported(torch.export.export(network, (x,)), _check_ir_validity=False)
    return network, x, lowered


def _results(lowered, x):
    for graphs in (lowered.graphs, lowered.optimized):
        yield harness.interpret(lowered, (x,), graphs)
    if et_xnnpack.is_available() and not lowered.outside:
        yield harness.load_method(lowered.buffer).execute((x,))


def _assert_near(actual, expected, radius, what):
    wrong = expected.isfinite() & ~((actual - expected).abs() <= radius + 1e-4 + 1e-4 * expected.abs())
    wrong |= ~expected.isfinite() & ~((actual == expected) | (actual.isnan() & expected.isnan()))
    assert not wrong.any(), f"{what}: {actual[wrong][:5]} instead of {expected[wrong][:5]}"


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_operator_is_within_one_step(seed):
    network, x, lowered = _lower(seed, every=True)
    assert not lowered.outside or lowered.report.refusals
    assert all(refusal.reason for refusal in (*lowered.report.refusals, *lowered.report.float_fallbacks))
    for values in _results(lowered, x):
        values = [v.clone() for v in values]
        with torch.no_grad():
            _assert_near(values[0], network.places[0](x), network.places[0].quantum * 1.001, "input")
            for i, step in enumerate(network.steps):
                expected = network.compute(i, values)
                _assert_near(values[i + 1], expected, network.places[i + 1].quantum * 1.001, f"{i}, {step.name}")


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(SEEDS))
def test_the_result_is_within_the_steps_before(seed):
    network, x, lowered = _lower(seed, every=False)
    with torch.no_grad():
        # No number: beyond what can be told.
        expected, radius = network(x), network.radii(x)[-1].nan_to_num(nan=torch.inf)
    for (actual,) in _results(lowered, x):
        _assert_near(actual, expected, radius * 1.01, "result")
