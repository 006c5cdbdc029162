# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Softmax."""

from ...serialization import schema
from .registry import op


@op("aten._softmax.default")
def softmax(c, self, dim):
    x = self if self.rank else c.reshape(self, (1,))
    y = c.node(schema.Softmax(axis=c.axis(dim, x.rank)), x, shape=x.shape)
    return y if self.rank else c.reshape(y, ())
