# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a picture shows."""

import collections
import dataclasses
from collections.abc import Mapping, Sequence

#: What a fact, an amount or a summary says: a name and a text.
Facts = tuple[tuple[str, str], ...]


@dataclasses.dataclass(frozen=True)
class Group:
    """What gives nodes their colour."""

    label: str
    hue: int | None  #: an angle of OKLCH; None is grey
    stands_out: bool = False  #: drawn with another border, too, for those who do not tell the colours apart


@dataclasses.dataclass(frozen=True)
class Measure:
    """An amount of which each node has a part, to be drawn as heat."""

    label: str
    unit: str  #: "B", "FLOP" or "ms"


#: Those of ``Cost``.
COSTS = {"flop": Measure("arithmetic", "FLOP"), "bytes": Measure("bytes read and written", "B")}


@dataclasses.dataclass(frozen=True)
class Node:
    id: str
    label: str
    detail: str  #: below the label: the type of the result
    group: str
    facts: Facts = ()
    path: tuple[str, ...] = ()  #: the clusters around it, the outermost first
    inputs: tuple[str, ...] = ()  #: the ids of the nodes that it reads
    amounts: Mapping[str, float] = dataclasses.field(default_factory=dict)  #: by the key of a measure
    border: str = ""  #: "input" or "output" of the method


#: What a method reads and gives, and operators that no delegate took, in every picture.
BORDER = Group("input or output", None)
OUTSIDE_HUE = 25


def border_node(name: str, type_name: str, border: str, inputs: tuple[str, ...] = ()) -> Node:
    """An "input" or "output" of the method."""
    return Node(name, name, type_name, "border", (("type", type_name),), (), inputs, border=border)


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes in use over time, stacked."""

    labels: tuple[str, ...]  #: of the series, from below
    nodes: tuple[str, ...]  #: the id of what runs at each moment
    bytes: tuple[tuple[int, ...], ...]  #: of each series at each moment


@dataclasses.dataclass(frozen=True)
class Picture:
    """One method."""

    name: str
    summary: Facts
    groups: Mapping[str, Group]
    measures: Mapping[str, Measure]
    nodes: Sequence[Node]
    memory: Memory | None = None


def simplified(nodes: Sequence[Node]) -> list[Node]:
    """Clusters of one node go into its label, and clusters of nothing but another one into the name of that."""
    sizes = collections.Counter(node.path[:depth] for node in nodes for depth in range(1, len(node.path) + 1))
    found = []
    for node in nodes:
        path, alone, outer = [], [], None
        for depth, name in enumerate(node.path, 1):
            size = sizes[node.path[:depth]]
            if size == 1:
                alone.append(name)
            elif size == outer:
                path[-1] += f".{name}"
            else:
                path.append(name)
            outer = size
        label = f"{'.'.join(alone)} · {node.label}" if alone else node.label
        found.append(dataclasses.replace(node, path=tuple(path), label=label))
    return found
