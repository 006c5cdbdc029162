# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that move or repeat elements and compute nothing."""

import functools
import math
import operator

import numpy as np

from ...serialization import schema
from ...serialization.arrays import FLOATS
from ...serialization.schema import BinaryKind, DType, PadMode, UnaryKind
from ..ir import dims
from ..lowering.nodes import target_name
from .registry import Int8, op

_shape = functools.partial(op, moves_data=True, dtypes=DType)

_MAX_SLICES = 32  # of one operand, where an index would do, too


@_shape(
    "aten.view_copy.default",
    "aten.unsqueeze_copy.default",
    "aten.squeeze_copy.dims",
    int8=Int8.SAME,
)
def reshape(c, self):
    return c.reshape(self, c.out.shape)


@_shape("aten.permute_copy.default", int8=Int8.SAME)
def permute(c, self, dims):
    if self.rank < 2:
        return c.node(schema.Unary(kind=UnaryKind.Copy), self, shape=self.shape)
    return c.transpose(self, [c.axis(d, self.rank) for d in dims])


def _expand(c, x, shape):
    return c.node(schema.Expand(shape=tuple(shape)), x, shape=shape)


def expand_to(c, x, shape):
    """``x`` broadcast to ``shape``, itself if it has that."""
    return x if x.shape == tuple(shape) else _expand(c, x, tuple(shape))


def iota(c, size):
    """0, 1, ... as Int64[size]."""
    return c.node(schema.Iota(size=size), shape=(size,), dtype=DType.Int64)


@_shape("aten.expand_copy.default", int8=Int8.SAME)
def expand(c, self):
    return _expand(c, self, c.out.shape)


@_shape("aten.repeat.default")
def repeat(c, self, repeats):
    """[a, b] repeated (r, 1) is [1, a, b] expanded to [r, a, b] and reshaped."""
    sizes = (1,) * (len(repeats) - self.rank) + self.shape
    before, after = [], []
    for size, count in zip(sizes, repeats, strict=True):
        if size != 1 and count != 1:
            before.append(1)
            after.append(count)
        before.append(size)
        after.append(count if size == 1 else size)
    return c.reshape(_expand(c, c.reshape(self, before), tuple(after)), c.out.shape)


@_shape("aten.cat.default")
def cat(c, tensors, dim):
    tensors = [c.cast(x, c.out.dtype) for x in tensors]
    if c.out.rank != 1:  # empty vectors are ignored for old code's sake
        tensors = [x for x in tensors if x.shape != (0,)]
    if len(tensors) == 1:
        return c.node(schema.Unary(kind=UnaryKind.Copy), tensors[0], shape=c.out.shape)
    return c.node(schema.Concat(axis=c.axis(dim, c.out.rank)), *tensors, shape=c.out.shape)


def slice_axis(c, x, axis, start, size, step=1):
    """``size`` elements of one axis from ``start`` on by ``step``."""
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return c.node(schema.Slice(axis=axis, start=start, size=size, step=step), x, shape=shape)


def place(c, index, size):
    """Where ``index``, perhaps counted from the end or beyond it, lies in an axis of ``size``."""
    if c.is_from_end(index):
        index = index + size
        if c.is_symbolic(index):
            index = dims.maximum(index, 0)
    if isinstance(index, int) and isinstance(size, int):
        return min(max(index, 0), size)
    return index


@_shape("aten.slice_copy.Tensor", int8=Int8.SAME)
def slice(c, self, dim, start, step):
    axis = c.axis(dim, self.rank)
    c.require_static(step, "the step")
    return slice_axis(c, self, axis, place(c, start or 0, self.shape[axis]), c.out.shape[axis], step)


@_shape("aten.narrow_copy.default")
def narrow(c, self, dim, start, length):
    axis = c.axis(dim, self.rank)
    return slice_axis(c, self, axis, place(c, start, self.shape[axis]), length)


@_shape("aten.select_copy.int", int8=Int8.SAME)
def select(c, self, dim, index):
    axis = c.axis(dim, self.rank)
    return c.reshape(slice_axis(c, self, axis, place(c, index, self.shape[axis]), 1), c.out.shape)


@_shape("aten.split_with_sizes_copy.default")
def split(c, self, dim):
    axis = c.axis(dim, self.rank)
    parts, start = [], 0
    for out in c.outs:
        parts.append(slice_axis(c, self, axis, start, out.shape[axis]))
        start = start + out.shape[axis]
    return parts


_MODES = {
    "constant": PadMode.Constant,
    "reflect": PadMode.Reflect,
    "replicate": PadMode.Replicate,
    "circular": PadMode.Circular,
}


def _pad(c, x, amounts, mode, value=0):
    """``amounts`` before and after the last axis, the one before it, ...; negative ones cut off."""
    pairs = [(0, 0)] * (x.rank - len(amounts) // 2)
    pairs += [tuple(amounts[i : i + 2]) for i in range(0, len(amounts), 2)][::-1]
    if x.dtype not in FLOATS and mode == PadMode.Constant:
        whole = abs(value) <= 2**24 and int(value) == value
        c.require(whole, f"{value} is no number of type {x.dtype.name} that padding can have")
    if mode == PadMode.Constant and not dims.is_static(amounts):
        c.require(x.quantization is None, "the padding of a quantized tensor must not depend on an input size")
        before = tuple(dims.maximum(first, 0) for first, _ in pairs)
        return _framed(c, _cut(c, x, pairs), before, c.out.shape, value)
    for amount in amounts:
        c.require_static(amount, "each amount of padding that is not constant")
    cuts = any(amount < 0 for amount in amounts)
    c.require(not cuts or mode != PadMode.Circular, "circular padding must not be negative")
    before, after = (tuple(max(p[side], 0) for p in pairs) for side in (0, 1))
    unchanged = x
    if mode == PadMode.Constant:  # what is cut off is not read
        x = _cut(c, x, pairs)
    if any(before) or any(after) or x is unchanged and not cuts:
        shape = tuple(b + d + a for b, d, a in zip(before, x.shape, after, strict=True))
        if x.dtype == DType.Float64 and mode == PadMode.Constant and not _is_float32(value):
            return _framed(c, x, before, shape, value)
        attributes = schema.Pad(before=before, after=after, value=float(value), mode=mode)
        x = c.node(attributes, x, shape=shape)
    return x if mode == PadMode.Constant else _cut(c, x, pairs)


def _framed(c, x, before, shape, value):
    """``x`` from ``before`` on in a tensor of ``shape`` that is ``value`` elsewhere: what ``Pad`` cannot say."""
    number = {DType.Bool: bool}.get(x.dtype, float if x.dtype in FLOATS else int)(value)
    frame = _expand(c, c.operand(number, x.dtype), shape)
    return c.node(schema.SliceScatter(start=before, step=(1,) * x.rank), frame, x, shape=shape)


def _is_float32(value) -> bool:
    """Whether ``Pad`` can hold the number."""
    with np.errstate(over="ignore"):
        return float(np.float32(value)) == value or math.isnan(value)


def _cut(c, x, pairs):
    for axis, (first, last) in enumerate(pairs):
        first, last = dims.minimum(first, 0), dims.minimum(last, 0)
        if first != 0 or last != 0:
            x = slice_axis(c, x, axis, -first, x.shape[axis] + first + last)
    return x


@_shape("aten.constant_pad_nd.default", int8=Int8.SAME)
def constant_pad(c, self, pad, value):
    return _pad(c, self, pad, PadMode.Constant, value)


@_shape("aten.pad.default", preserve=True, int8=Int8.SAME)
def pad(c, self, pad, mode, value):
    return _pad(c, self, pad, _MODES[mode], value or 0)


def _padding_row(mode: PadMode, *targets: str) -> None:
    @_shape(*targets, preserve=True, int8=Int8.SAME)
    def lower(c, self, padding):
        return _pad(c, self, padding, mode)


_padding_row(
    PadMode.Reflect,
    "aten.reflection_pad1d.default",
    "aten.reflection_pad2d.default",
    "aten.reflection_pad3d.default",
)
_padding_row(
    PadMode.Replicate,
    "aten.replication_pad1d.default",
    "aten.replication_pad2d.default",
    "aten.replication_pad3d.default",
)


@_shape("aten.native_channel_shuffle.default", int8=Int8.SAME)
def channel_shuffle(c, self, groups):
    batch, channels, *rest = self.shape
    size = c.require_static(channels, "the number of channels")
    split = c.reshape(self, (batch, groups, size // groups, *rest))
    return c.reshape(c.transpose(split, (0, 2, 1, *range(3, split.rank))), self.shape)


@_shape("aten.unfold_copy.default")
def unfold(c, self, dimension, size, step):
    """Overlapping parts of one axis, each along a new last axis."""
    if size == 0:
        return _expand(c, c.operand(0, self.dtype), c.out.shape)
    if self.rank == 0:
        return c.reshape(self, (1,))
    axis = c.axis(dimension, self.rank)
    count = c.out.shape[axis]
    if size <= _MAX_SLICES:
        parts = [slice_axis(c, self, axis, i, count, step) for i in range(size)]
        parts = [c.reshape(p, (*p.shape, 1)) for p in parts]
        if len(parts) == 1:
            return parts[0]
        return c.node(schema.Concat(axis=self.rank), *parts, shape=c.out.shape)
    starts = c.node(schema.Binary(kind=BinaryKind.Mul), iota(c, count), c.operand(step, DType.Int64), shape=(count,))
    starts, offsets = c.reshape(starts, (count, 1)), c.constant(np.arange(size))
    indices = c.node(schema.Binary(kind=BinaryKind.Add), starts, offsets, shape=(count, size))
    shape = (*self.shape[:axis], count, size, *self.shape[axis + 1 :])
    y = c.node(schema.Index(axis=axis), self, indices, shape=shape)
    return c.transpose(y, (*(i for i in range(y.rank) if i != axis + 1), axis + 1))


def _is_view(node) -> bool:
    """Whether its result was a view before ExecuTorch made copies of views."""
    if node.target is operator.getitem:
        node = node.args[0]
    _, _, name = target_name(node).partition(".")
    name = name.partition(".")[0]
    return name.endswith("_copy") and name not in ("_to_copy", "_to_dim_order_copy", "index_copy")


@_shape("aten.as_strided_copy.default")
def as_strided(c, self, size, stride, storage_offset):
    """Elements of the memory, which is that of ``self`` unless it is a view of another tensor."""
    source = c.fx_node.all_input_nodes[0]
    c.require(source.meta["val"].is_contiguous(), "as_strided needs a contiguous tensor")
    while target_name(source) == "aten.view_copy.default":
        source = source.all_input_nodes[0]
    c.require(not _is_view(source), "as_strided of a view is not supported")
    for number in (*size, *stride, storage_offset or 0):
        c.require_static(number, "each size or stride")
    flat = c.reshape(self, (dims.numel(self.shape),))
    start = storage_offset or 0
    if list(stride) == [math.prod(size[i + 1 :]) for i in range(len(size))]:
        return c.reshape(slice_axis(c, flat, 0, start, math.prod(size)), size)
    indices = np.full(size, start, np.int64)
    for axis, step in enumerate(stride):
        indices += (np.arange(size[axis]) * step).reshape(-1, *[1] * (len(size) - axis - 1))
    return c.node(schema.Index(axis=0), flat, c.constant(indices), shape=tuple(size))


@_shape("aten.diagonal_copy.default")
def diagonal(c, self, offset, dim1, dim2):
    """Every (columns + 1)-th element of a matrix."""
    first, second = c.axis(dim1, self.rank), c.axis(dim2, self.rank)
    rest = [i for i in range(self.rank) if i not in (first, second)]
    rows, columns = self.shape[first], self.shape[second]
    count = c.out.shape[-1]
    matrices = c.transpose(self, (*rest, first, second))
    if not dims.is_static((rows, columns)):
        return _gather_diagonal(c, matrices, max(-offset, 0), max(offset, 0), count)
    flat = c.reshape(matrices, (*matrices.shape[:-2], rows * columns))
    start = offset if offset >= 0 else -offset * columns
    return slice_axis(c, flat, flat.rank - 1, start if count else 0, count, columns + 1)


def _gather_diagonal(c, matrices, row, column, count):
    """The same from ``row`` and ``column`` on, where the step between elements is known at a call only."""
    rank = matrices.rank
    rows, columns = matrices.shape[-2:]
    square = slice_axis(c, matrices, rank - 2, dims.minimum(row, rows), count)
    square = slice_axis(c, square, rank - 1, dims.minimum(column, columns), count)
    index = expand_to(c, c.reshape(iota(c, count), (count, 1)), (*matrices.shape[:-2], count, 1))
    return c.reshape(c.node(schema.Gather(axis=rank - 1), square, index, shape=index.shape), c.out.shape)
