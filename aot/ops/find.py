# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators whose results have sizes that are found in data: masks, repeats, distinct elements, suppression.

The size is a symbol of the program, like that of an input; which node finds it says the ``size`` of that.
"""

import functools

import numpy as np

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS
from ...serialization.schema import BinaryKind, CompareKind, DType, ScanKind, UpdateKind
from ..ir import dims
from .registry import op
from .shape import expand_to, iota

_find = functools.partial(op, dtypes=DType)


def _positions(c, mask, size):
    """Where a vector of Bool is true."""
    found = c.node(schema.Nonzero(size=size), mask, shape=(size, 1), dtype=DType.Int64)
    return c.reshape(found, (size,))


@_find("aten.nonzero.default")
def nonzero(c, self):
    mask = c.cast(self, DType.Bool)
    return c.node(schema.Nonzero(size=c.out.shape[0]), mask, shape=(c.out.shape[0], self.rank), dtype=DType.Int64)


def pick_masked(c, x, axis, mask):
    """The elements of ``x`` for which ``mask`` over the axes from ``axis`` on holds, on one axis."""
    last = axis + mask.rank
    rows = c.reshape(x, (*x.shape[:axis], dims.numel(mask.shape), *x.shape[last:]))
    size = c.out.shape[axis]
    positions = _positions(c, c.reshape(mask, (dims.numel(mask.shape),)), size)
    return c.node(schema.Index(axis=axis, wrap=False), rows, positions, shape=c.out.shape)


@_find("aten.masked_select.default")
def masked_select(c, self, mask):
    c.require(mask.dtype == DType.Bool, f"the mask has type {mask.dtype.name}, not Bool")
    shape = dims.broadcast(self.shape, mask.shape)
    return pick_masked(c, expand_to(c, self, shape), 0, expand_to(c, mask, shape))


@_find("aten.repeat_interleave.Tensor")
def repeat_interleave(c, repeats):
    c.require(repeats.dtype in (DType.Int32, DType.Int64), f"the repeats have type {repeats.dtype.name}")
    attributes = schema.RepeatIndices(size=c.out.shape[0])
    return c.cast(c.node(attributes, repeats, shape=c.out.shape, dtype=DType.Int64), c.out.dtype)


@_find("aten.repeat_interleave.self_Tensor", preserve=True)
def repeat_interleave_slices(c, self, repeats, dim):
    x, axis = self, 0
    if dim is None:
        x = c.reshape(self, (dims.numel(self.shape),))
    else:
        c.require(self.rank > 0, "a scalar has no axis to repeat")
        axis = c.axis(dim, self.rank)
    c.require(repeats.dtype in (DType.Int32, DType.Int64), f"the repeats have type {repeats.dtype.name}")
    size = c.out.shape[axis]
    repeats = expand_to(c, repeats if repeats.rank else c.reshape(repeats, (1,)), (x.shape[axis],))
    indices = c.node(schema.RepeatIndices(size=size), repeats, shape=(size,), dtype=DType.Int64)
    return c.node(schema.Index(axis=axis, wrap=False), x, indices, shape=c.out.shape)


def _runs(c, x, counted):
    """Of each element of a vector: whether it is another one than that before it; and how many of these there were."""
    one, zero = c.operand(1, DType.Int64), c.operand(0, DType.Int64)
    before = c.node(schema.Binary(kind=BinaryKind.Sub), counted, one, shape=x.shape)
    before = c.node(schema.Binary(kind=BinaryKind.Maximum), before, zero, shape=x.shape)
    previous = c.node(schema.Index(axis=0), x, before, shape=x.shape)
    differs = c.node(schema.Compare(kind=CompareKind.NotEqual), x, previous, shape=x.shape, dtype=DType.Bool)
    is_first = c.node(schema.Compare(kind=CompareKind.Equal), counted, zero, shape=x.shape, dtype=DType.Bool)
    begins = c.node(schema.Binary(kind=BinaryKind.BitOr), differs, is_first, shape=x.shape)
    runs = c.node(schema.Scan(kind=ScanKind.Sum, axis=0), c.cast(begins, DType.Int64), shape=x.shape)
    return begins, c.node(schema.Binary(kind=BinaryKind.Sub), runs, one, shape=x.shape)


def _put(c, size, kind, values, index):
    """Zeros, but ``values`` where ``index`` says."""
    zeros = expand_to(c, c.operand(0, DType.Int64), (size,))
    return c.node(schema.IndexPut(axis=0, kind=kind), zeros, values, index, shape=(size,))


def _unique(c, self, is_sorted):
    """Values, index of the value of each element, and how often each value is there, as far as they are used."""
    used = c.used_outputs()
    size = c.outs[0].shape[0]
    count = dims.numel(self.shape)
    x = c.reshape(self, (count,))
    counted = iota(c, count)
    order = None
    if is_sorted:
        order = c.node(schema.Sort(axis=0), x, shape=(count,), dtype=DType.Int64)
        x = c.node(schema.Index(axis=0), x, order, shape=(count,))
    begins, run = _runs(c, x, counted)
    values = c.node(schema.Index(axis=0), x, _positions(c, begins, size), shape=(size,))
    inverse = counts = None
    if 1 in used:
        inverse = run if order is None else _put(c, count, UpdateKind.Assign, run, order)
        inverse = c.reshape(inverse, c.outs[1].shape)
    if 2 in used:
        ones = expand_to(c, c.constant(np.ones((), np.int64)), (count,))
        counts = _put(c, size, UpdateKind.Add, ones, run)
    return [values, inverse, counts]


@_find("aten._unique2.default")
def unique(c, self):
    return _unique(c, self, is_sorted=True)


@_find("aten.unique_consecutive.default")
def unique_consecutive(c, self, dim):
    c.require(dim is None or self.rank == 1, "distinct slices are not found, only distinct elements")
    return _unique(c, self, is_sorted=False)


@op("torchvision.nms.default", dtypes=(*WIDE_FLOATS, DType.Int64))
def nms(c, dets, scores, iou_threshold):
    both = {dets.dtype, scores.dtype}
    c.require(both in ({DType.Float32}, {DType.Float64}), "boxes and scores are not both Float32 or both Float64")
    attributes = schema.NonMaxSuppression(threshold=float(iou_threshold), size=c.out.shape[0])
    return c.node(attributes, dets, scores, shape=c.out.shape, dtype=DType.Int64)
