# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Softmax and its logarithm."""

from ...serialization import schema
from ...serialization.arrays import WIDE_FLOATS
from .registry import op


def _softmax(c, x, dim, log):
    rank = x.rank
    x = x if rank else c.reshape(x, (1,))
    y = c.node(schema.Softmax(axis=c.axis(dim, x.rank), log=log), x, shape=x.shape)
    return y if rank else c.reshape(y, ())


@op("aten._softmax.default", dtypes=WIDE_FLOATS)
def softmax(c, self, dim):
    return _softmax(c, self, dim, False)


@op("aten._log_softmax.default", dtypes=WIDE_FLOATS)
def log_softmax(c, self, dim):
    return _softmax(c, self, dim, True)
