# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of operators that pick elements by index."""

import torch
from torch import nn

from . import BATCH, LENGTH, Sample, integers, new, rand


def _from(size: int, *shape, dtype=torch.int64):
    return integers(*shape, low=0, high=size, dtype=dtype)


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
    Sample("flip", lambda x: x.flip(0, 2), rand(3, 4, 5)),
    Sample("flip_dynamic_batch", lambda x: x.flip(-1), rand(BATCH, 5)),
]
