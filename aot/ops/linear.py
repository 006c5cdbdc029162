# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Matrix products."""

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS
from ...serialization.schema import BinaryKind, CompareKind, DType, ReduceKind
from ..ir import dims
from .registry import op
from .shape import iota, slice_axis

#: So many products of two 8-bit integers have a sum of 2^24 at most.
_EXACT_DEPTH = 1 << 10


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
    return c.node(schema.Binary(kind=BinaryKind.Mul), x, c.operand(float(factor), x.dtype, exact=True), shape=x.shape)


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
    return node is not None and node.is_a(schema.Dequantize) and all(c.values[i].constant for i in node.inputs)


@op("aten.linear.default", preserve=True, operator=schema.Linear, dtypes=WIDE_FLOATS)
def linear(c, input, weight, bias):
    c.require(weight.rank == 2, f"the weight has rank {weight.rank}, not 2")
    if _is_weight(c, weight):
        return _linear(c, input, weight, bias, c.out.shape)
    y = _matmul(c, input, c.transpose(weight, (1, 0)), c.out.shape)
    return y if bias is None else _add(c, y, bias)


@op("aten.matmul.default", preserve=True, dtypes=WIDE_FLOATS)
def matmul(c, self, other):
    return _matmul(c, self, other, c.out.shape)


@op("aten.mm.default", "aten.bmm.default", dtypes=WIDE_FLOATS)
def mm(c, self, mat2):
    return _matmul(c, self, mat2, c.out.shape)


@op("aten.addmm.default", operator=schema.Linear, dtypes=WIDE_FLOATS)
def addmm(c, self, mat1, mat2, beta, alpha):
    shape = c.out.shape
    if beta == 1 and alpha == 1 and mat2.constant is not None:
        return _linear(c, mat1, c.transpose(mat2, (1, 0)), self, shape)
    y = _scale(c, _matmul(c, mat1, mat2, shape), alpha)
    return y if beta == 0 else _add(c, y, _scale(c, self, beta))


@op("aten.addmv.default", dtypes=WIDE_FLOATS)
def addmv(c, self, mat, vec, beta, alpha):
    y = _scale(c, _matmul(c, mat, vec, c.out.shape), alpha)
    return y if beta == 0 else _add(c, y, _scale(c, self, beta))


@op("aten.addbmm.default", dtypes=WIDE_FLOATS)
def addbmm(c, self, batch1, batch2, beta, alpha):
    products = _matmul(c, batch1, batch2, (batch1.shape[0], *c.out.shape))
    total = schema.Reduce(kind=ReduceKind.Sum, axes=(0,), keep_dims=False)
    y = _scale(c, c.node(total, products, shape=c.out.shape), alpha)
    return y if beta == 0 else _add(c, y, _scale(c, self, beta))


@op("aten.bilinear.default", preserve=True, dtypes=WIDE_FLOATS)
def bilinear(c, input1, input2, weight, bias):
    """Sums of ``input1[i] * weight[o, i, j] * input2[j]``, over i first."""
    outs, left, right = weight.shape
    matrices = c.reshape(c.transpose(weight, (1, 0, 2)), (left, outs * right))
    leading = input1.shape[:-1]
    y = _matmul(c, input1, matrices, (*leading, outs * right))
    y = c.reshape(y, (*leading, outs, right))
    y = _matmul(c, y, c.reshape(input2, (*leading, right, 1)), (*leading, outs, 1))
    y = c.reshape(y, c.out.shape)
    return y if bias is None else _add(c, y, bias)


def _grouped(c, x, weight, ends):
    """Rows of ``x`` up to each of ``ends`` times the matrix of ``weight`` [groups, K, N] of that group.

    Every matrix meets every row, since how many rows it takes is known at run time only.
    """
    c.require(x.rank == 2 and weight.rank == 3, "a grouped product takes an input of rank 2 and weights of rank 3")
    groups = c.require_static(weight.shape[0], "the number of groups")
    rows, shape = x.shape[0], (x.shape[0], weight.shape[2])
    positions = c.reshape(iota(c, rows), (rows, 1))
    ends = c.cast(ends, DType.Int64)
    y = c.operand(0.0, x.dtype)
    for group in reversed(range(groups)):
        matrix = c.reshape(slice_axis(c, weight, 0, group, 1), weight.shape[1:])
        end = slice_axis(c, ends, 0, group, 1)
        before = c.node(schema.Compare(kind=CompareKind.Less), positions, end, shape=(rows, 1), dtype=DType.Bool)
        product = _matmul(c, x, matrix, shape)
        y = c.node(schema.Where(), before, product, y, shape=shape, dtype=x.dtype)
    return y


@op("transformers.grouped_mm_fallback.default", dtypes=DType)
def grouped_mm_of_transformers(c, input, weight, offs):
    return _grouped(c, input, weight, offs)


@op("aten._grouped_mm.default", dtypes=DType)
def grouped_mm(c, self, mat2, offs, bias):
    c.require(offs is not None and bias is None, "a grouped product needs offsets, and takes no bias")
    return _grouped(c, self, mat2, offs)


@op("aten._int_mm.default", dtypes=DType)
def int_mm(c, self, mat2):
    """In Float32 as many products of 8-bit integers as it can sum up exactly; such sums as integers."""
    depth, total = self.shape[1], None
    for begin in range(0, max(c.largest(depth, "the size that is summed over"), 1), _EXACT_DEPTH):
        start = dims.minimum(begin, depth)
        size = dims.minimum(_EXACT_DEPTH, depth - start)
        a, b = (x if size == depth else slice_axis(c, x, axis, start, size) for x, axis in ((self, 1), (mat2, 0)))
        product = _matmul(c, c.cast(a, DType.Float32), c.cast(b, DType.Float32), c.out.shape)
        part = c.cast(product, DType.Int32)
        add = schema.Binary(kind=BinaryKind.Add)
        total = part if total is None else c.node(add, total, part, shape=part.shape, dtype=DType.Int32)
    return total
