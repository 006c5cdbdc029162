# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Reductions over axes."""

from ...serialization import schema
from ...serialization.schema import ReduceKind, UnaryKind
from .registry import op


def _reduce(c, kind, x, dim, keepdim):
    axes = tuple(sorted({c.axis(d, x.rank) for d in dim or range(x.rank)}))
    if not axes:  # of a scalar
        return c.node(schema.Unary(kind=UnaryKind.Copy), x, shape=())
    attributes = schema.Reduce(kind=kind, axes=axes, keep_dims=bool(keepdim))
    return c.node(attributes, x, shape=c.out.shape)


@op("aten.mean.dim")
def mean(c, self, dim, keepdim):
    return _reduce(c, ReduceKind.Mean, self, dim, keepdim)


@op("aten.sum.dim_IntList")
def sum(c, self, dim, keepdim):
    return _reduce(c, ReduceKind.Sum, self, dim, keepdim)


@op("aten.mean.default")
def mean_all(c, self):
    return _reduce(c, ReduceKind.Mean, self, None, False)
