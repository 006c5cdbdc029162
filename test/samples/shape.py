# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of operators that move data. Alone in a program, they are delegated, too."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from . import ANY_OPERATOR, BATCH, EVEN, HEIGHT, LENGTH, WIDTH, Sample, Size, bools, integers, new, rand


def _counted_from_end(x):
    length = x.shape[1]
    return x[:, -length:] + 1, torch.arange(40.0)[-length:] * x, torch.arange(40)[: -x.shape[0]].sum()


def _padded(mode, *amounts):
    return lambda x: F.pad(x, amounts, mode=mode)


def _moved(x):
    y = x.flip(-1).roll(1, 1)
    last = x.unbind(1)[-1]
    return x[None].expand(2, *x.shape), y.repeat(1, 2, 1), x[:, 1::2, ::3], last, x.permute(2, 0, 1), y.narrow(1, 1, 2)


_SIGNAL = Size("signal", 640, (640, 80, 320, 639, 100))

SAMPLES = [
    Sample("view", lambda x: x.view(6, 4), rand(2, 3, 4)),
    Sample("view_inferred", lambda x: x.view(2, -1), rand(2, 3, 4)),
    Sample("view_scalar", lambda x: x.view(()), rand(1, 1)),
    Sample("view_dynamic", lambda x: x.view(x.shape[0], -1), rand(BATCH, 3, 4)),
    Sample("view_dynamic_merge", lambda x: x.view(-1, 4), rand(BATCH, LENGTH, 4)),
    Sample("view_dynamic_split", lambda x: x.view(x.shape[0], x.shape[1], 2, 3), rand(BATCH, LENGTH, 6)),
    Sample("view_integers", lambda x: x.view(6, 4), integers(2, 3, 4)),
    Sample("view_rank8", lambda x: x.view(2, 1, 2, 1, 2, 1, 2, 2), rand(4, 8)),
    Sample("flatten", lambda x: x.flatten(1), rand(BATCH, 3, 4)),
    Sample("unflatten", lambda x: x.unflatten(1, (2, 3)), rand(BATCH, 6)),
    Sample("permute", lambda x: x.permute(2, 0, 1), rand(2, 3, 4)),
    Sample("permute_negative", lambda x: x.permute(0, -1, -2), rand(2, 3, 4)),
    Sample("permute_rank6", lambda x: x.permute(5, 2, 4, 0, 3, 1), rand(2, 3, 2, 1, 3, 2)),
    Sample("permute_dynamic", lambda x: x.permute(1, 0, 2), rand(BATCH, LENGTH, 4)),
    Sample("permute_bools", lambda x: x.permute(1, 0), bools(3, 5)),
    Sample("permute_integers", lambda x: x.permute(1, 0), integers(3, 5, dtype=torch.int32)),
    Sample("transpose", lambda x: x.transpose(1, 2), rand(2, 3, 4)),
    Sample("transpose_negative", lambda x: x.transpose(-1, 0), rand(2, 3, 4)),
    Sample("t", lambda x: x.t(), rand(3, 4)),
    Sample("t_rank1", lambda x: x.t(), rand(3)),
    Sample("unsqueeze", lambda x: x.unsqueeze(1), rand(3, 4)),
    Sample("unsqueeze_last", lambda x: x.unsqueeze(-1), rand(BATCH, 4)),
    Sample("unsqueeze_rank0", lambda x: x.unsqueeze(0), rand()),
    Sample("squeeze", lambda x: x.squeeze(), rand(1, 3, 1, 4)),
    Sample("squeeze_axis", lambda x: x.squeeze(2), rand(1, 3, 1, 4)),
    Sample("squeeze_axis_kept", lambda x: x.squeeze(1), rand(1, 3, 1, 4)),
    Sample("squeeze_axes", lambda x: x.squeeze((0, 2)), rand(1, 3, 1, 4)),
    Sample("expand", lambda x: x.expand(2, 3, 4), rand(3, 1)),
    Sample("expand_dynamic", lambda x, y: x.expand(y.shape[0], -1) * y, rand(1, 3), rand(BATCH, 3)),
    Sample("expand_rank0", lambda x: x.expand(2, 3), rand()),
    Sample("repeat", lambda x: x.repeat(2, 3), rand(3, 4)),
    Sample("repeat_new_axes", lambda x: x.repeat(2, 1, 3), rand(3, 1)),
    Sample("repeat_dynamic", lambda x: x.repeat(1, 2), rand(BATCH, 3)),
    Sample("cat", lambda x, y: torch.cat((x, y), 1), rand(2, 3, 4), rand(2, 5, 4)),
    Sample("cat_last", lambda x, y: torch.cat((x, y), -1), rand(2, 3), rand(2, 5)),
    Sample("cat_seven", lambda x: torch.cat((x,) * 7), rand(2, 3)),
    Sample("cat_one", lambda x: torch.cat((x,)), rand(2, 3)),
    Sample(
        "cat_mixed_types",
        lambda x, y: (torch.cat([x, y, y > 2]), torch.stack([y.to(torch.int32), y]), torch.cat([y, y.to(torch.int8)])),
        rand(BATCH, 3),
        integers(LENGTH, 3),
    ),
    Sample("cat_legacy_empty", lambda x, y: torch.cat((y, x, x)), rand(2, 3), rand(0)),
    Sample("cat_dynamic", lambda x, y: torch.cat((x, y), 1), rand(BATCH, 3), rand(BATCH, LENGTH)),
    Sample("stack", lambda x, y: torch.stack((x, y), 1), rand(2, 3), rand(2, 3)),
    Sample("stack_many", lambda x, y: torch.stack((x, y), -1), rand(65, 64), rand(65, 64)),
    Sample(
        "slice_from_dynamic_end",
        _counted_from_end,
        rand(BATCH, LENGTH),
    ),
    Sample("slice", lambda x: x[:, 1:3], rand(2, 5, 4)),
    Sample("slice_negative", lambda x: x[:, -3:-1], rand(2, 5, 4)),
    Sample("slice_clamped", lambda x: x[:, -99:99] * 2, rand(2, 5, 4)),
    Sample("slice_beyond", lambda x: x[:, 7:9], rand(2, 5, 4)),
    Sample("slice_step", lambda x: x[:, 1::2, ::3], rand(2, 6, 7)),
    Sample("slice_last", lambda x: x[..., -1:], rand(2, 5)),
    Sample("slice_dynamic_last", lambda x: x[:, -1:], rand(BATCH, LENGTH, 4)),
    Sample("slice_dynamic_to_size", lambda x, y: x[: y.shape[0]] + y, rand(5, 3), rand(BATCH, 3)),
    Sample("slice_dynamic_step", lambda x: x[:, ::2], rand(BATCH, EVEN)),
    Sample("slice_of_end_of_slice", lambda x: x[:, 1::3][:, 3:].sum(1), rand(3, 8)),
    Sample("slice_of_end_of_dynamic_slice", lambda x: (x + 1)[:, ::2][:, 2:].sum(1), rand(BATCH, LENGTH)),
    Sample("slice_dynamic_batch", lambda x: x[:, 1:3], rand(BATCH, 5)),
    Sample("select", lambda x: x[:, 2], rand(2, 5, 4)),
    Sample("select_negative", lambda x: x[:, -2], rand(2, 5, 4)),
    Sample("select_dynamic_last", lambda x: x[:, -1], rand(BATCH, LENGTH, 4)),
    Sample("select_integers", lambda x: x[1], integers(2, 5)),
    Sample("narrow", lambda x: x.narrow(1, 1, 3), rand(2, 5)),
    Sample("narrow_copy", lambda x: torch.narrow_copy(x, -1, 2, 3), rand(2, 5)),
    Sample("narrow_copy_dynamic", lambda x: torch.narrow_copy(x, 1, -3, 2), rand(BATCH, 5)),
    Sample("as_strided", lambda x: x.as_strided((3, 4), (1, 2), 1), rand(20)),
    Sample("as_strided_overlapping", lambda x: x.as_strided((2, 3, 3), (4, 0, 1)), rand(3, 4)),
    Sample("as_strided_view", lambda x: x.view(20).as_strided((3, 4), (4, 1), 5), rand(4, 5)),
    Sample("as_strided_converted", lambda x: x.to(torch.float32).as_strided((2, 4), (1, 2), 1), integers(9)),
    Sample("as_strided_rank0", lambda x: x.as_strided((), (), 3), integers(7)),
    Sample("split", lambda x: x.split(2, 1), rand(2, 5, 3)),
    Sample("split_sizes", lambda x: x.split((1, 4), 1), rand(2, 5, 3)),
    Sample("split_one_used", lambda x: x.split((1, 4), 1)[1] * 2, rand(2, 5, 3)),
    Sample("split_decomposed", lambda x: x.split((1, 4), 1), rand(2, 5, 3), preserve=False),
    Sample("chunk", lambda x: x.chunk(2, -1), rand(BATCH, 6)),
    Sample("chunk_dynamic", lambda x: torch.cat([x.flatten(), torch.ones(3)]).chunk(2), rand(BATCH, LENGTH)),
    Sample("unbind", lambda x: x.unbind(1), rand(2, 3, 4)),
    Sample("pad", lambda x: F.pad(x, (1, 2)), rand(2, 3)),
    Sample("pad_value", lambda x: F.pad(x, (1, 2, 0, 3), value=0.5), rand(2, 3, 4)),
    Sample("pad_negative", lambda x: F.pad(x, (-1, 2, 1, -1)), rand(2, 3, 4)),
    Sample("pad_only_negative", lambda x: F.pad(x, (-1, -1)), rand(2, 5)),
    Sample("pad_nothing", lambda x: F.pad(x, (0, 0)) * 2, rand(2, 5)),
    Sample("pad_rank6", lambda x: F.pad(x, (1, 1, 0, 0, 0, 0, 0, 0, 0, 2)), rand(2, 1, 2, 1, 2, 3)),
    Sample("pad_dynamic", lambda x: F.pad(x, (0, 0, 2, 1)), rand(BATCH, LENGTH, 3)),
    Sample("pad_to_a_multiple", lambda x: F.pad(x, (0, -x.shape[1] % 4), value=0.5), rand(BATCH, LENGTH)),
    Sample(
        "pad_or_trim",
        lambda x, i, b: (
            F.pad(x, (x.shape[1] - 4, 5 - x.shape[1])),
            F.pad(i, (0, 5 - i.shape[0]), value=-3),
            F.pad(b, (5 - b.shape[0], 0), value=True),
            F.pad(x.half(), (0, 0, 1, 5 - x.shape[1]), value=-math.inf),
        ),
        rand(BATCH, LENGTH, 16),
        integers(LENGTH),
        bools(LENGTH),
    ),
    Sample(
        "pad_to_a_multiple_channels_last",
        lambda x: F.pad(x, (0, -x.shape[3] % 4, -x.shape[2] % 2, 1)),
        rand(BATCH, 3, HEIGHT, WIDTH, channels_last=True),
    ),
    Sample("pad_integers", lambda x: F.pad(x, (1, 2), value=3), integers(2, 3)),
    Sample("pad_bools", lambda x: F.pad(x, (1, 2, 0, 1), value=True), bools(2, 3)),
    Sample("pad_decomposed", lambda x: F.pad(x, (1, 2), value=3) * 2, rand(2, 3), preserve=False),
    *(
        Sample(f"pad_{mode}_{case}", _padded(mode, *amounts), x)
        for mode in ("reflect", "replicate", "circular")
        for case, amounts, x in (
            ("1d", (2, 1), rand(2, 3, 7)),
            ("1d_unbatched", (0, 3), rand(3, 7)),
            ("2d", (2, 1, 0, 3), rand(BATCH, 3, HEIGHT, WIDTH)),
            ("2d_channels_last", (1, 1, 2, 2), rand(2, 3, 4, 5, channels_last=True)),
            ("3d", (2, 1, 0, 3, 1, 1), rand(2, 3, 4, 7, 6)),
            ("nothing", (0, 0), rand(2, 3, 7)),
        )
    ),
    Sample("pad_reflect_negative", _padded("reflect", -1, 2), rand(2, 3, 5)),
    Sample("pad_replicate_negative", _padded("replicate", 2, -1, -1, -1), rand(2, 3, 5, 4)),
    Sample("reflection_pad1d", lambda x: torch.ops.aten.reflection_pad1d(x, (2, 1)), rand(2, 3, 5)),
    Sample("reflection_pad2d", lambda x: torch.ops.aten.reflection_pad2d(x, (2, 1, 1, 3)), rand(2, 3, 5, 4)),
    Sample("reflection_pad3d", lambda x: torch.ops.aten.reflection_pad3d(x, (2, 1, 1, 3, 1, 0)), rand(2, 3, 2, 5, 4)),
    Sample("replication_pad1d", lambda x: torch.ops.aten.replication_pad1d(x, (2, 1)), rand(2, 3, 5)),
    Sample("replication_pad2d", lambda x: torch.ops.aten.replication_pad2d(x, (2, 1, 1, 3)), rand(2, 3, 5, 4)),
    Sample("replication_pad3d", lambda x: torch.ops.aten.replication_pad3d(x, (2, 1, 1, 3, 1, 0)), rand(2, 3, 2, 5, 4)),
    Sample("pixel_shuffle", new(nn.PixelShuffle, 2), rand(BATCH, 8, 3, 4)),
    Sample("pixel_unshuffle", new(nn.PixelUnshuffle, 2), rand(BATCH, 2, 6, 4)),
    Sample("channel_shuffle", new(nn.ChannelShuffle, 2), rand(2, 6, 4, 4)),
    Sample(
        "native_channel_shuffle", lambda x: torch.native_channel_shuffle(x, 3), rand(2, 6, 4, 5), config=ANY_OPERATOR
    ),
    Sample("im2col", new(nn.Unfold, 3, dilation=2, padding=1, stride=2), rand(BATCH, 3, 9, 8)),
    Sample("col2im", new(nn.Fold, (7, 6), 3, padding=1, stride=2), rand(2, 18, 12)),
    Sample("unfold", lambda x: x.unfold(1, 3, 2), rand(2, 9, 3)),
    Sample("unfold_last", lambda x: x.unfold(-1, 4, 4), rand(2, 17)),
    Sample("unfold_size_one", lambda x: x.unfold(0, 1, 2), rand(5, 3)),
    Sample("unfold_size_zero", lambda x, y: (x.unfold(1, 0, 1), y.unfold(0, 0, 1)), rand(BATCH, 5), rand()),
    Sample("unfold_long", lambda x: x.unfold(-1, 40, 10), rand(BATCH, 100)),
    Sample("expand_scaled", lambda x: x[:, :1].expand(-1, math.trunc(x.shape[1] * 0.7)) * 2, rand(BATCH, WIDTH)),
    Sample("unfold_dynamic", lambda x: x.unfold(-1, 3, 2), rand(BATCH, HEIGHT)),
    Sample("unfold_frames", lambda x: x.unfold(-1, 64, 16) * torch.hann_window(64, dtype=x.dtype), rand(2, _SIGNAL)),
    Sample("unfold_frames_middle", lambda x: x.unfold(1, 40, 7), rand(BATCH, _SIGNAL, 3)),
    Sample("unfold_image", lambda x: x.unfold(2, 2, 2).unfold(3, 2, 2), rand(1, 2, 4, 6)),
    Sample("unfold_integers", lambda x: x.unfold(0, 3, 1), integers(7)),
    Sample("diagonal", lambda x: x.diagonal(1, 0, 1), rand(4, 5, 3)),
    Sample("diagonal_below", lambda x: x.diagonal(-2, -2, -1), rand(BATCH, 4, 5)),
    Sample("diagonal_swapped", lambda x: x.diagonal(1, 2, 0), rand(4, 3, 5)),
    Sample("diagonal_dynamic", lambda x: (x.diagonal(), x.diagonal(2, 1, 2)), rand(BATCH, LENGTH, 4)),
    Sample("diagonal_dynamic_below", lambda x: (x.diagonal(-3, 1, 2), x.diagonal(-3, 2, 0)), rand(BATCH, 4, LENGTH)),
    Sample("diagonal_dynamic_integers", lambda x: x.diagonal(0, 1, 0), integers(BATCH, LENGTH)),
    Sample("diagonal_empty", lambda x: x.diagonal(7), rand(4, 5)),
    Sample("diag", lambda x: torch.diag(x), rand(4, 4)),
    Sample("trace", lambda x: x.trace(), rand(4, 5)),
    Sample("roll", lambda x: x.roll((1, -2), (0, 2)), rand(3, 4, 5)),
    Sample("roll_flat", lambda x: x.roll(3), rand(3, 4)),
    Sample("roll_dynamic", lambda x: x.roll(1, 1), rand(3, LENGTH)),
    Sample("rot90", lambda x: x.rot90(1, (0, 1)), rand(3, 4)),
    Sample("tile", lambda x: x.tile(2, 3), rand(BATCH, 4)),
    Sample("repeat_interleave", lambda x: x.repeat_interleave(3, 1), rand(2, 4, 3)),
    Sample("repeat_interleave_dynamic", lambda x: x.repeat_interleave(3, 1), rand(2, LENGTH)),
    Sample("tril", lambda x: x.tril(-1), rand(2, 4, 5)),
    Sample("triu_dynamic", lambda x: x.triu(1), rand(LENGTH, 5)),
    Sample("meshgrid", lambda x, y: [t + 1 for t in torch.meshgrid(x, y, indexing="xy")], rand(3), rand(4)),
    *(
        Sample(f"moved_{name}", _moved, make(3, 4, 6))
        for name, make in {
            "floats": rand,
            "integers": integers,
            "int32": lambda *shape: integers(*shape, dtype=torch.int32),
            "bools": bools,
        }.items()
    ),
    Sample(
        "moved_dynamic",
        lambda x: (x.flip(-1), x.roll(1, -1), x.unbind(1)[2], x.repeat(1, 1, 2), x[None].expand(2, -1, -1, -1)),
        integers(3, 4, LENGTH),
    ),
    Sample("moved_nothing", lambda x: (x.expand(2, 0, 3), x.repeat(2, 1), x[:, ::2], x.flip(0)), bools(0, 3)),
    Sample("stack_bools", lambda x, y: torch.stack((x, y), -1), bools(2, 3), bools(2, 3)),
    Sample("cat_integers", lambda x, y: torch.cat((x, y), 0), integers(BATCH, 3), integers(2, 3)),
]
