# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Matrix products."""

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType
from ..ir import dims
from .registry import op


def _linear(c, x, weight, bias, shape):
    """x [..., K] times constant weight [N, K]; a bias that is no constant vector is added."""
    fused = bias is not None and bias.constant is not None and bias.shape == weight.shape[:1]
    y = c.node(schema.Linear(), x, weight, bias if fused else None, shape=shape)
    return y if fused or bias is None else _add(c, y, bias)


def _add(c, a, b):
    return c.node(schema.Binary(kind=BinaryKind.Add), a, b, shape=dims.broadcast(a.shape, b.shape))


def _scale(c, x, factor):
    if factor == 1:
        return x
    return c.node(schema.Binary(kind=BinaryKind.Mul), x, c.scalar(float(factor)), shape=x.shape)


def _swap_last(x):
    return (*range(x.rank - 2), x.rank - 1, x.rank - 2)


def _expand_leading(c, x, leading):
    if x.shape[:-2] == leading:
        return x
    shape = (*leading, *x.shape[-2:])
    return c.node(schema.Expand(shape=shape), x, shape=shape)


def _matmul(c, a, b, shape):
    """The product of two tensors of rank 1 or more, by the rules of ``torch.matmul``."""
    if a.rank == 1:
        y = _matmul(c, c.reshape(a, (1, *a.shape)), b, (*shape[:-1], 1, *shape[-1:]))
        return c.reshape(y, shape)
    if b.rank == 1:
        y = _matmul(c, a, c.reshape(b, (*b.shape, 1)), (*shape, 1))
        return c.reshape(y, shape)
    if b.rank == 2 and b.constant is not None:
        return _linear(c, a, c.transpose(b, (1, 0)), None, shape)
    if b.rank == 2 and a.rank > 2:
        rows = dims.numel(a.shape[:-1])
        flat = c.reshape(a, (rows, a.shape[-1]))
        y = c.node(schema.BatchMatMul(), flat, b, shape=(rows, shape[-1]))
        return c.reshape(y, shape)
    leading = tuple(shape[:-2])
    a, b = _expand_leading(c, a, leading), _expand_leading(c, b, leading)
    return c.node(schema.BatchMatMul(), a, b, shape=shape)


def _is_weight(c, x) -> bool:
    """Whether it is a constant, perhaps one of integers."""
    if x.constant is not None:
        return True
    node = c.producer(x)
    return node is not None and node.op == "Dequantize" and all(c.values[i].constant for i in node.inputs)


@op("aten.linear.default", preserve=True)
def linear(c, input, weight, bias):
    c.require(weight.rank == 2, f"a weight of rank {weight.rank}")
    if _is_weight(c, weight):
        return _linear(c, input, weight, bias, c.out.shape)
    y = _matmul(c, input, c.transpose(weight, (1, 0)), c.out.shape)
    return y if bias is None else _add(c, y, bias)


@op("aten.matmul.default", preserve=True)
def matmul(c, self, other):
    return _matmul(c, self, other, c.out.shape)


@op("aten.mm.default", "aten.bmm.default")
def mm(c, self, mat2):
    return _matmul(c, self, mat2, c.out.shape)


@op("aten.addmm.default")
def addmm(c, self, mat1, mat2, beta, alpha):
    shape = c.out.shape
    if beta == 1 and alpha == 1 and mat2.constant is not None:
        return _linear(c, mat1, c.transpose(mat2, (1, 0)), self, shape)
    y = _scale(c, _matmul(c, mat1, mat2, shape), alpha)
    return y if beta == 0 else _add(c, y, _scale(c, self, beta))


@op("aten._int_mm.default", dtypes=DType)
def int_mm(c, self, mat2):
    """In Float32, exact up to sums of 2^24."""
    product = _matmul(c, c.cast(self, DType.Float32), c.cast(mat2, DType.Float32), c.out.shape)
    return c.cast(product, DType.Int32)
