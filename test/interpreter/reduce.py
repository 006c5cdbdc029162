# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators along axes."""

import functools

import torch
from executorch.backends.et_xnnpack.serialization.schema import ArgReduceKind, ReduceKind, ScanKind


def _reduce(a, x):
    if a.kind == ReduceKind.Prod:
        for axis in reversed(a.axes):
            x = x.prod(axis, keepdim=a.keep_dims, dtype=x.dtype)
        return x
    reduce = {
        ReduceKind.Sum: functools.partial(torch.sum, dtype=x.dtype),
        ReduceKind.Mean: torch.mean,
        ReduceKind.Max: torch.amax,
        ReduceKind.Min: torch.amin,
        ReduceKind.Any: torch.any,
        ReduceKind.All: torch.all,
    }[a.kind]
    return reduce(x, tuple(a.axes), keepdim=a.keep_dims)


def _sort(a, x):
    indices = torch.argsort(x, dim=a.axis, descending=a.descending, stable=True)
    return indices.narrow(a.axis, 0, a.count) if a.count else indices


def _arg_reduce(a, x):
    return {ArgReduceKind.Max: torch.argmax, ArgReduceKind.Min: torch.argmin}[a.kind](x, a.axis)


def _scan(a, x):
    return {ScanKind.Sum: torch.cumsum, ScanKind.Prod: torch.cumprod}[a.kind](x, a.axis)


OPERATORS = {
    "Reduce": _reduce,
    "ArgReduce": _arg_reduce,
    "Scan": _scan,
    "Sort": _sort,
    "Softmax": lambda a, x: (torch.log_softmax if a.log else torch.softmax)(x, a.axis),
}
