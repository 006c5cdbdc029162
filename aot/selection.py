# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Which nodes the user of the partitioner wants delegated."""

import dataclasses
import difflib
import fnmatch
from collections.abc import Collection, Iterable, Iterator, Sequence

from torch.fx import Node as FxNode

from . import ops
from .lowering.nodes import target_name
from .private.torch import sources


def check_names(option: str, names: Collection[str]) -> None:
    """Raises TypeError unless ``names`` are names, which can be read more than once."""
    is_list = isinstance(names, Collection) and not isinstance(names, (str, bytes))
    if not is_list or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option} takes a list of names, not {names!r}")


@dataclasses.dataclass(frozen=True)
class Selection:
    """Allow and block lists of names, with ``*`` and ``?`` as in file names. Empty allows everything.

    An operator goes by its name with or without the overload, its own or that of the operator it
    was decomposed from: ``aten.linear`` also means the ``addmm`` that it became. A module goes by
    its qualified name, which stands for all modules in it: ``encoder.layer.0``.
    """

    allow_operators: Sequence[str] = ()
    block_operators: Sequence[str] = ()
    allow_modules: Sequence[str] = ()
    block_modules: Sequence[str] = ()

    def __post_init__(self):
        for field in dataclasses.fields(self):
            check_names(field.name, getattr(self, field.name))
        for pattern in (*self.allow_operators, *self.block_operators):
            _check_operator(pattern)

    def reason(self, node: FxNode) -> str | None:
        """Why ``node`` must stay outside; None if it may be delegated."""
        operators = set(_operators(node))
        if _match(operators, self.block_operators):
            return "its operator is in block_operators"
        if self.allow_operators and not _match(operators, self.allow_operators):
            return "its operator is not in allow_operators"
        modules = set(_modules(node))
        if _match(modules, self.block_modules):
            return "its module is in block_modules"
        if self.allow_modules and not _match(modules, self.allow_modules):
            return "its module is not in allow_modules"
        return None

    def unmatched(self, nodes: Iterable[FxNode]) -> list[str]:
        """What the lists name and none of ``nodes`` has, with the nearest name: maybe a slip of the pen.

        An operator that is blocked may well be absent.
        """
        operators = {name for node in nodes for name in _operators(node)}
        modules = {name for node in nodes for name in _modules(node) if name}
        lists = (
            ("allow_operators", operators),
            ("allow_modules", modules),
            ("block_modules", modules),
        )
        return [
            f"nothing in the program is {pattern!r} of {field}{_hint(pattern, names)}"
            for field, names in lists
            for pattern in getattr(self, field)
            if not _match(names, [pattern])
        ]


def _match(names: set[str], patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _operators(node: FxNode) -> Iterator[str]:
    for name in (target_name(node), *sources(node)):
        yield name
        yield name.rpartition(".")[0]


def _modules(node: FxNode) -> Iterator[str]:
    for path, _ in node.meta.get("nn_module_stack", {}).values():
        yield path


def _check_operator(pattern: str) -> None:
    """A pattern that no operator of ours has is a slip of the pen."""
    names = {n for row in ops.ROWS for n in (row, row.rpartition(".")[0])}
    if _match(names, [pattern]) or not pattern.startswith("aten."):
        return
    raise ValueError(f"et_xnnpack delegates no operator {pattern!r}{_hint(pattern, names)}")


def _hint(pattern: str, names: set[str]) -> str:
    nearest = difflib.get_close_matches(pattern, sorted(names), 1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""
