# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is computed ahead of time is what the interpreter computes."""

import interpreter
import numpy as np
import pytest
import torch
from executorch.backends.et_xnnpack.aot.fold import evaluate
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.schema import BinaryKind, Clamp, ReduceKind, UnaryKind

SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan], np.float32)


def compare(attributes, *arrays):
    """Whether the operator is computed, after comparing the result."""
    found = evaluate(attributes, list(arrays))
    if found is None:
        return False
    operator = interpreter._OPERATORS[type(attributes).__name__]
    expected = operator(attributes, *(torch.tensor(a) for a in arrays)).numpy()
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=3e-7)
    zero = found == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(expected[zero]))
    return True


@pytest.mark.parametrize("kind", UnaryKind, ids=lambda kind: kind.name)
def test_unary(kind):
    attributes = schema.Unary(kind=kind, clamp=Clamp(-1.0, 2.0) if kind == UnaryKind.Clamp else None)
    compare(attributes, SPECIAL)
    compare(attributes, np.array(0.7, np.float32))


@pytest.mark.parametrize("kind", BinaryKind, ids=lambda kind: kind.name)
def test_binary(kind):
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    compare(schema.Binary(kind=kind), x, y)
    integers = np.array([1, -2, 3], np.int64)
    compare(schema.Binary(kind=kind), integers, integers[[2, 0, 1]])
    compare(schema.Binary(kind=kind), np.array(2, np.float32), np.array(3, np.float32))


@pytest.mark.parametrize("kind", ReduceKind, ids=lambda kind: kind.name)
@pytest.mark.parametrize("keep", [False, True])
def test_reduce(kind, keep):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    compare(schema.Reduce(kind=kind, axes=(0, 2), keep_dims=keep), x)


@pytest.mark.parametrize("start,size,step", [(0, 3, 1), (1, 2, 2), (3, 0, 1), (0, 0, 2), (2, 1, 3), (0, 2, 3)])
def test_slice(start, size, step):
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert compare(schema.Slice(axis=1, start=start, size=size, step=step), x)


def test_views():
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert compare(schema.Reshape(shape=(4, 2)), x)
    assert compare(schema.Transpose(perm=(1, 0)), x)
    assert compare(schema.Expand(shape=(3, 2, 4)), x)
    assert compare(schema.Concat(axis=1), x, x)
    assert compare(schema.Pad(before=(0, 1), after=(2, 0), value=-1.0), x)
