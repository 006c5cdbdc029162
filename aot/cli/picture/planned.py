# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The picture of a method of a program: its instructions, and the plan of delegates of ours."""

import dataclasses
from collections.abc import Mapping, Sequence

from ..blob import Blob
from ..blob import Node as BlobNode
from ..output import count, flop, share, size
from ..profile import Event
from ..program import Method
from .model import BORDER, COSTS, OUTSIDE_HUE, Facts, Group, Measure, Memory, Node, Picture, border_node, simplified
from .sections import sections

_GROUPS = {
    "XNNPACK": Group("XNNPACK", 255),
    "kernel": Group("kernel of et_xnnpack", 155),
    "row": Group("pass over memory", 305),
    "fused pass": Group("pass over memory with others", 335),
    "view": Group("view, no code", None),
    "delegate": Group("delegate", 200),
    "outside": Group("outside of delegates", OUTSIDE_HUE, stands_out=True),
    "border": BORDER,
}
_PASS = "fused pass"


def picture_of(method: Method, blobs: Mapping[int, Blob | None], events: Sequence[Event] | None = None) -> Picture:
    """``blobs`` by the index of the delegate; ``events`` of a profile, if there is one."""
    drawing = _Drawing(method, blobs, _times(method, blobs, events or ()))
    measures = COSTS if events is None else {"ms": Measure("time", "ms"), **COSTS}
    drawn = {node.group for node in drawing.nodes}
    groups = {key: group for key, group in _GROUPS.items() if key in drawn}
    others = {key: Group(f"delegate: {key}", None) for key in drawn if key not in groups}
    return Picture(
        method.name, _summary(method, blobs, events), groups | others, measures, simplified(drawing.nodes),
        _memory(method, blobs),
    )  # fmt: skip


def _summary(method: Method, blobs: Mapping[int, Blob | None], events: Sequence[Event] | None) -> Facts:
    found = [
        ("delegate calls", str(sum(d.calls for d in method.delegates))),
        ("operators outside", str(sum(method.operators.values()))),
        ("memory planned by ExecuTorch", ", ".join(map(size, method.pools)) or "nothing"),
    ]
    for delegate in method.delegates:
        if (blob := blobs[delegate.index]) is not None:
            weights = sum(value.stored_bytes for value in blob.constants)
            name = f"delegate {delegate.index}"
            found.append((name, f"{count(len(blob.nodes), 'node')}, constants {size(weights)}"))
    if events is not None:
        found.append(("time of one call", f"{sum(e.milliseconds for e in events):.3g} ms, medians added"))
        converted = sum(
            e.milliseconds for e in events if e.delegate is not None and not e.nodes and "all of" not in e.name
        )
        if converted:
            found.append(("of it in steps that are not drawn", f"{converted:.3g} ms"))
    return tuple(found)


def _id(instruction: int, node: int | None = None) -> str:
    return f"{instruction}" if node is None else f"{instruction}.{node}"


def _calls(method: Method) -> list[int]:
    """The instructions that call delegates, in their order."""
    return [at for at, one in enumerate(method.instructions) if one.kind == "delegate"]


@dataclasses.dataclass(frozen=True)
class _Time:
    milliseconds: float  #: the node's part, of a pass of several
    text: str


def _times(method: Method, blobs: Mapping[int, Blob | None], events: Sequence[Event]) -> dict[str, _Time]:
    """The time of each drawn node."""
    total = sum(event.milliseconds for event in events)
    calls = _calls(method)
    found: dict[str, _Time] = {}
    whole: dict[str, float] = {}  # of what is one node here
    operators = [at for at, one in enumerate(method.instructions) if one.kind == "operator"]
    outside = [event for event in events if event.delegate is None]
    if len(outside) == len(operators):
        whole |= {_id(at): event.milliseconds for at, event in zip(operators, outside, strict=True)}
    for event in events:
        if event.delegate is None or event.delegate >= len(calls):
            continue
        at = calls[event.delegate]
        if blobs[method.instructions[at].delegate] is None:
            whole[_id(at)] = whole.get(_id(at), 0.0) + event.milliseconds
        for node in event.nodes:
            others = f" for a pass of {len(event.nodes)} nodes" if len(event.nodes) > 1 else ""
            text = f"{event.milliseconds:.3g} ms, {share(event.milliseconds, total)}{others}"
            found[_id(at, node)] = _Time(event.milliseconds / len(event.nodes), text)
    return found | {i: _Time(ms, f"{ms:.3g} ms, {share(ms, total)}") for i, ms in whole.items()}


class _Drawing:
    """The nodes of a method. A value is known by the node that makes it."""

    def __init__(self, method: Method, blobs: Mapping[int, Blob | None], times: Mapping[str, _Time]):
        self.nodes: list[Node] = []
        self._method, self._times = method, times
        self._made: dict[int, str] = {}
        for k, i in enumerate(method.inputs):
            self._made[i] = f"input {k}"
            self._add_border(f"input {k}", i, "input", ())
        for at, instruction in enumerate(method.instructions):
            blob = None if instruction.delegate is None else blobs[instruction.delegate]
            if blob is not None:
                self._add_delegate(at, instruction, blob)
            elif instruction.kind in ("delegate", "operator"):
                self._add_instruction(at, instruction)
        for k, i in enumerate(method.outputs):
            made = self._made.get(method.flow[-1].reads[i])
            self._add_border(f"output {k}", i, "output", () if made is None else (made,))

    def _add_border(self, name: str, value: int, border: str, inputs: tuple[str, ...]) -> None:
        info = self._method.values[value]
        text = info if isinstance(info, str) else info.type
        self.nodes.append(border_node(name, text, border, inputs))

    def _add_instruction(self, at: int, instruction) -> None:
        """An operator, or a delegate of others, as one node."""
        flow = self._method.flow[at]
        inputs = [self._made[i] for i in flow.reads.values() if i in self._made]
        self._made.update(dict.fromkeys(flow.writes, _id(at)))
        types = ", ".join(self._method.values[i].type for i in flow.writes)
        facts = [("instruction", str(at)), ("operator", instruction.name), ("result", types)]
        label, group = instruction.name, "outside"
        if instruction.delegate is None:
            label = instruction.name.removeprefix("aten.").removesuffix(".out")
            facts.append(("why", "no delegate took it: et-xnnpack explain says why, for the model that it was made of"))
        else:
            delegate = self._method.delegates[instruction.delegate]
            group = "delegate"
            facts += [("size", size(len(delegate.data))), *delegate.specs.items()]
            facts.append(("why", "a delegate of another backend, of which ExecuTorch's schema tells no more"))
        self._append(Node(_id(at), label, types, group, tuple(facts), inputs=tuple(dict.fromkeys(inputs))))

    def _add_delegate(self, at: int, instruction, blob: Blob) -> None:
        made: dict[int, str] = {}
        border, reads = len(blob.inputs), self._method.flow[at].reads
        for i, value in zip(instruction.arguments[:border], blob.inputs, strict=False):
            if value is not None and (source := self._made.get(reads.get(i, i))) is not None:
                made[value] = source
        name = f"delegate {instruction.delegate}: {instruction.name}"
        paths = _paths(blob)
        for node in blob.nodes:
            node_id = _id(at, node.index)
            inputs = (made[i] for i in node.inputs if i in made)
            detail = blob.values[node.outputs[0]].type
            group = "kernel" if node.choice is None else node.choice.by
            self._append(
                Node(
                    node_id,
                    _label(node),
                    detail,
                    group,
                    _facts(node, blob),
                    (name, *paths[node.index]),
                    tuple(dict.fromkeys(inputs)),
                    {"flop": node.cost.flop, "bytes": node.cost.bytes},
                )
            )
            made.update(dict.fromkeys(node.outputs, node_id))
        for i, value in zip(instruction.arguments[border:], blob.outputs, strict=False):
            if value in made:
                self._made[i] = made[value]

    def _append(self, node: Node) -> None:
        if (time := self._times.get(node.id)) is not None:
            facts = (*node.facts, ("time", time.text))
            node = dataclasses.replace(node, facts=facts, amounts={**node.amounts, "ms": time.milliseconds})
        self.nodes.append(node)


def _label(node: BlobNode) -> str:
    """Of a unary or binary node what it computes."""
    words = dict(word.partition("=")[::2] for word in node.attributes.split())
    return words.get("kind", node.op)


def _paths(blob: Blob) -> list[tuple[str, ...]]:
    """The section, if there are several, and the pass of several nodes."""
    maker = {value: node.index for node in blob.nodes for value in node.outputs}
    parts = sections([[maker[i] for i in node.inputs if i in maker] for node in blob.nodes])
    found: list[tuple[str, ...]] = []
    for part in parts:
        outer = (f"nodes {part[0]} to {part[-1]}",) if len(parts) > 1 else ()
        for node in (blob.nodes[i] for i in part):
            is_pass = node.choice is not None and node.choice.by == _PASS
            found.append((*outer, f"step {node.choice.step}: one pass") if is_pass else outer)
    return found


def _facts(node: BlobNode, blob: Blob) -> Facts:
    choice = node.choice
    constants = (blob.values[i] for i in node.inputs if i is not None and blob.values[i].is_constant)
    facts = [("node", node.name)]
    if choice is not None:
        step = "no step" if choice.step is None else f"step {choice.step}"
        facts += [("by", f"{choice.by}, {step}"), ("why", choice.reason)]
    facts += [
        ("result", ", ".join(blob.values[i].type for i in node.outputs)),
        ("attributes", node.attributes),
        ("constants", ", ".join(f"{value.type} {size(value.stored_bytes)}" for value in constants)),
        ("arithmetic", flop(node.cost.flop)),
        ("bytes", size(node.cost.bytes)),
    ]
    return tuple((name, text) for name, text in facts if text)


def _memory(method: Method, blobs: Mapping[int, Blob | None]) -> Memory | None:
    """Of ExecuTorch's plan, and on top of it of values inside of delegates of ours."""
    moments, planned, inside = [], [], []
    for at, (instruction, live) in enumerate(zip(method.instructions, method.live_bytes, strict=True)):
        blob = None if instruction.delegate is None else blobs[instruction.delegate]
        if blob is not None:
            moments += [_id(at, node.index) for node in blob.nodes]
            planned += [live] * len(blob.nodes)
            inside += blob.live_bytes
        elif instruction.kind in ("delegate", "operator"):
            moments.append(_id(at))
            planned.append(live)
            inside.append(0)
    if not any(planned) and not any(inside):
        return None
    labels = ("planned by ExecuTorch", "values inside of delegates")
    return Memory(labels, tuple(moments), (tuple(planned), tuple(inside)))
