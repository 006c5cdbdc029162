# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of comparisons, selection, Boolean algebra, integers, and tensors made from sizes."""

import torch

from . import BATCH, LENGTH, Sample, bools, integers, rand, values

NAN = float("nan")
INF = float("inf")
SPECIAL = values(0.0, -0.0, 1.5, -1.5, NAN, INF, -INF)


def _overwritten(new):
    def write(x):
        y = new(x)
        y[:, 2:], y[:, :2] = x[:, 2:], 1
        return y

    return write


def _quotients(x, y):
    """Towards zero, for either sign of both."""
    quotients = [torch.div(x, n, rounding_mode="trunc") for n in (4, -3)]
    return (*quotients, torch.div(y, x.abs()[0] + 1, rounding_mode="trunc"), torch.div(y, y | 1, rounding_mode="trunc"))


def _positions(x):
    angles = torch.outer(torch.arange(6, dtype=torch.float64), 1e4 ** -(torch.arange(4, dtype=torch.float64) / 4))
    return x + torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype)


def _offset_mask(queries, keys):
    """Causal, where the last query sees all keys."""
    offset = keys.shape[0] - queries.shape[0]
    return torch.arange(keys.shape[0])[None, :] <= torch.arange(queries.shape[0])[:, None] + offset


SAMPLES = [
    Sample("eq", lambda x, y: x == y, integers(3, 4, low=0, high=3), integers(4, low=0, high=3)),
    Sample("ne", lambda x, y: x != y, integers(BATCH, 4, low=0, high=3), integers(4, low=0, high=3)),
    Sample("lt", lambda x, y: x < y, rand(BATCH, 5), rand(BATCH, 5)),
    Sample("le_scalar", lambda x: x <= 0.5, rand(LENGTH, 5)),
    Sample("gt_int_scalar", lambda x: x > 0.5, integers(7)),
    Sample("ge_mixed", lambda x, y: x >= y, integers(3, 1), rand(1, 4)),
    Sample(
        "compare_bytes",
        lambda x, y: (x > y, x == y, y <= x, x[0] < y),
        integers(BATCH, 5, low=0, high=255, dtype=torch.uint8),
        integers(BATCH, 5, low=-128, high=127, dtype=torch.int8),
    ),
    Sample("compare_special", lambda x: (x == x, x != x, x < 0, x >= 0), SPECIAL),
    Sample("compare_bools", lambda x, y: x == y, bools(3, 4), bools(3, 4)),
    Sample("compare_size", lambda x: x < x.shape[0], rand(BATCH, 3, low=0, high=6)),
    Sample("eq_scalar", lambda x: x == 1, integers(3, 4, low=0, high=3)),
    Sample("ne_scalar", lambda x: x != 1, integers(3, 4, low=0, high=3)),
    Sample("gt", lambda x, y: x > y, rand(BATCH, 5), rand(BATCH, 5)),
    Sample("isnan", torch.isnan, SPECIAL),
    Sample("isinf", torch.isinf, SPECIAL),
    Sample("where", lambda c, x, y: torch.where(c, x, y), bools(BATCH, 1, 4), rand(3, 1), rand(BATCH, 3, 4)),
    Sample("where_integers", lambda c, x: torch.where(c, x, 7), bools(3, 4), integers(3, 4)),
    Sample("where_dynamic", lambda c, x: torch.where(c, x, -1.0), bools(BATCH, LENGTH), rand(LENGTH)),
    Sample("masked_fill", lambda x, m: x.masked_fill(m, -INF), rand(BATCH, 3, 4), bools(BATCH, 1, 4)),
    Sample("masked_fill_tensor", lambda x, m, v: x.masked_fill(m, v), rand(3, 4), bools(3, 1), rand()),
    Sample("logical_and", torch.logical_and, bools(3, 4), bools(4)),
    Sample("logical_or_numbers", torch.logical_or, integers(3, 4, low=-1, high=2), rand(3, 4)),
    Sample("logical_xor", torch.logical_xor, bools(BATCH, 4), bools(BATCH, 4)),
    Sample("logical_not", torch.logical_not, SPECIAL),
    Sample("bitwise_and", lambda x, y: x & y, integers(3, 4), integers(3, 4)),
    Sample("bitwise_or_scalar", lambda x: x | 5, integers(3, 4, dtype=torch.int32)),
    Sample("bitwise_xor", lambda x, y: x ^ y, bools(3, 4), bools(3, 1)),
    Sample("bitwise_or", lambda x, y: x | y, integers(3, 4), integers(3, 4)),
    Sample("bitwise_and_scalar", lambda x: x & 5, integers(3, 4)),
    Sample("bitwise_xor_scalar", lambda x: x ^ 5, integers(3, 4)),
    Sample("right_shift", lambda x, y: (x >> 2, y >> 30), integers(3, 4), integers(BATCH, 4, dtype=torch.int32)),
    Sample("left_shift", lambda x, y: (x << 62, y << 3), integers(3, 4), integers(BATCH, 4, dtype=torch.int32)),
    Sample(
        "bitwise_shift", lambda x: (torch.bitwise_right_shift(x, 1), torch.bitwise_left_shift(x, 1)), integers(3, 4)
    ),
    Sample("bitwise_not", lambda x, y: (~x, ~y), bools(3, 4), integers(5)),
    Sample("cast_to_float", lambda x, y: (x.float(), y.float()), integers(3, 4), bools(5)),
    Sample("cast_to_integer", lambda x: (x.long(), x.int()), rand(3, 4, low=-9, high=9)),
    Sample("cast_to_bool", lambda x: x.bool(), SPECIAL),
    Sample("add_integers", lambda x, y: x + y * 2 - 1, integers(BATCH, 4), integers(4)),
    Sample("add_alpha_integers", lambda x, y: torch.sub(x, y, alpha=3), integers(2, 3), integers(2, 3)),
    Sample("mul_promoted", lambda x, y: x * y, rand(3, 4), integers(4)),
    Sample("mul_mask", lambda x, m: x * m, rand(BATCH, 3, 4), bools(BATCH, 1, 4)),
    Sample("div_integers", lambda x: x / 4, integers(3, 4)),
    Sample("floor_divide_integers", lambda x: (x // 4, x // -3), integers(3, 9)),
    Sample("trunc_divide_integers", _quotients, integers(3, 9), integers(9, dtype=torch.int32)),
    Sample("floor_divide", lambda x, y: torch.floor_divide(x, y), rand(3, 9, low=-9, high=9), rand(9)),
    Sample("remainder_integers", lambda x: (x % 4, x % -3), integers(3, 9)),
    Sample("remainder", lambda x, y: x % y, rand(3, 9, low=-9, high=9), rand(9)),
    Sample("fmod", lambda x, y: (torch.fmod(x, y), torch.fmod(x, 0.7)), rand(3, 9, low=-9, high=9), rand(9)),
    Sample("div_floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), rand(5), rand(5)),
    Sample("div_trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), rand(5), rand(5, low=0.1)),
    Sample("div_scalar_floor", lambda x: torch.ops.aten.div.Scalar_mode(x, 0.7, rounding_mode="floor"), rand(5)),
    Sample("maximum_integers", lambda x, y: (torch.maximum(x, y), torch.minimum(x, y)), integers(3, 4), integers(4)),
    Sample("empty", _overwritten(lambda x: torch.empty(3, 4)), rand(3, 4)),
    Sample(
        "empty_without_dim_order",
        _overwritten(lambda x: torch.empty(3, 4)),
        rand(3, 4),
        config={"_skip_dim_order": True},
    ),
    Sample("empty_like", _overwritten(torch.empty_like), rand(3, 4)),
    Sample("empty_like_dynamic", _overwritten(torch.empty_like), rand(BATCH, 4)),
    Sample("empty_permuted", _overwritten(lambda x: torch.empty_permuted((3, 4), (1, 0))), rand(3, 4)),
    Sample("full", lambda x: x + torch.full((3, 4), 2.5), rand(4)),
    Sample("full_dynamic", lambda x: torch.full((x.shape[0], 2), 7), rand(BATCH, 3)),
    Sample("zeros_like", lambda x: (torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 3)), rand(BATCH, 3)),
    Sample("arange", lambda x: torch.arange(x.shape[0]) + 1, rand(BATCH, 3)),
    Sample("arange_step", lambda x: torch.arange(2, 20, 3) + x, integers(6)),
    Sample("positions_float64", _positions, rand(BATCH, 6, 8)),
    Sample("arange_float", lambda x: torch.arange(x.shape[1], dtype=torch.float32) * 0.5, rand(2, LENGTH)),
    Sample("size_as_number", lambda x: x * x.shape[0] + x.shape[1], rand(BATCH, LENGTH)),
    Sample(
        "causal_mask",
        lambda x: torch.arange(x.shape[1])[None, :] <= torch.arange(x.shape[1])[:, None],
        rand(2, LENGTH),
    ),
    Sample("isinf_integers", torch.isinf, integers(7)),
    Sample("isinf_bools", torch.isinf, bools(7)),
    Sample("bitwise_not_bytes", lambda x: ~x, integers(7, low=0, high=256, dtype=torch.uint8)),
    Sample(
        "arange_fractions",
        lambda x: x + torch.arange(-9, 9, 0.01, dtype=x.dtype),
        rand(1800),
        rtol=1e-6,
        atol=1e-7,
    ),
    Sample("arange_float_start", lambda x: torch.arange(-3, x.shape[0], dtype=x.dtype), rand(LENGTH)),
    Sample("difference_of_sizes", lambda x: (x * (x.shape[0] - 3), x > x.shape[0] // 2 - 2), rand(BATCH, 3)),
    Sample("difference_of_two_sizes", _offset_mask, rand(BATCH, 2), rand(LENGTH, 2)),
    Sample("full_of_difference", lambda x: torch.full((2, 3), x.shape[0] - 3), rand(BATCH, 3)),
    Sample("number_and_difference", lambda x, n: x * (n.item() + (x.shape[0] - 3)), rand(BATCH, 3), integers()),
]
