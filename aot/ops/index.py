# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that pick or update elements by index: embeddings, gathers, scatters, advanced indexing."""

import functools

import numpy as np

from ...serialization import schema
from ...serialization.arrays import FLOATS, NUMPY_DTYPES, WIDE_INTEGERS
from ...serialization.schema import BagKind, BinaryKind, CompareKind, DType, ScanKind, UnaryKind, UpdateKind
from ..ir import dims
from .find import pick_masked
from .registry import op
from .shape import expand_to, iota, place, slice_axis

_index = functools.partial(op, dtypes=DType)


def _copy(c, x):
    return c.node(schema.Unary(kind=UnaryKind.Copy), x, shape=x.shape)


@_index("aten.embedding.default")
def embedding(c, weight, indices):
    return c.node(schema.Index(axis=0, wrap=False), weight, indices, shape=c.out.shape)


@_index("aten._embedding_bag.default", "aten._embedding_bag_forward_only.default", preserve=True)
def embedding_bag(c, weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx):
    c.require(weight.dtype == DType.Float32, f"the table has type {weight.dtype.name}, not Float32")
    kind = (BagKind.Sum, BagKind.Mean, BagKind.Max)[mode]
    if include_last_offset and (padding_idx >= 0 or kind == BagKind.Max):
        # Here eager PyTorch does not look at the last offset.
        offsets = slice_axis(c, offsets, 0, 0, c.outs[0].shape[0])
        include_last_offset = False
    attributes = schema.EmbeddingBag(kind=kind, padding_idx=padding_idx, include_last_offset=include_last_offset)
    operands = [weight, indices, offsets] + [per_sample_weights] * (per_sample_weights is not None)
    return [c.node(attributes, *operands, shape=c.outs[0].shape), None, None, None]


@_index("aten.index_select.default")
def index_select(c, self, dim, index):
    c.require(self.rank > 0, "a scalar has no axis to index")
    axis = c.axis(dim, self.rank)
    return c.node(schema.Index(axis=axis, wrap=False), self, _vector(c, index), shape=c.out.shape)


def _indexed_axes(c, indices) -> list[int]:
    """Which axes have an index, all of them integers."""
    axes = [i for i, index in enumerate(indices) if index is not None]
    for i in axes:
        c.require(indices[i].dtype in WIDE_INTEGERS, f"an index has type {indices[i].dtype.name}, not Int32 or Int64")
    return axes


def _indexed_first(rank: int, axes: list[int]) -> list[int] | None:
    """The order of axes with those indexed in front; None if they are neighbours anyway."""
    if axes == list(range(axes[0], axes[0] + len(axes))):
        return None
    return axes + [i for i in range(rank) if i not in axes]


@_index("aten.index.Tensor")
def index(c, self, indices):
    masks = [i for i, index in enumerate(indices) if index is not None and index.dtype == DType.Bool]
    if masks:
        _require_alone(c, indices)
        return pick_masked(c, self, masks[0], indices[masks[0]])
    axes = _indexed_axes(c, indices)
    if not axes:
        return _copy(c, self)
    operands = [indices[i] for i in axes]
    order = _indexed_first(self.rank, axes)
    if order is not None:  # the axes of scattered indices come first in the result
        return c.node(schema.Index(axis=0), c.transpose(self, order), *operands, shape=c.out.shape)
    return c.node(schema.Index(axis=axes[0]), self, *operands, shape=c.out.shape)


def _require_alone(c, indices):
    c.require(sum(i is not None for i in indices) == 1, "a mask cannot be combined with other indices")


def _put(c, x, axis, indices, values, kind=UpdateKind.Assign, wrap=True):
    """``x`` with ``values``, broadcast, where ``indices`` point to on the axes from ``axis`` on."""
    shape = functools.reduce(dims.broadcast, (i.shape for i in indices))
    picked = (*x.shape[:axis], *shape, *x.shape[axis + len(indices) :])
    attributes = schema.IndexPut(axis=axis, kind=kind, wrap=wrap)
    return c.node(attributes, x, expand_to(c, values, picked), *indices, shape=x.shape)


def _spread(c, mask, values, axis):
    """For each element of ``mask`` one of ``values``: for the i-th that it picks the i-th, for others any."""
    count = dims.numel(mask.shape)
    numbers = c.cast(c.reshape(mask, (count,)), DType.Int64)
    numbers = c.node(schema.Scan(kind=ScanKind.Sum, axis=0), numbers, shape=(count,))
    for kind, number in ((BinaryKind.Sub, 1), (BinaryKind.Maximum, 0)):
        numbers = c.node(schema.Binary(kind=kind), numbers, c.operand(number, DType.Int64), shape=(count,))

    def sized(size):
        return (*values.shape[:axis], size, *values.shape[axis + 1 :])

    # If none is picked, there must be one all the same.
    another = c.node(schema.Expand(shape=sized(1)), c.operand(0, values.dtype), shape=sized(1))
    values = c.node(schema.Concat(axis=axis), values, another, shape=sized(values.shape[axis] + 1))
    return c.node(schema.Index(axis=axis, wrap=False), values, numbers, shape=sized(count))


def _put_masked(c, x, axis, mask, values, accumulate):
    """``x`` with ``values`` where ``mask`` over the axes from ``axis`` on holds."""
    values = c.cast(values, x.dtype)
    rest = x.rank - axis - mask.rank
    lead = values.rank - rest - 1
    if lead >= 0:
        picked = (1,) * mask.rank
        if values.shape[lead] != 1:
            values, picked = _spread(c, mask, values, lead), mask.shape
        shape = (*values.shape[:lead], *picked, *values.shape[lead + 1 :])
        values = c.reshape(values, shape)
    mask = c.reshape(mask, (*mask.shape, *(1,) * rest))
    if accumulate:
        added = BinaryKind.BitOr if x.dtype == DType.Bool else BinaryKind.Add
        values = c.node(schema.Binary(kind=added), x, values, shape=x.shape)
    return c.node(schema.Where(), mask, values, x, shape=x.shape, dtype=x.dtype)


@_index("aten.index_put.default")
def index_put(c, self, indices, values, accumulate):
    masks = [i for i, index in enumerate(indices) if index is not None and index.dtype == DType.Bool]
    if masks:
        _require_alone(c, indices)
        return _put_masked(c, self, masks[0], indices[masks[0]], values, accumulate)
    axes = _indexed_axes(c, indices)
    if not axes:
        indices, axes = [c.constant(np.zeros((), np.int64))], [0]
        c.require(self.rank > 0, "a scalar has no axis to index")
    kind = UpdateKind.Add if accumulate else UpdateKind.Assign
    operands = [indices[i] for i in axes]
    order = _indexed_first(self.rank, axes)
    if order is None:
        return _put(c, self, axes[0], operands, values, kind)
    y = _put(c, c.transpose(self, order), 0, operands, values, kind)
    return c.transpose(y, [order.index(i) for i in range(self.rank)])


def _vector(c, x):
    """A scalar as a vector of one element."""
    return c.reshape(x, (1,)) if x.rank == 0 else x


def _on_vectors(row):
    """Lets a row of ``self``, ``dim`` and one-dimensional ``index`` see a scalar ``self`` as a vector."""

    @functools.wraps(row)
    def lower(c, self, dim, index, *args, **kwargs):
        vector = _vector(c, self)
        y = row(c, vector, c.axis(dim, vector.rank), index, *args, **kwargs)
        return c.reshape(y, self.shape) if self.rank == 0 else y

    return lower


@_index("aten.index_copy.default", preserve=True)
@_on_vectors
def index_copy(c, self, dim, index, source):
    return _put(c, self, dim, [_vector(c, index)], _vector(c, source), wrap=False)


@_index("aten.index_add.default", preserve=True)
@_on_vectors
def index_add(c, self, dim, index, source, alpha):
    source = _vector(c, source)
    if alpha != 1:
        c.require(source.dtype != DType.Bool, "there is no such arithmetic on Bool")
        factor = c.operand(alpha, source.dtype)
        source = c.node(schema.Binary(kind=BinaryKind.Mul), source, factor, shape=source.shape)
    return _put(c, self, dim, [_vector(c, index)], source, UpdateKind.Add, wrap=False)


@_index("aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor", preserve=True)
@_on_vectors
def index_fill(c, self, dim, index, value):
    return _put(c, self, dim, [_vector(c, index)], c.operand(value, self.dtype))


def _gathers(row):
    """Lets a row of ``self``, ``dim`` and ``index`` of the same rank see scalars as vectors."""

    @functools.wraps(row)
    def lower(c, self, dim, index, *args, **kwargs):
        vector = _vector(c, self)
        return row(c, vector, c.axis(dim, vector.rank), index, *args, **kwargs)

    return lower


def _inside(c, index, dim, self, values=None):
    """``index`` without what is outside of ``self`` and ``values``. Only one that has no elements may be larger."""
    for axis, size in enumerate(index.shape):
        bounds = [x.shape[axis] for x in (self if axis != dim else None, values) if x is not None]
        inside = functools.reduce(dims.minimum, [bound for bound in bounds if c.is_symbolic(bound)], size)
        if inside != size:
            index = slice_axis(c, index, axis, 0, inside)
    return index


@_index("aten.gather.default")
@_gathers
def gather(c, self, dim, index):
    if any(size == 0 for size in index.shape):
        return expand_to(c, c.operand(0, self.dtype), c.out.shape)
    vector = _inside(c, _vector(c, index), dim, self)
    y = c.node(schema.Gather(axis=dim), self, vector, shape=vector.shape)
    return y if y.shape == c.out.shape else c.reshape(y, c.out.shape)


def _scatter(c, self, dim, index, values, kind=UpdateKind.Assign):
    if any(size == 0 for size in index.shape):  # of whatever rank
        return c.reshape(_copy(c, self), c.out.shape)
    index = _inside(c, _vector(c, index), dim, self, values if values.rank > 0 else None)
    if values.rank == 0:
        values = expand_to(c, values, index.shape)
    for axis, size in enumerate(index.shape):
        if values.shape[axis] != size:
            values = slice_axis(c, values, axis, 0, size)
    y = c.node(schema.Scatter(axis=dim, kind=kind), self, values, index, shape=self.shape)
    return y if c.out.rank > 0 else c.reshape(y, ())


@_index("aten.scatter.src")
@_gathers
def scatter(c, self, dim, index, src):
    return _scatter(c, self, dim, index, src)


@_index("aten.scatter.value")
@_gathers
def scatter_value(c, self, dim, index, value):
    return _scatter(c, self, dim, index, c.operand(value, self.dtype))


@_index("aten.scatter_add.default")
@_gathers
def scatter_add(c, self, dim, index, src):
    return _scatter(c, self, dim, index, src, UpdateKind.Add)


_REDUCTIONS = {
    "add": UpdateKind.Add,
    "sum": UpdateKind.Add,
    "multiply": UpdateKind.Multiply,
    "prod": UpdateKind.Multiply,
    "amin": UpdateKind.Minimum,
    "amax": UpdateKind.Maximum,
}


@_index("aten.scatter.reduce")
@_gathers
def scatter_with(c, self, dim, index, src, reduce):
    return _scatter(c, self, dim, index, src, _REDUCTIONS[reduce])


@_index("aten.scatter.value_reduce")
@_gathers
def scatter_value_with(c, self, dim, index, value, reduce):
    return _scatter(c, self, dim, index, c.operand(value, self.dtype), _REDUCTIONS[reduce])


def _neutral(dtype: DType, kind: UpdateKind):
    """What an update of this kind leaves any number as it is with."""
    if kind in (UpdateKind.Add, UpdateKind.Multiply):
        return int(kind == UpdateKind.Multiply)
    if dtype == DType.Bool:
        return kind == UpdateKind.Minimum
    numpy = NUMPY_DTYPES[dtype]
    low, high = (-np.inf, np.inf) if dtype in FLOATS else (np.iinfo(numpy).min, np.iinfo(numpy).max)
    return high if kind == UpdateKind.Minimum else low


@_index("aten.scatter_reduce.two")
@_gathers
def scatter_reduce(c, self, dim, index, src, reduce, include_self):
    c.require(reduce in _REDUCTIONS, f"the reduction {reduce} is not supported")
    kind = _REDUCTIONS[reduce]
    if not include_self:
        self = _scatter_into(c, self, dim, index, c.operand(_neutral(self.dtype, kind), self.dtype))
    return _scatter(c, self, dim, index, src, kind)


def _scatter_into(c, self, dim, index, value):
    """As ``_scatter``, with a result of the shape of ``self`` whatever that of the node."""
    if any(size == 0 for size in index.shape):
        return self
    index = _inside(c, _vector(c, index), dim, self)
    values = expand_to(c, value, index.shape)
    return c.node(schema.Scatter(axis=dim, kind=UpdateKind.Assign), self, values, index, shape=self.shape)


def _slice_scatter(c, x, values, axis, start, step=1):
    starts, steps = [0] * x.rank, [1] * x.rank
    starts[axis], steps[axis] = start, step
    attributes = schema.SliceScatter(start=tuple(starts), step=tuple(steps))
    return c.node(attributes, x, c.cast(values, x.dtype), shape=x.shape)


@_index("aten.slice_scatter.default", preserve=True)
def slice_scatter(c, self, src, dim, start, step):
    axis = c.axis(dim, self.rank)
    c.require_static(step, "the step")
    return _slice_scatter(c, self, src, axis, place(c, start or 0, self.shape[axis]), step)


@_index("aten.select_scatter.default", preserve=True)
def select_scatter(c, self, src, dim, index):
    axis = c.axis(dim, self.rank)
    row = c.reshape(src, (*self.shape[:axis], 1, *self.shape[axis + 1 :]))
    return _slice_scatter(c, self, row, axis, place(c, index, self.shape[axis]))


@_index("aten.diagonal_scatter.default")
def diagonal_scatter(c, self, src, offset, dim1, dim2):
    first, second = c.axis(dim1, self.rank), c.axis(dim2, self.rank)
    order = [first, second, *(i for i in range(self.rank) if i not in (first, second))]
    shape = (src.shape[-1],)
    diagonal = iota(c, shape[0])
    indices = [
        c.node(schema.Binary(kind=BinaryKind.Add), diagonal, c.operand(shift, DType.Int64), shape=shape)
        for shift in (max(-offset, 0), max(offset, 0))
    ]
    values = c.transpose(c.cast(src, self.dtype), (src.rank - 1, *range(src.rank - 1)))
    y = _put(c, c.transpose(self, order), 0, indices, values)
    return c.transpose(y, [order.index(i) for i in range(self.rank)])


@_index("aten.masked_scatter.default")
def masked_scatter(c, self, mask, source):
    c.require(mask.dtype == DType.Bool, f"the mask has type {mask.dtype.name}, not Bool")
    self, mask = (expand_to(c, x, c.out.shape) for x in (self, mask))
    return c.node(schema.MaskedScatter(), self, mask, source, shape=c.out.shape)


@_index("aten.copy.default", preserve=True)
def copy(c, self, src):
    y = c.cast(src, self.dtype)
    y = expand_to(c, y, self.shape)
    return _copy(c, y) if y is src else y


@_index("aten.flip.default")
def flip(c, self, dims):
    for dim in dims:
        if self.rank == 0:
            break
        axis = c.axis(dim, self.rank)
        size = self.shape[axis]
        if isinstance(size, int):
            reverse = c.constant(np.arange(size, dtype=np.int64)[::-1])
        else:
            counted = iota(c, size)
            last = c.operand(size - 1, DType.Int64)
            reverse = c.node(schema.Binary(kind=BinaryKind.Sub), last, counted, shape=(size,))
        self = c.node(schema.Index(axis=axis), self, reverse, shape=self.shape)
    return _copy(c, self) if not dims or self.rank == 0 else self


@op("aten.histc.default")
def histc(c, self, bins, min, max):
    """How many numbers are in each of ``bins`` equal parts of ``min`` to ``max``."""
    c.require(
        min < max,
        "min of a histogram must be below max; the range of the input is not supported",
    )
    x = c.reshape(self, (dims.numel(self.shape),))

    def number(kind, a, b):
        return c.node(schema.Binary(kind=kind), a, c.scalar(float(b)), shape=a.shape)

    def compare(kind, bound):
        return c.node(schema.Compare(kind=kind), x, c.scalar(float(bound)), shape=x.shape, dtype=DType.Bool)

    inside = [compare(CompareKind.GreaterEqual, min), compare(CompareKind.LessEqual, max)]
    inside = c.node(schema.Binary(kind=BinaryKind.BitAnd), *inside, shape=x.shape)
    place = number(BinaryKind.Div, number(BinaryKind.Mul, number(BinaryKind.Sub, x, min), bins), max - min)
    place = c.node(schema.Where(), inside, place, c.scalar(0.0), shape=x.shape, dtype=DType.Float32)
    place = c.cast(number(BinaryKind.Minimum, place, bins - 1), DType.Int64)
    zeros = c.constant(np.zeros(bins, np.float32))
    return _put(c, zeros, 0, [place], c.cast(inside, DType.Float32), UpdateKind.Add)
