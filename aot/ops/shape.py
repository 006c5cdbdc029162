# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that move or repeat elements and compute nothing."""

import functools

import sympy

from ...serialization import schema
from ...serialization.schema import DType, UnaryKind
from .registry import op

_shape = functools.partial(op, plumbing=True, dtypes=DType)


@_shape(
    "aten.view_copy.default",
    "aten.unsqueeze_copy.default",
    "aten.squeeze_copy.dims",
)
def reshape(c, self):
    return c.reshape(self, c.out.shape)


@_shape("aten.permute_copy.default")
def permute(c, self, dims):
    if self.rank < 2:
        return c.node(schema.Unary(kind=UnaryKind.Copy), self, shape=self.shape)
    return c.transpose(self, [c.axis(d, self.rank) for d in dims])


def _expand(c, x, shape):
    return c.node(schema.Expand(shape=tuple(shape)), x, shape=shape)


def expand_to(c, x, shape):
    """``x`` broadcast to ``shape``, itself if it has that."""
    return x if x.shape == tuple(shape) else _expand(c, x, tuple(shape))


@_shape("aten.expand_copy.default")
def expand(c, self):
    return _expand(c, self, c.out.shape)


@_shape("aten.repeat.default")
def repeat(c, self, repeats):
    """[a, b] repeated (r, 1) is [1, a, b] expanded to [r, a, b] and reshaped."""
    sizes = (1,) * (len(repeats) - self.rank) + self.shape
    before, after = [], []
    for size, count in zip(sizes, repeats):
        if size != 1 and count != 1:
            before.append(1)
            after.append(count)
        before.append(size)
        after.append(count if size == 1 else size)
    return c.reshape(_expand(c, c.reshape(self, before), tuple(after)), c.out.shape)


@_shape("aten.cat.default")
def cat(c, tensors, dim):
    for x in tensors:
        c.require(x.dtype == c.out.dtype, "tensors of different types")
    if c.out.rank != 1:  # empty vectors are ignored for old code's sake
        tensors = [x for x in tensors if x.shape != (0,)]
    if len(tensors) == 1:
        return c.node(schema.Unary(kind=UnaryKind.Copy), tensors[0], shape=c.out.shape)
    return c.node(schema.Concat(axis=c.axis(dim, c.out.rank)), *tensors, shape=c.out.shape)


def slice_axis(c, x, axis, start, size, step=1):
    """``size`` elements of one axis from ``start`` on by ``step``."""
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return c.node(schema.Slice(axis=axis, start=start, size=size, step=step), x, shape=shape)


def place(index, size):
    """Where ``index``, perhaps counted from the end or beyond it, lies in an axis of ``size``."""
    if not isinstance(index, sympy.Expr) and index < 0:
        index = index + size
    if isinstance(index, int) and isinstance(size, int):
        return min(max(index, 0), size)
    return index


@_shape("aten.slice_copy.Tensor")
def slice(c, self, dim, start, step):
    axis = c.axis(dim, self.rank)
    c.require_static(step, "a step")
    return slice_axis(c, self, axis, place(start or 0, self.shape[axis]), c.out.shape[axis], step)


@_shape("aten.select_copy.int")
def select(c, self, dim, index):
    axis = c.axis(dim, self.rank)
    return c.reshape(slice_axis(c, self, axis, place(index, self.shape[axis]), 1), c.out.shape)


@_shape("aten.split_with_sizes_copy.default")
def split(c, self, dim):
    axis = c.axis(dim, self.rank)
    parts, start = [], 0
    for out in c.outs:
        parts.append(slice_axis(c, self, axis, start, out.shape[axis]))
        start = start + out.shape[axis]
    return parts


@op("aten.constant_pad_nd.default", plumbing=True)
def pad(c, self, pad, value):
    """Negative amounts cut off."""
    for amount in pad:
        c.require_static(amount, "an amount of padding")
    before, after = [0] * self.rank, [0] * self.rank
    x = self
    for i in range(len(pad) // 2):
        axis = self.rank - 1 - i
        left, right = pad[2 * i : 2 * i + 2]
        if left < 0 or right < 0:
            size = x.shape[axis] + min(left, 0) + min(right, 0)
            x = slice_axis(c, x, axis, max(-left, 0), size)
        before[axis], after[axis] = max(left, 0), max(right, 0)
    if not any(before) and not any(after) and x is not self:
        return x
    attributes = schema.Pad(before=tuple(before), after=tuple(after), value=float(value))
    return c.node(attributes, x, shape=c.out.shape)
