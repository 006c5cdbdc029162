# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of normalizations."""

import torch.nn.functional as F
from torch import nn

from . import BATCH, LENGTH, Sample, new, rand


SAMPLES = [
    Sample("batch_norm2d", new(nn.BatchNorm2d, 3), rand(2, 3, 4, 5)),
    Sample("batch_norm2d_plain", new(nn.BatchNorm2d, 3, affine=False), rand(2, 3, 4, 5)),
    Sample("batch_norm2d_dynamic", new(nn.BatchNorm2d, 3), rand(BATCH, 3, 4, 5)),
    Sample("batch_norm2d_decomposed", new(nn.BatchNorm2d, 3), rand(2, 3, 4, 5), preserve=False),
    Sample("batch_norm1d", new(nn.BatchNorm1d, 3), rand(2, 3, 4)),
    Sample("batch_norm1d_matrix", new(nn.BatchNorm1d, 3), rand(2, 3)),
    Sample("batch_norm3d", new(nn.BatchNorm3d, 3), rand(2, 3, 4, 2, 2)),
    Sample("layer_norm", new(nn.LayerNorm, 24), rand(2, 5, 24)),
    Sample("layer_norm_decomposed", new(nn.LayerNorm, 24), rand(2, 5, 24), preserve=False),
    Sample("layer_norm_rank1", new(nn.LayerNorm, 7), rand(7)),
    Sample("layer_norm_two_axes", new(nn.LayerNorm, (5, 7)), rand(2, 3, 5, 7)),
    Sample("layer_norm_plain", new(nn.LayerNorm, 24, elementwise_affine=False), rand(5, 24)),
    Sample("layer_norm_no_bias", new(nn.LayerNorm, 24, bias=False), rand(5, 24)),
    Sample("layer_norm_epsilon", new(nn.LayerNorm, 24, eps=0.1), rand(5, 24)),
    Sample("layer_norm_one_element", new(nn.LayerNorm, 1), rand(5, 1)),
    Sample("layer_norm_wide", new(nn.LayerNorm, 771), rand(3, 771)),
    Sample("layer_norm_large_mean", new(nn.LayerNorm, 64), rand(4, 64, low=999, high=1001), atol=2e-3),
    Sample("layer_norm_dynamic", new(nn.LayerNorm, 24), rand(BATCH, LENGTH, 24)),
    Sample("layer_norm_runtime_weight", lambda x, w, b: F.layer_norm(x, (8,), w, b), rand(3, 8), rand(8), rand(8)),
]
