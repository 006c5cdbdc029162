# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Clusters for a plan, which knows no modules: stretches of it that hand over as few values as possible."""

from collections.abc import Sequence

LONGEST = 60  #: nodes of a section, and those of a plan that has none
_SHORTEST = 25


def sections(reads: Sequence[Sequence[int]]) -> list[range]:
    """Cuts a plan where few values cross. ``reads`` has for each node the earlier nodes that it reads."""
    if len(reads) <= LONGEST:
        return [range(len(reads))]
    crossing = _crossing(reads)
    cuts, begin = [], 0
    while len(reads) - begin > LONGEST:
        choices = range(begin + _SHORTEST, min(begin + LONGEST, len(reads) - 1) + 1)
        begin = min(choices, key=lambda at: (crossing[at], at))
        cuts.append(begin)
    return [range(a, b) for a, b in zip([0, *cuts], [*cuts, len(reads)], strict=True)]


def _crossing(reads: Sequence[Sequence[int]]) -> list[int]:
    """For each node the number of earlier results that it or a later node reads."""
    last: dict[int, int] = {}
    for reader, made in enumerate(reads):
        last.update(dict.fromkeys(made, reader))
    change = [0] * (len(reads) + 1)
    for made, reader in last.items():
        change[made + 1] += 1
        change[reader + 1] -= 1
    found, now = [], 0
    for step in change[:-1]:
        now += step
        found.append(now)
    return found
