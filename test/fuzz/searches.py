# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Expressions whose results have a size that is found in data, and what may read those."""

import torch

from fuzz.expressions import expression

#: Of numbers of any type.
OF_ANY = """
torch.nonzero({x}) | torch.nonzero({x} > 0) | {x}[{x} > 0] | torch.masked_select({x}, {x} < 1)
torch.masked_select({x}, {x}.select(0, 0) == 1) | {x}[{x}.flatten(1).sum(1) > 0] | torch.unique({x})
torch.unique({x}, return_counts=True)[1] | torch.unique_consecutive({x}.flatten())
{x}[torch.logical_or({x} == 0, {x} > 1)] | torch.unique({x}, return_inverse=True, return_counts=True)[2]
"""
OF_INTEGERS = """
torch.repeat_interleave({x}.flatten() % 3) | {x}.repeat_interleave(({x}.flatten(1).sum(1) % 3), 0)
{x}.flatten().repeat_interleave({x}.flatten() % 2, 0)
"""
_BOXES = "({x}.flatten()[:, None] * torch.tensor([1.0, 0.5, 1.0, 0.5]) + torch.tensor([0.0, 0.0, 1.5, 1.0]))"
KEPT = f"torch.ops.torchvision.nms({_BOXES}, {{x}}.flatten().abs(), 0.25)"

FOUND_OF_FOUND = """
{x} * 2 | {x} + {x} | -{x} | {x}.abs() | {x}.to(torch.float32) | {x} > 0 | {x}[..., None] | torch.cat([{x}, {x}])
torch.arange({x}.shape[0]) | torch.ones({x}.shape[0], 2) | {x}.cumsum(0) | torch.where({x} > 0, {x}, 1)
"""
KNOWN_OF_FOUND = "{x}.sum(0) | {x}.sum() | {x}.to(torch.float32).sum(0) | ({x} == 1).sum(0) | ({x} > 1).any(0)"


def _can_be_searched(value) -> bool:
    return value.exact and value.rank and value.dtype in (torch.float32, torch.int64, torch.int32)


@expression
def find(writer):
    if writer.quantization is None and (x := writer.value(_can_be_searched)):
        forms = OF_ANY if x.is_float else OF_ANY + OF_INTEGERS
        form = writer.pick(KEPT, writer.form(forms)) if x.dtype == torch.float32 else writer.form(forms)
        most = 2 * max(1, *(c.numel() for c in x.calls))
        writer.add(f"at_most({form.format(x=x.name)}, {most})", (x,), True, found=True)


@expression
def places(writer):
    """The other result of ``unique``, whose size is that of its argument."""
    if writer.quantization is None and (x := writer.value(_can_be_searched)):
        writer.add(f"torch.unique({x.name}, return_inverse=True)[1]", (x,), True)


@expression
def use_found(writer):
    if x := writer.found():
        if writer.pick(True, False):
            writer.add(writer.form(FOUND_OF_FOUND).format(x=x.name), (x,), True, found=True)
        else:
            writer.add(writer.form(KNOWN_OF_FOUND).format(x=x.name), (x,), True)
