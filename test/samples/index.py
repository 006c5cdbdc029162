# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of operators that pick elements by index."""

import torch
from torch import nn

from . import ANY_OPERATOR, BATCH, LENGTH, Argument, Sample, bools, integers, new, rand, values


def _from(size: int, *shape, dtype=torch.int64):
    return integers(*shape, low=0, high=size, dtype=dtype)


def values_of(*numbers: int):
    return Argument((len(numbers),), lambda s, g: torch.tensor(numbers))


def _apart(size: int, *shape, dtype=torch.int64):
    """Different indices."""

    def fill(shape, generator):
        count = torch.Size(shape).numel()
        return torch.randperm(size, generator=generator)[:count].reshape(shape).to(dtype)

    return Argument(shape, fill)


def _columns(size: int, *shape):
    """Different indices in each row."""
    return Argument(shape, lambda s, g: torch.rand(s[0], size, generator=g).argsort(1)[:, : s[1]])


def _rows(size: int, *shape):
    """Different indices in each column."""
    return Argument(shape, lambda s, g: torch.rand(size, s[1], generator=g).argsort(0)[: s[0]])


_OFFSETS = Argument((4,), lambda s, g: torch.tensor([0, 2, 2, 5]))
_WITH_NAN = values(1.0, float("nan"), 2.0, -1.0)


class WeightedBag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(11, 5, mode="sum")

    def forward(self, indices, offsets, weights):
        return self.bag(indices, offsets, weights)


def _assign(x, index, values):
    x = x.clone()
    x[:, index] = values
    return x


def _assign_slice(x, values):
    x = x.clone()
    x[1, 1:4, ::3] = values
    return x


def _diagonals_overwritten(x):
    """Of matrices with a dynamic number of rows and columns; torch.export takes no other diagonal of these."""
    square = x.transpose(1, 2) @ x
    return square.diagonal_scatter(square.diagonal(0, 1, 2) * 2, 0, 2, 1), square[0].diagonal_scatter(x.sum((0, 1)))


SAMPLES = [
    Sample("embedding", new(nn.Embedding, 11, 5), _from(11, BATCH, LENGTH)),
    Sample("embedding_padding", new(nn.Embedding, 11, 5, padding_idx=2), _from(11, 2, 3)),
    Sample("embedding_int32", new(nn.Embedding, 11, 5), _from(11, 4, dtype=torch.int32)),
    Sample("index_select", lambda x, i: x.index_select(1, i), rand(2, 5, 3), _from(5, 7)),
    Sample("index_select_dynamic", lambda x, i: x.index_select(-1, i), rand(BATCH, 5), _from(5, LENGTH)),
    Sample("index", lambda x, i: x[i], rand(5, 3), _from(5, 2, 4)),
    Sample("index_negative", lambda x, i: x[i], rand(5, 3), integers(6, low=-5, high=5)),
    Sample("index_middle", lambda x, i: x[:, i], rand(BATCH, 5, 3), _from(5, 4)),
    Sample("index_pair", lambda x, i, j: x[i, j], rand(5, 6, 3), _from(5, 4, 1), _from(6, 7)),
    Sample("index_pair_middle", lambda x, i, j: x[:, i, j], rand(2, 5, 6), _from(5, 4), _from(6, 4)),
    Sample("index_apart", lambda x, i, j: x[i, :, j], rand(5, 2, 6), _from(5, 4), _from(6, 4)),
    Sample("index_integers", lambda x, i: x[i], integers(5, 3), _from(5, LENGTH)),
    Sample("gather", lambda x, i: x.gather(1, i), rand(3, 5), _from(5, 3, 2)),
    Sample("gather_first", lambda x, i: x.gather(0, i), rand(5, 4, 2), _from(5, 3, 4, 2)),
    Sample("gather_integers", lambda x, i: x.gather(-1, i), integers(BATCH, 5), _from(5, BATCH, 7)),
    Sample("gather_scalar", lambda x, i: x.gather(0, i), rand(), _from(1)),
    Sample("gather_scalar_of_vector", lambda x, i: x.gather(0, i), rand(5), _from(5)),
    Sample("gather_int32", lambda x, i: x.gather(1, i), rand(3, 5), _from(5, 2, 9), config=ANY_OPERATOR),
    Sample("gather_bools", lambda x, i: x.gather(1, i), bools(3, 5), _from(5, 2, 9)),
    Sample("gather_nothing", lambda x, i: x.gather(1, i), rand(3, 5), _from(5, 3, 0)),
    Sample("embedding_scalar", new(nn.Embedding, 11, 5), _from(11)),
    Sample("embedding_rank4", new(nn.Embedding, 11, 3), _from(11, 2, 1, 3, 2)),
    Sample("index_rank0", lambda x, i: torch.ops.aten.index(x, [i]), rand(5, 3), _from(5)),
    Sample("index_three", lambda x, i, j: x[i, None, j, :, i], rand(5, 6, 2, 5), _from(5, 4, 1), _from(6, 3)),
    Sample("index_around", lambda x, i, j: x[:, i, :, j], rand(2, 5, 3, 6), _from(5, 4), _from(6, 4)),
    Sample("index_last", lambda x, i: x[..., i], bools(2, 3, 5), _from(5, 2, 2)),
    Sample("index_int32", lambda x, i: x[i], integers(5, 3, dtype=torch.int32), _from(5, 4, dtype=torch.int32)),
    Sample("index_select_int32", lambda x, i: x.index_select(0, i), bools(4, 3), _from(4, 6, dtype=torch.int32)),
    Sample("index_select_last", lambda x, i: x.index_select(2, i), integers(2, 3, 5), _from(5, 4)),
    Sample("embedding_bag", new(nn.EmbeddingBag, 11, 5, mode="sum"), _from(11, 7), _OFFSETS, config=ANY_OPERATOR),
    Sample("embedding_bag_mean", new(nn.EmbeddingBag, 11, 5), _from(11, BATCH, 4), config=ANY_OPERATOR),
    Sample(
        "embedding_bag_max",
        new(nn.EmbeddingBag, 5, 19, mode="max", padding_idx=2),
        _from(5, 3, 4),
        config=ANY_OPERATOR,
    ),
    Sample(
        "embedding_bag_padding",
        new(nn.EmbeddingBag, 4, 3, mode="mean", padding_idx=-1),
        _from(4, 7),
        _OFFSETS,
        config=ANY_OPERATOR,
    ),
    Sample(
        "embedding_bag_last_offset",
        new(nn.EmbeddingBag, 11, 5, mode="mean", include_last_offset=True),
        _from(11, 7, dtype=torch.int32),
        Argument((5,), lambda s, g: torch.tensor([0, 2, 2, 5, 7], dtype=torch.int32)),
        config=ANY_OPERATOR,
    ),
    *(
        Sample(
            f"embedding_bag_last_offset_{mode}_{padding}",
            new(nn.EmbeddingBag, 11, 5, mode=mode, include_last_offset=True, padding_idx=padding),
            _from(4, 7),
            _OFFSETS,  # the last one is not the number of indices
            config=ANY_OPERATOR,
        )
        for mode in ("sum", "mean", "max")
        for padding in (None, 2)
    ),
    Sample(
        "embedding_bag_weights",
        new(WeightedBag),
        _from(11, 7),
        _OFFSETS,
        rand(7),
        config=ANY_OPERATOR,
    ),
    Sample(
        "embedding_bag_forward_only",
        lambda t, i, o: torch.ops.aten._embedding_bag_forward_only(t, i, o)[0],
        rand(11, 5),
        _from(11, 7),
        _OFFSETS,
        config=ANY_OPERATOR,
    ),
    Sample("index_put", lambda x, i, v: x.index_put((i,), v), rand(5, 3), _apart(5, 4), rand(4, 3)),
    Sample("index_put_broadcast", lambda x, i, v: x.index_put((i,), v), rand(5, 3), _from(5, 2, 2), rand()),
    Sample("index_put_add", lambda x, i, v: x.index_put((i,), v, True), rand(5, 3), _from(5, 9), rand(9, 3)),
    Sample(
        "index_put_add_integers", lambda x, i, v: x.index_put((i,), v, True), integers(5, 3), _from(5, 9), integers(3)
    ),
    Sample("index_put_add_bools", lambda x, i, v: x.index_put((i,), v, True), bools(5, 3), _from(5, 9), bools(9, 1)),
    Sample("index_put_negative", lambda x, i, v: x.index_put((i,), v), rand(6), values_of(-1, -6, 2), rand(3)),
    Sample(
        "index_put_pair",
        lambda x, i, j, v: x.index_put((i, j), v),
        integers(5, 6, 2, dtype=torch.int32),
        _apart(5, 4, 1),
        _apart(6, 3),
        integers(4, 3, 2, dtype=torch.int32),
    ),
    Sample(
        "index_put_middle",
        lambda x, i, v: torch.ops.aten.index_put(x, [None, None, i], v),
        rand(BATCH, 2, 20, 3),
        _apart(20, LENGTH),
        rand(BATCH, 2, LENGTH, 3),
    ),
    Sample(
        "index_put_apart",
        lambda x, i, j, v: torch.ops.aten.index_put(x, [i, None, j], v),
        rand(5, 2, 6),
        _apart(5, 4),
        _apart(6, 4),
        rand(4, 2),
    ),
    Sample("index_put_assignment", _assign, rand(BATCH, 7, 3), _apart(7, 3), rand(3, 3)),
    Sample("index_put_mask", lambda x, m, v: x.index_put((m,), v), rand(BATCH, 4, 3), bools(BATCH, 4), rand(3)),
    Sample("index_put_mask_scalar", lambda x, m: x.index_put((m,), torch.tensor(2.0)), rand(4, 3), bools(4, 3)),
    Sample("index_put_mask_add", lambda x, m, v: x.index_put((m,), v, True), integers(4, 3), bools(4), integers(1, 3)),
    Sample(
        "index_put_mask_inside",
        lambda x, m, v: torch.ops.aten.index_put(x, [None, m], v),
        bools(2, 4, 5, 3),
        bools(4, 5),
        bools(2, 1, 3),
    ),
    Sample("index_copy", lambda x, i, v: x.index_copy(1, i, v), rand(2, 6, 3), _apart(6, 4), rand(2, 4, 3)),
    Sample(
        "index_copy_dynamic",
        lambda x, i, v: x.index_copy(1, i, v),
        rand(2, 20, 3),
        _apart(20, LENGTH),
        rand(2, LENGTH, 3),
    ),
    Sample("index_copy_scalar", lambda x, i, v: x.index_copy(0, i, v), rand(), _from(1, 1), rand()),
    Sample(
        "index_copy_decomposed",
        lambda x, i, v: x.index_copy(0, i, v),
        integers(6, 3),
        _apart(6, 4),
        integers(4, 3),
        preserve=False,
    ),
    Sample("index_add", lambda x, i, v: x.index_add(0, i, v, alpha=2), rand(5, 3), _from(5, 9), rand(9, 3)),
    Sample("index_add_integers", lambda x, i, v: x.index_add(-1, i, v), integers(3, 5), _from(5, 9), integers(3, 9)),
    Sample("index_fill", lambda x, i: x.index_fill(1, i, 2.5), rand(BATCH, 5), values_of(-1, 0, 2)),
    Sample("index_fill_tensor", lambda x, i, v: x.index_fill(0, i, v), integers(5, 2), _from(5, 3), integers()),
    Sample("scatter", lambda x, i, v: x.scatter(1, i, v), rand(3, 7), _columns(7, 3, 4), rand(3, 4)),
    Sample("scatter_part", lambda x, i, v: x.scatter(0, i, v), rand(6, 7), _rows(6, 3, 4), rand(5, 9)),
    Sample(
        "scatter_dynamic",
        lambda x, i, v: x.scatter(1, i, v),
        rand(BATCH, 20),
        _columns(20, BATCH, LENGTH),
        rand(BATCH, LENGTH),
    ),
    Sample(
        "scatter_first_columns",  # of a matrix without rows there are none
        lambda x, i: (x.scatter_add(1, i, x), x.scatter(0, i, 1.5), x.scatter_reduce(1, i, x, "amax"), x.gather(0, i)),
        rand(BATCH, BATCH),
        _from(1, BATCH, 1),
    ),
    Sample("scatter_rank1", lambda x, i, v: x.scatter(0, i, v), bools(5), _apart(5, 3), bools(3)),
    Sample("scatter_scalar", lambda x, i, v: x.scatter(0, i, v), rand(), _from(1), rand()),
    Sample("scatter_nothing", lambda x, i, v: x.scatter(1, i, v), rand(3, 7), _from(7, 3, 0), rand(3, 4)),
    Sample("scatter_value", lambda x, i: x.scatter(1, i, 1.5), rand(3, 7), _from(7, 3, 4)),
    Sample("scatter_value_integers", lambda x, i: x.scatter(0, i, 7), integers(3, 7), _from(3, 2, 4)),
    Sample("scatter_add", lambda x, i, v: x.scatter_add(1, i, v), rand(3, 4), _from(4, 3, 9), rand(3, 9)),
    Sample(
        "scatter_add_integers",
        lambda x, i, v: x.scatter_add(0, i, v),
        integers(3, 4, dtype=torch.int32),
        _from(3, 9, 4),
        integers(9, 4, dtype=torch.int32),
    ),
    Sample(
        "scatter_with",
        lambda x, i, v: (x.scatter(1, i, v, reduce="add"), x.scatter(1, i, v, reduce="multiply")),
        rand(3, 4),
        _from(4, 3, 9),
        rand(3, 9),
        config=ANY_OPERATOR,
    ),
    Sample(
        "scatter_value_with",
        lambda x, i: (x.scatter(1, i, 2.0, reduce="add"), x.scatter(1, i, 3.0, reduce="multiply")),
        rand(3, 4),
        _from(4, 3, 9),
        config=ANY_OPERATOR,
    ),
    *(
        Sample(
            f"scatter_reduce_{name}{'' if include else '_without_self'}",
            lambda x, i, v, name=name, include=include: (
                x.scatter_reduce(1, i, v, name, include_self=include),
                x.mul(9).long().scatter_reduce(1, i, v.mul(9).long(), name, include_self=include),
            ),
            rand(3, 6),
            _from(5, 3, 7),
            rand(3, 7),
        )
        for name in ("sum", "prod", "amin", "amax")
        for include in (True, False)
    ),
    Sample("scatter_reduce_nan", lambda x, i, v: x.scatter_reduce(0, i, v, "amax"), rand(3), _from(3, 4), _WITH_NAN),
    Sample("slice_scatter", lambda x, v: torch.slice_scatter(x, v, 1, 1, 6, 2), rand(BATCH, 7, 3), rand(BATCH, 3, 3)),
    Sample("slice_scatter_rank0_rest", lambda x, v: torch.slice_scatter(x, v, 0, -2), bools(5), bools(2)),
    Sample("slice_scatter_whole", lambda x, v: torch.slice_scatter(x, v, 0), integers(5, 2), integers(5, 2)),
    Sample(
        "slice_scatter_dynamic",
        lambda x, v: torch.slice_scatter(x, v, 1, 0, v.shape[1]),
        rand(2, 20, 3),
        rand(2, LENGTH, 3),
    ),
    Sample("select_scatter", lambda x, v: torch.select_scatter(x, v, 1, -2), integers(3, 4, 2), integers(3, 2)),
    Sample(
        "select_scatter_decomposed",
        lambda x, v: torch.select_scatter(x, v, 1, 2),
        rand(3, 4, 2),
        rand(3, 2),
        preserve=False,
    ),
    Sample("assign_slice", _assign_slice, rand(2, 5, 6), rand(3, 2)),
    Sample("copy", lambda x, y: x.clone().copy_(y), rand(BATCH, 3), integers(3)),
    Sample("copy_same", lambda x, y: x.clone().copy_(y), rand(4, 3), rand(4, 3)),
    Sample("masked_scatter", lambda x, m, v: x.masked_scatter(m, v), rand(BATCH, 5), bools(BATCH, 5), rand(30)),
    Sample(
        "masked_scatter_broadcast", lambda x, m, v: x.masked_scatter(m, v), integers(4, 5), bools(5), integers(4, 5)
    ),
    Sample("flip", lambda x: x.flip(0, 2), rand(3, 4, 5)),
    Sample("flip_dynamic_batch", lambda x: x.flip(-1), rand(BATCH, 5)),
    Sample("flip_dynamic", lambda x: x.flip(0, 1), integers(BATCH, LENGTH)),
    Sample("flip_bools", lambda x: x.flip(1), bools(3, 4)),
    Sample("roll_bools", lambda x: x.roll(-1, 1), bools(3, 4)),
    Sample("roll_int32", lambda x: x.roll(2, 0), integers(5, 4, dtype=torch.int32)),
    Sample("triangles", lambda x: (x.tril(), x.triu(1), x.tril(-1)), rand(BATCH, 5, 4)),
    Sample("triangles_integers", lambda x: (x.tril(1), x.triu()), integers(5, 4)),
    Sample("triangles_bools", lambda x: (x.tril(), x.triu(-1)), bools(4, 4)),
    Sample("triangle_dynamic", lambda x: torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril(), rand(1, LENGTH)),
    Sample("diagonal_scatter", torch.diagonal_scatter, rand(3, 4), rand(3)),
    Sample("diagonal_scatter_above", lambda x, y: x.diagonal_scatter(y, 1, 2, 0), rand(3, 4, 5), rand(4, 2)),
    Sample("diagonal_scatter_below", lambda x, y: x.diagonal_scatter(y, -1), rand(4, 3), rand(3)),
    Sample("diagonal_scatter_dynamic", _diagonals_overwritten, rand(2, 3, BATCH)),
    Sample("diagonal_scatter_of_floats", lambda x, y: x.diagonal_scatter(y), integers(2, 3), rand(2)),
    Sample("histc", lambda x: x.histc(7, -1, 1), rand(BATCH, 50)),
    Sample("histc_counts", lambda x: x.histc(4, 0, 3), values(0, 1, 2, 3, 3, 1, 5, -1, float("nan"), 0.74, 0.75)),
]
