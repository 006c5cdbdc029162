# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Softmax and its logarithm."""

from ...serialization import schema
from ...serialization.schema import BinaryKind, ReduceKind, UnaryKind
from .reduce import reduce
from .registry import op


@op("aten._softmax.default")
def softmax(c, self, dim):
    x = self if self.rank else c.reshape(self, (1,))
    y = c.node(schema.Softmax(axis=c.axis(dim, x.rank)), x, shape=x.shape)
    return y if self.rank else c.reshape(y, ())


@op("aten._log_softmax.default")
def log_softmax(c, self, dim):
    """Of x - max(x), which no exponential takes out of range; the logarithm of a softmax would lose small ones."""
    if self.rank == 0:
        return c.node(schema.Binary(kind=BinaryKind.Sub), self, self, shape=())
    axis = c.axis(dim, self.rank)
    c.require(self.shape[axis] != 0, "a softmax of nothing")

    def minus(x, y):
        return c.node(schema.Binary(kind=BinaryKind.Sub), x, y, shape=self.shape)

    below = minus(self, reduce(c, ReduceKind.Max, self, axis, True))
    total = reduce(c, ReduceKind.Sum, c.node(schema.Unary(kind=UnaryKind.Exp), below, shape=self.shape), axis, True)
    return minus(below, c.node(schema.Unary(kind=UnaryKind.Log), total, shape=total.shape))
