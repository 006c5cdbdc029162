# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Reductions over axes, and what is found along one axis: indices, running totals, order."""

import functools
import math

import numpy as np

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS
from ...serialization.schema import ArgReduceKind, BinaryKind, CompareKind, DType, ReduceKind, ScanKind, UnaryKind
from ..ir import dims
from .registry import Int8, op
from .shape import expand_to, slice_axis

_any = functools.partial(op, dtypes=DType)


def _axes(c, x, dim) -> tuple[int, ...]:
    dim = [dim] if isinstance(dim, int) else dim
    return tuple(sorted({c.axis(d, x.rank) for d in dim or range(x.rank)}))


def _shape(x, axes, keepdim):
    return [1 if i in axes else n for i, n in enumerate(x.shape) if keepdim or i not in axes]


def reduce(c, kind, x, dim, keepdim=False):
    """``x`` over the axes ``dim``, None for all; a scalar as it is."""
    axes = _axes(c, x, dim) if x.rank else ()
    if not axes:  # of a scalar
        return c.node(schema.Unary(kind=UnaryKind.Copy), x, shape=x.shape)
    attributes = schema.Reduce(kind=kind, axes=axes, keep_dims=bool(keepdim))
    return c.node(attributes, x, shape=_shape(x, axes, keepdim))


def _numbers(c, x):
    """Booleans as integers."""
    return c.cast(x, DType.Int64) if x.dtype == DType.Bool else x


@_any("aten.mean.dim", int8=Int8.OWN)
def mean(c, self, dim, keepdim):
    return reduce(c, ReduceKind.Mean, c.cast(self, c.out.dtype), dim, keepdim)


@_any("aten.sum.dim_IntList", int8=Int8.OWN)
def sum(c, self, dim, keepdim):
    return reduce(c, ReduceKind.Sum, c.of_result(self), dim, keepdim)


@_any("aten.mean.default", int8=Int8.OWN)
def mean_all(c, self):
    return reduce(c, ReduceKind.Mean, c.cast(self, c.out.dtype), None)


@_any("aten.prod.default")
def prod_all(c, self):
    return reduce(c, ReduceKind.Prod, c.of_result(self), None)


@_any("aten.prod.dim_int")
def prod(c, self, dim, keepdim):
    return reduce(c, ReduceKind.Prod, c.of_result(self), dim, keepdim)


def _extremum(c, kind, x, dim, keepdim=False):
    for axis in _axes(c, x, dim) if x.rank else ():
        c.require(x.shape[axis] != 0, "an axis of size 0 has no maximum or minimum")
    if x.dtype == DType.Bool:
        kind = {ReduceKind.Max: ReduceKind.Any, ReduceKind.Min: ReduceKind.All}[kind]
    return reduce(c, kind, x, dim, keepdim)


for _name, _kind in {"max": ReduceKind.Max, "min": ReduceKind.Min}.items():
    _arg = ArgReduceKind[_kind.name]

    @_any(f"aten.a{_name}.default")
    def amax(c, self, dim, keepdim, kind=_kind):
        return _extremum(c, kind, self, dim, keepdim)

    @_any(f"aten.{_name}.default")
    def max_all(c, self, kind=_kind):
        return _extremum(c, kind, self, None)

    @_any(f"aten.{_name}.dim")
    def max_dim(c, self, dim, keepdim, kind=_kind, arg=_arg):
        used = c.used_outputs()
        values = _extremum(c, kind, self, dim, keepdim) if 0 in used else None
        return [values, _arg_reduce(c, arg, self, dim, keepdim) if 1 in used else None]

    @_any(f"aten.arg{_name}.default")
    def argmax(c, self, dim, keepdim, arg=_arg):
        if dim is None:
            flat = c.reshape(self, (dims.numel(self.shape),))
            return c.reshape(_arg_reduce(c, arg, flat, 0, False), c.out.shape)
        return _arg_reduce(c, arg, self, dim, keepdim)


def _arg_reduce(c, kind, x, dim, keepdim):
    x = _numbers(c, x)
    if not x.rank:
        return c.constant(np.zeros((), np.int64))
    axis = c.axis(dim, x.rank)
    c.require(x.shape[axis] != 0, "an axis of size 0 has no maximum or minimum")
    y = c.node(schema.ArgReduce(kind=kind, axis=axis), x, shape=_shape(x, (axis,), False), dtype=DType.Int64)
    return c.reshape(y, _shape(x, (axis,), True)) if keepdim else y


for _name, _kind in {"any": ReduceKind.Any, "all": ReduceKind.All}.items():

    @_any(f"aten.{_name}.default", preserve=True)
    def any_all(c, self, kind=_kind):
        return reduce(c, kind, c.cast(self, DType.Bool), None)

    @_any(f"aten.{_name}.dim", f"aten.{_name}.dims", preserve=True)
    def any_dim(c, self, dim, keepdim, kind=_kind):
        """Over no axes if ``dim`` is empty, other than sums."""
        truth = c.cast(self, DType.Bool)
        if dim is not None and not isinstance(dim, int) and not dim:
            return c.node(schema.Unary(kind=UnaryKind.Copy), truth, shape=truth.shape)
        return reduce(c, kind, truth, dim, keepdim)


# Statistics -----------------------------------------------------------------------------


def _not_negative(c, x):
    """``x``, at least 0."""
    if x.dtype == DType.Float64:
        return c.node(schema.Binary(kind=BinaryKind.Maximum), x, c.operand(0.0, x.dtype), shape=x.shape)
    clamp = schema.Unary(kind=UnaryKind.Clamp, clamp=schema.Clamp(0.0, float("inf")))
    return c.node(clamp, x, shape=x.shape)


def _moments(c, x, dim, correction, keepdim):
    """The mean, which keeps its axes, and the variance, from the squares of the differences from the mean."""
    c.require(x.rank > 0, "the variance of a scalar is not supported")
    correction = 1 if correction is None else correction
    mean = reduce(c, ReduceKind.Mean, x, dim, True)
    squares = c.node(schema.Binary(kind=BinaryKind.SquaredDifference), x, mean, shape=x.shape)
    total = reduce(c, ReduceKind.Sum, squares, dim, keepdim)
    count = dims.numel(tuple(x.shape[a] for a in _axes(c, x, dim)))
    if c.is_symbolic(count):
        c.require(float(correction) == int(correction), "the correction must be an integer if sizes depend on inputs")
        divisor = _not_negative(c, c.operand(count - int(correction), x.dtype))
    else:
        divisor = c.operand(max(count - correction, 0), x.dtype, exact=True)
    return mean, c.node(schema.Binary(kind=BinaryKind.Div), total, divisor, shape=total.shape)


@op("aten.var.correction", dtypes=WIDE_FLOATS)
def var(c, self, dim, correction, keepdim):
    return _moments(c, self, dim, correction, keepdim)[1]


@op("aten.var_mean.correction", dtypes=WIDE_FLOATS)
def var_mean(c, self, dim, correction, keepdim):
    mean, variance = _moments(c, self, dim, correction, keepdim)
    return variance, mean if keepdim else c.reshape(mean, variance.shape)


@op("aten.std_mean.correction", dtypes=WIDE_FLOATS)
def std_mean(c, self, dim, correction, keepdim):
    variance, mean = var_mean(c, self, dim, correction, keepdim)
    return c.node(schema.Unary(kind=UnaryKind.Sqrt), variance, shape=variance.shape), mean


def _norm(c, x, p):
    """The p-norm of the last axis of ``x``, which holds no negative number."""
    shape = x.shape[:-1]

    def total(x, kind=ReduceKind.Sum):
        return reduce(c, kind, x, -1)

    if p == 0:
        zero = c.operand(0.0, x.dtype)
        differs = c.node(schema.Compare(kind=CompareKind.NotEqual), x, zero, shape=x.shape, dtype=DType.Bool)
        return total(c.cast(differs, x.dtype))
    if p == 1:
        return total(x)
    if p == 2:
        return c.node(schema.Unary(kind=UnaryKind.Sqrt), total(_square(c, x)), shape=shape)
    if p == float("inf"):
        return total(x, ReduceKind.Max)
    y = total(c.node(schema.Binary(kind=BinaryKind.Pow), x, c.operand(float(p), x.dtype, True), shape=x.shape))
    return c.node(schema.Binary(kind=BinaryKind.Pow), y, c.operand(1.0 / p, x.dtype, True), shape=shape)


def _square(c, x):
    return c.node(schema.Unary(kind=UnaryKind.Square), x, shape=x.shape)


#: Distances between more vectors than this come from a matrix product, in eager PyTorch, too.
_MANY_VECTORS = 25


@op("aten._cdist_forward.default", dtypes=WIDE_FLOATS)
def cdist(c, x1, x2, p, compute_mode):
    *leading, rows, columns = c.out.shape
    size = x1.shape[-1]
    many = [isinstance(n, int) and n > _MANY_VECTORS for n in (rows, columns)]
    if size == 0:
        return expand_to(c, c.operand(0.0, x1.dtype), c.out.shape)
    if p == 2 and (compute_mode == 1 or not compute_mode and any(many)):
        return _distances(c, x1, x2, tuple(leading), size)
    x1 = c.reshape(x1, (*x1.shape[:-1], 1, size))
    x2 = c.reshape(x2, (*x2.shape[:-2], 1, *x2.shape[-2:]))
    shape = (*c.out.shape, size)
    x = c.node(schema.Binary(kind=BinaryKind.Sub), x1, x2, shape=shape)
    return _norm(c, c.node(schema.Unary(kind=UnaryKind.Abs), x, shape=shape), p)


def _distances(c, a, b, leading, size):
    """|a - b|^2 = |a|^2 - 2ab + |b|^2"""
    squares = [reduce(c, ReduceKind.Sum, _square(c, x), -1, True) for x in (a, b)]
    lengths = [squares[0], c.transpose(squares[1], (*range(b.rank - 2), b.rank - 1, b.rank - 2))]
    a, b = (expand_to(c, x, (*leading, x.shape[-2], size)) for x in (a, b))
    b = c.transpose(b, (*range(b.rank - 2), b.rank - 1, b.rank - 2))
    y = c.node(schema.BatchMatMul(), a, b, shape=c.out.shape)
    y = c.node(schema.Binary(kind=BinaryKind.Mul), y, c.operand(-2.0, y.dtype), shape=c.out.shape)
    for length in lengths:
        y = c.node(schema.Binary(kind=BinaryKind.Add), y, length, shape=c.out.shape)
    return c.node(schema.Unary(kind=UnaryKind.Sqrt), _not_negative(c, y), shape=c.out.shape)


#: The median of no integers, for eager PyTorch; of no floats it is NaN.
_MEDIAN_OF_NOTHING = {DType.Int8: 0, DType.UInt8: 0, DType.Int32: -(2**31), DType.Int64: -(2**63)}


@_any("aten.median.default")
def median_all(c, self):
    size = dims.numel(self.shape)
    flat = c.reshape(self, (size,))
    if size == 0 or c.is_symbolic(size):
        missing = dims.maximum(1 - size, 0)
        filler = expand_to(c, c.operand(_MEDIAN_OF_NOTHING.get(self.dtype, math.nan), self.dtype), (missing,))
        flat = c.node(schema.Concat(axis=0), flat, filler, shape=(dims.simplify(size + missing),))
    return c.reshape(_median(c, flat, 0)[0], ())


@_any("aten.median.dim")
def median(c, self, dim, keepdim):
    if not self.rank:
        return [self, c.constant(np.zeros((), np.int64))]
    axis = c.axis(dim, self.rank)
    shape = _shape(self, (axis,), keepdim)
    return [c.reshape(v, shape) for v in _median(c, self, axis)]


def _median(c, x, axis):
    """The lower of the two in the middle and its place; the first NaN if there is one. ``axis`` is kept."""
    x = _numbers(c, x)
    size = x.shape[axis]
    c.require(size != 0, "an axis of size 0 has no median")
    order = _order(c, x, axis, False)
    place = slice_axis(c, order, axis, (size - 1) // 2, 1)
    if x.dtype in WIDE_FLOATS:
        nan = c.cast(
            c.node(schema.Compare(kind=CompareKind.NotEqual), x, x, shape=x.shape, dtype=DType.Bool), DType.Int64
        )
        shape = _shape(x, (axis,), True)
        first = c.node(
            schema.ArgReduce(kind=ArgReduceKind.Max, axis=axis), nan, shape=_shape(x, (axis,), False), dtype=DType.Int64
        )
        has_nan = c.node(
            schema.Reduce(kind=ReduceKind.Any, axes=(axis,), keep_dims=True), c.cast(nan, DType.Bool), shape=shape
        )
        place = c.node(schema.Where(), has_nan, c.reshape(first, shape), place, shape=shape, dtype=DType.Int64)
    return c.node(schema.Gather(axis=axis), x, place, shape=place.shape, dtype=x.dtype), place


# Along one axis -------------------------------------------------------------------------

for _name, _kind in {"cumsum": ScanKind.Sum, "cumprod": ScanKind.Prod}.items():

    @_any(f"aten.{_name}.default")
    def scan(c, self, dim, kind=_kind):
        x = c.of_result(self)
        if not x.rank:
            return c.node(schema.Unary(kind=UnaryKind.Copy), x, shape=())
        return c.node(schema.Scan(kind=kind, axis=c.axis(dim, x.rank)), x, shape=x.shape)


def _order(c, x, axis, descending):
    return c.node(schema.Sort(axis=axis, descending=bool(descending)), x, shape=x.shape, dtype=DType.Int64)


def _first(c, x, axis, descending, count):
    """The first ``count`` indices of the order."""
    if not isinstance(count, int) or count == 0:
        return slice_axis(c, _order(c, x, axis, descending), axis, 0, count)
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    attributes = schema.Sort(axis=axis, descending=bool(descending), count=count)
    return c.node(attributes, x, shape=shape, dtype=DType.Int64)


def _sort(c, x, dim, descending):
    if not x.rank:
        return x, c.constant(np.zeros((), np.int64))
    axis = c.axis(dim, x.rank)
    order = _order(c, x, axis, descending)
    return c.node(schema.Gather(axis=axis), x, order, shape=x.shape, dtype=x.dtype), order


@_any("aten.sort.default", "aten.sort.stable")
def sort(c, self, dim, descending):
    return list(_sort(c, self, dim, descending))


@_any("aten.topk.default")
def topk(c, self, k, dim, largest):
    if not self.rank:
        return [self, c.constant(np.zeros((), np.int64))]
    axis = c.axis(dim, self.rank)
    indices = _first(c, self, axis, largest, k)
    return [c.node(schema.Gather(axis=axis), self, indices, shape=indices.shape, dtype=self.dtype), indices]


@_any("aten.kthvalue.default")
def kthvalue(c, self, k, dim, keepdim):
    if not self.rank:
        return [self, c.constant(np.zeros((), np.int64))]
    axis = c.axis(dim, self.rank)
    indices = slice_axis(c, _first(c, self, axis, False, k), axis, k - 1, 1)
    values = c.node(schema.Gather(axis=axis), self, indices, shape=indices.shape, dtype=self.dtype)
    return [c.reshape(y, out.shape) for y, out in zip((values, indices), c.outs, strict=True)]
