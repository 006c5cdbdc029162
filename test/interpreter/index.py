# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators that read or write where other tensors say."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import BagKind, UpdateKind

_REDUCE = {
    UpdateKind.Add: "sum",
    UpdateKind.Multiply: "prod",
    UpdateKind.Minimum: "amin",
    UpdateKind.Maximum: "amax",
}


def _index_put(a, x, values, *indices):
    subscripts = [None] * a.axis + [i.long() for i in indices]
    return torch.ops.aten.index_put(x, subscripts, values, a.kind == UpdateKind.Add)


def _scatter(a, x, values, index):
    if a.kind == UpdateKind.Assign:
        return x.scatter(a.axis, index.long(), values)
    if x.dtype == torch.bool:
        either = a.kind in (UpdateKind.Add, UpdateKind.Maximum)
        return x.int().scatter_reduce(a.axis, index.long(), values.int(), "amax" if either else "amin").bool()
    return x.scatter_reduce(a.axis, index.long(), values, _REDUCE[a.kind])


def _slice_scatter(a, x, values):
    y = x.clone()
    y[tuple(slice(b, b + n * s, s) for b, n, s in zip(a.start, values.shape, a.step, strict=True))] = values
    return y


def _embedding_bag(a, table, indices, offsets, weights=None):
    mode = {BagKind.Sum: "sum", BagKind.Mean: "mean", BagKind.Max: "max"}[a.kind]
    padding = None if a.padding_idx < 0 else a.padding_idx
    indices, offsets = indices.long(), offsets.long()
    if a.include_last_offset and (a.padding_idx >= 0 or a.kind == BagKind.Max):
        indices = indices[: offsets[-1]]
    return F.embedding_bag(
        indices, table, offsets, None, 2, False, mode, False, weights, a.include_last_offset, padding
    )


OPERATORS = {
    "Index": lambda a, x, *indices: x[(slice(None),) * a.axis + indices],
    "Gather": lambda a, x, index: x.gather(a.axis, index.long()),
    "IndexPut": _index_put,
    "Scatter": _scatter,
    "SliceScatter": _slice_scatter,
    "MaskedScatter": lambda a, x, mask, values: x.masked_scatter(mask, values),
    "EmbeddingBag": _embedding_bag,
}
