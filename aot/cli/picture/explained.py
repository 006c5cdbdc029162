# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The picture of what partitioning would do with a method."""

from ..advice import advice
from ..explanation import ExplainedMethod, ExplainedNode
from ..output import count, flop, share, size
from .model import BORDER, COSTS, OUTSIDE_HUE, Facts, Group, Node, Picture, border_node, simplified

_HUES = (255, 155, 305, 200, 100, 335, 70)  # of delegate calls; that of what is outside is far from all of them


def picture_of(name: str, method: ExplainedMethod) -> Picture:
    everything, outside = method.cost(), method.cost(outside=True)
    calls = len(method.report.partitions)
    groups = {f"call{i}": Group(f"delegate call {i}", _HUES[i % len(_HUES)]) for i in range(calls)}
    groups["outside"] = Group("outside", OUTSIDE_HUE, stands_out=True)
    groups["checked"] = Group("read by ExecuTorch itself", None)
    groups["border"] = BORDER
    nodes = [_node(node, everything) for node in method.nodes]
    drawn = {"border", *(node.group for node in nodes)}
    groups = {key: group for key, group in groups.items() if key in drawn}
    inputs = [border_node(one.name, one.type, "input") for one in method.inputs]
    outputs = [border_node(f"output {k}", one.type, "output", (one.name,)) for k, one in enumerate(method.outputs)]
    summary: Facts = (
        ("delegated", f"{sum(map(len, method.operators))} of {count(len(method.nodes), 'operator')}"),
        ("delegate calls", str(calls)),
        ("arithmetic outside", f"{share(outside.flop, everything.flop)} of {flop(everything.flop)}"),
        ("bytes outside", f"{share(outside.bytes, everything.bytes)} of {size(everything.bytes)}"),
    )
    return Picture(name, summary, groups, COSTS, [*inputs, *simplified(nodes), *outputs])


def _group(node: ExplainedNode) -> str:
    """What is neither in a delegate call nor refused gives a call an integer."""
    return f"call{node.call}" if node.call is not None else "outside" if node.reason is not None else "checked"


def _node(node: ExplainedNode, everything) -> Node:
    parts = node.target.split(".")
    return Node(
        node.name,
        parts[1] if len(parts) > 1 else node.target,
        node.type,
        _group(node),
        _facts(node, everything),
        _relative(node.modules),
        node.inputs,
        {"flop": node.cost.flop, "bytes": node.cost.bytes},
    )


def _facts(node: ExplainedNode, everything) -> Facts:
    hint = node.reason and advice(node.reason)
    facts = (
        ("operator", node.target),
        ("where", "outside" if node.call is None else f"delegate call {node.call}"),
        ("why", node.reason),
        ("mend", hint),
        ("result", node.type),
        ("module", node.module or "the model itself"),
        ("line", f"{node.place}  {node.place.code}".rstrip() if node.place else None),
        ("arithmetic", f"{flop(node.cost.flop)}, {share(node.cost.flop, everything.flop)}"),
        ("bytes", f"{size(node.cost.bytes)}, {share(node.cost.bytes, everything.bytes)}"),
    )
    return tuple((name, text) for name, text in facts if text)


def _relative(modules: tuple[str, ...]) -> tuple[str, ...]:
    """Each name without that of the module around it, unless it is a number."""
    found = []
    for outer, name in zip(("", *modules), modules, strict=False):
        short = name.removeprefix(f"{outer}.")
        found.append(f"{outer.rpartition('.')[2]}.{short}" if short[:1].isdigit() and outer else short)
    return tuple(found)
