# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Results beside those of eager PyTorch. Integers are compared exactly.

Masks, which are so large that all else is small beside them, do not hide a difference.
"""

import dataclasses
from collections.abc import Sequence

import torch

#: Numbers this large that are equal bit by bit may be masks, and are no measure of the others.
MASK = 1e4


@dataclasses.dataclass
class Comparison:
    difference: float = 0.0  #: the largest of a result, relative to the largest of its numbers
    ties: int = 0  #: places that eager PyTorch would have found otherwise, of scores that nearly tie
    wrong: str | None = None  #: what is no matter of rounding


def compare(expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor]) -> Comparison:
    found = Comparison()
    if len(expected) != len(actual):
        found.wrong = f"{len(actual)} results instead of {len(expected)}"
        return found
    for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
        if e.shape != a.shape or e.dtype != a.dtype:
            found.wrong = f"result {i} is {a.dtype} {tuple(a.shape)} instead of {e.dtype} {tuple(e.shape)}"
        elif e.dtype.is_floating_point or e.dtype.is_complex:
            _compare_floats(i, e, a, found)
        elif not torch.equal(e, a):
            found.wrong = f"{int((e != a).sum())} of {e.numel()} integers of result {i} differ"
    return found


def _compare_floats(i: int, expected: torch.Tensor, actual: torch.Tensor, found: Comparison) -> None:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    e, a = expected.to(wide), actual.to(wide)
    finite = e.isfinite()
    if not torch.equal(finite, a.isfinite()) or not torch.equal(e[~finite].nan_to_num(), a[~finite].nan_to_num()):
        found.wrong = f"result {i} is not finite in other places"
        return
    e, a = e[finite], a[finite]
    measure = e[(e != a) | (e.abs() < MASK)]
    if measure.numel():
        largest, difference = measure.abs().max().item(), (e - a).abs().max().item()
        found.difference = max(found.difference, difference / largest if largest else difference)
