# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Published architectures, and which of them a run takes."""

import dataclasses
import fnmatch
import itertools
import random
from collections.abc import Callable, Sequence


@dataclasses.dataclass(frozen=True)
class Size:
    """A dynamic size: ``step`` times a number from 1 to ``largest``."""

    name: str
    largest: int
    step: int = 1


BATCH = Size("batch", 4)
LENGTH = Size("length", 16)

#: What is run of an architecture, each in a process of its own: as exported, with dynamic sizes, and what ExecuTorch's
#: XNNPACK delegate makes of it.
PARTS = ("static", "dynamic", "official")

#: By input: which of its dimensions are dynamic.
Dynamic = dict[int, dict[int, Size]]


@dataclasses.dataclass(frozen=True)
class Architecture:
    """One architecture at a small size.

    ``build`` returns the module, whose weights are those of the seed that is set, and its inputs, all positional
    tensors. It imports what it needs, so that the registry can be read without the packages.
    """

    name: str  #: the package and the name there: "timm/convnext"
    family: str  #: the row of the summary: "timm"
    build: Callable[[], tuple]
    dynamic: Dynamic = dataclasses.field(default_factory=dict, hash=False)
    #: Whether torch.export follows the bytecode, without which it takes state in objects, as of a cache, for constants.
    strict: bool = False


def architectures() -> list[Architecture]:
    """All, in a fixed order."""
    from . import audio, diffusion, language, vision

    return [a for module in (language, vision, audio, diffusion) for a in module.ARCHITECTURES]


def in_turns(chosen: Sequence[Architecture]) -> list[Architecture]:
    """One of each family, then another of each, always in the same order: a run that ends early has some of all."""
    families: dict[str, list[Architecture]] = {}
    for architecture in random.Random(1).sample(chosen, len(chosen)):
        families.setdefault(architecture.family, []).append(architecture)
    turns = itertools.zip_longest(*(families[name] for name in sorted(families)))
    return [architecture for turn in turns for architecture in turn if architecture is not None]


def select(known: Sequence[Architecture], only: Sequence[str] = (), tenth: int | None = None) -> list[Architecture]:
    """Those whose name contains or matches one of ``only``, if there is any; of these a tenth, in an order that the
    seed ``tenth`` gives."""
    found = [a for a in known if not only or any(p in a.name or fnmatch.fnmatch(a.name, p) for p in only)]
    if tenth is not None:
        found = random.Random(tenth).sample(found, len(found))[: max(1, round(len(found) / 10))] if found else []
    return found
