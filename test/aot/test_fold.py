# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is computed ahead of time is what the interpreter computes."""

import interpreter
import numpy as np
import pytest
import torch
from executorch.backends.et_xnnpack.aot.fold import evaluate
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.schema import (
    BinaryKind,
    Clamp,
    CompareKind,
    DType,
    ReduceKind,
    ScanKind,
    UnaryKind,
)

SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan], np.float32)

ROUNDING = 1e-6  # of sums, relative to numbers of about 1


def compare(attributes, *arrays, atol=0):
    """Whether the operator is computed, after comparing the (first) result."""
    found = evaluate(attributes, list(arrays))
    if found is None:
        return False
    operator = interpreter.OPERATORS[type(attributes).__name__]
    expected = operator(attributes, *(torch.tensor(a) for a in arrays))
    expected = (expected[0] if isinstance(expected, tuple) else expected).numpy()
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=atol)
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


@pytest.mark.parametrize("kind", CompareKind, ids=lambda kind: kind.name)
def test_compare(kind):
    x, y = np.meshgrid(SPECIAL, SPECIAL)
    assert compare(schema.Compare(kind=kind), x, y)
    assert compare(schema.Compare(kind=kind), np.array([[1], [2]], np.int64), np.array([1, 2, 3], np.int64))


@pytest.mark.parametrize(
    "kind", [BinaryKind.FloorDiv, BinaryKind.Remainder, BinaryKind.Fmod], ids=lambda kind: kind.name
)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_division(kind, dtype):
    x, y = np.meshgrid(np.array([-7, -3, 0, 3, 7], dtype), np.array([-3, -1, 2], dtype))
    assert compare(schema.Binary(kind=kind), x, y)
    assert not compare(schema.Binary(kind=kind), x, np.zeros_like(y))  # an error at run time


@pytest.mark.parametrize("kind", [BinaryKind.BitAnd, BinaryKind.BitOr, BinaryKind.BitXor], ids=lambda kind: kind.name)
def test_bits(kind):
    assert compare(schema.Binary(kind=kind), np.array([True, False]), np.array([[True], [False]]))
    assert compare(schema.Binary(kind=kind), np.array([6, -1], np.int64), np.array([3, 4], np.int64))


def test_masks():
    condition = np.tri(3, dtype=bool)
    assert compare(schema.Where(), condition, np.float32(0).reshape(()), np.float32(-np.inf).reshape(()))
    assert compare(schema.Reduce(kind=ReduceKind.Any, axes=(1,)), condition)
    assert compare(schema.Reduce(kind=ReduceKind.All, axes=(0,), keep_dims=True), condition)
    assert compare(schema.Cast(dtype=DType.Int64), condition)


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_scan(dtype):
    assert compare(schema.Scan(kind=ScanKind.Sum, axis=1), np.arange(12, dtype=dtype).reshape(3, 4))


def test_numbers():
    assert compare(schema.Iota(size=5))
    assert compare(schema.SizeValue(size=5))


def test_index():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    rows, columns = np.array([[0], [-1]], np.int64), np.array([3, 0, 1], np.int64)
    assert compare(schema.Index(axis=1), x, rows, columns)
    assert not compare(schema.Index(axis=1, wrap=False), x, rows, columns)
    assert not compare(schema.Index(axis=1), x, np.array([3], np.int64))  # an error at run time


def test_norms():
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    weight, bias = np.arange(1, 13, dtype=np.float32).reshape(3, 4), np.ones((3, 4), np.float32)
    norm = schema.LayerNorm(axes=2, epsilon=1e-5)
    assert (
        compare(norm, x, atol=ROUNDING)
        and compare(norm, x, weight, atol=ROUNDING)
        and compare(norm, x, weight, bias, atol=ROUNDING)
    )
    assert evaluate(norm, [x, None, None]) is not None and evaluate(norm, [x, None, bias]) is None
    assert compare(schema.LayerNorm(axes=1, epsilon=0.5), x, weight[0], bias[0], atol=ROUNDING)
    assert compare(schema.Softmax(axis=1), x, atol=ROUNDING) and compare(
        schema.Softmax(axis=2, log=True), x, atol=ROUNDING
    )


def test_products():
    random = np.random.default_rng(0)
    x, weight, bias = (random.normal(size=shape).astype(np.float32) for shape in ((2, 3, 4), (5, 4), (5,)))
    assert compare(schema.Linear(), x, weight, atol=ROUNDING) and compare(
        schema.Linear(), x, weight, bias, atol=ROUNDING
    )
    assert evaluate(schema.Linear(clamp=Clamp(0.0, 1.0)), [x, weight]) is None
    y = random.normal(size=(2, 5, 4)).astype(np.float32)
    assert compare(schema.BatchMatMul(transpose_b=True), x, y, atol=ROUNDING)
    assert compare(schema.BatchMatMul(), x, np.ascontiguousarray(y.swapaxes(1, 2)), atol=ROUNDING)
    vast = np.broadcast_to(np.float32(0), (1 << 20, 1 << 10))
    assert evaluate(schema.Linear(), [vast, vast[:64]]) is None


def test_gather():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    index = np.array([[[2, 0], [1, 1]]], np.int64)
    assert compare(schema.Gather(axis=2), x, index)
    assert evaluate(schema.Gather(axis=2), [x, index + 2]) is None
