# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that pick elements by index: embeddings, gathers, advanced indexing."""

import functools

import numpy as np

from ...serialization import schema
from ...serialization.schema import DType
from .registry import op

_index = functools.partial(op, dtypes=DType)
_INTEGERS = (DType.Int32, DType.Int64)


@_index("aten.embedding.default")
def embedding(c, weight, indices):
    return c.node(schema.Index(axis=0), weight, indices, shape=c.out.shape)


@_index("aten.index_select.default")
def index_select(c, self, dim, index):
    c.require(self.rank > 0, "an index of a scalar")
    axis = c.axis(dim, self.rank)
    if index.rank == 0:
        index = c.reshape(index, (1,))
    return c.node(schema.Index(axis=axis), self, index, shape=c.out.shape)


@_index("aten.index.Tensor")
def index(c, self, indices):
    axes = [i for i, index in enumerate(indices) if index is not None]
    for i in axes:
        c.require(indices[i].dtype in _INTEGERS, f"an index of type {indices[i].dtype.name}")
    first, count = axes[0], len(axes)
    if axes != list(range(first, first + count)):
        # The axes of scattered indices come first in the result.
        rest = [i for i in range(self.rank) if i not in axes]
        self = c.transpose(self, axes + rest)
        first = 0
    operands = [indices[i] for i in axes]
    return c.node(schema.Index(axis=first), self, *operands, shape=c.out.shape)


@_index("aten.gather.default")
def gather(c, self, dim, index):
    c.require(self.rank > 0, "a gather of a scalar")
    return c.node(schema.Gather(axis=c.axis(dim, self.rank)), self, index, shape=c.out.shape)


@_index("aten.flip.default")
def flip(c, self, dims):
    for dim in dims:
        axis = c.axis(dim, self.rank)
        size = c.require_static(self.shape[axis], "a flipped size")
        reverse = c.constant(np.arange(size, dtype=np.int64)[::-1])
        self = c.node(schema.Index(axis=axis), self, reverse, shape=self.shape)
    return self
