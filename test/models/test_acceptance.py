# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Whole models of known architectures: one delegate call, nothing outside, and what eager PyTorch computes."""

import contextlib

import harness
import pytest
import torch
from models import MODELS
from torch.export import Dim, ShapesCollection, export

pytestmark = harness.needs_runtime

#: The same models with inputs of any size: which axes may change, and sizes below their maxima.
BATCH = Dim("batch", max=4)
LENGTH = Dim("length", max=128)
ANY_SIZE = {
    "minilm": (({0: BATCH, 1: LENGTH}, {0: BATCH, 1: LENGTH}), [(3, 17), (1, 128), (4, 1)]),
    "llama_4l": (({1: LENGTH},), [(1, 5), (1, 127), (1, 1)]),
    "vit_small": (({0: BATCH},), [(3, 3, 224, 224), (1, 3, 224, 224)]),
    "whisper_tiny_decoder": (({1: LENGTH}, {}), [(1, 7), (1, 1), (1, 100)]),
    "resnet18": (({0: BATCH},), [(4, 3, 224, 224), (1, 3, 224, 224)]),
    "mobilenet_v3_large": (({0: BATCH},), [(2, 3, 224, 224), (1, 3, 224, 224)]),
}


#: Those that every run of the tests takes; the others are `large`.
USUAL = ("minilm", "mobilenet_v2", "llama_4l")


def parametrized(models):
    return pytest.mark.parametrize(
        "model",
        [pytest.param(m, id=m.name, marks=() if m.name in USUAL else pytest.mark.large) for m in models],
    )


@contextlib.contextmanager
def loaded(module, inputs, dynamic=()):
    shapes = ShapesCollection()
    for tensor, sizes in zip(inputs, dynamic, strict=bool(dynamic)):
        shapes[tensor] = sizes
    lowered = harness.lower_exported(export(module, inputs, dynamic_shapes=shapes if dynamic else None))
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    yield harness.load_method(lowered.buffer)


def assert_like_eager(method, module, inputs):
    with torch.no_grad():
        expected = module(*inputs)
    (actual,) = method.execute(inputs)
    assert actual.shape == expected.shape
    difference = (actual - expected).abs().max() / expected.abs().max()
    assert difference < 1e-4, difference


@parametrized(MODELS)
def test_is_one_delegate_call(model):
    module, inputs = model.build(), model.example()
    with loaded(module, inputs) as method:
        assert_like_eager(method, module, inputs)


def grow(example, shape):
    """``example`` repeated and cut to ``shape``."""
    for axis, size in enumerate(shape):
        times = -(-size // example.shape[axis])
        example = torch.cat([example] * times, axis).narrow(axis, 0, size)
    return example.contiguous()


@parametrized(m for m in MODELS if m.name in ANY_SIZE)
def test_takes_any_size(model):
    dynamic, shapes = ANY_SIZE[model.name]
    module, example = model.build(), model.example()

    def of(shape):
        return tuple(grow(t, shape) if d else t for t, d in zip(example, dynamic, strict=True))

    with loaded(module, of(shapes[0]), dynamic) as method:
        for shape in (*shapes, shapes[0]):
            assert_like_eager(method, module, of(shape))
