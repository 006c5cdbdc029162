# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What became of a program: for people as text, for tools as data."""

import collections
import dataclasses
import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path

from executorch.exir.delegate import executorch_call_delegate
from torch.export import ExportedProgram
from torch.fx import Node as FxNode

from .lowering.nodes import is_size, target_name


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why one node or buffer stays outside, or why an operator of the delegate computes in float32."""

    node: str  #: name in the graph: "aten_embedding_default"
    target: str  #: "aten.embedding.default"; in the delegate its name there, "Embedding"; of a buffer its name, "cache"
    reason: str


class _Report:
    """What a report of one method and one of several have in common."""

    @property
    def partitions(self) -> tuple[int, ...]:
        """The number of operators in each delegate call."""
        return tuple(len(targets) for targets in self.delegated)

    def save(self, path: str | PathLike) -> None:
        """Writes the report: as JSON if ``path`` ends in .json, else as text."""
        path = Path(path)
        path.write_text(json.dumps(self.to_dict(), indent=1) + "\n" if path.suffix == ".json" else f"{self}\n")


@dataclasses.dataclass(frozen=True)
class Report(_Report):
    """What the partitioner decided about one method."""

    delegated: tuple[tuple[str, ...], ...]  #: the operators of each delegate call
    refusals: tuple[Refusal, ...]
    #: what computes in float32 between dequantize and quantize in a quantized program; known when it is lowered
    float_fallbacks: list[Refusal] = dataclasses.field(default_factory=list)
    #: buffers that the program writes to and that are no state of the delegate; known when it is lowered
    buffers: list[Refusal] = dataclasses.field(default_factory=list)
    #: what the options of the partitioner name and the program does not have, as text
    unmatched: tuple[str, ...] = ()
    method: str = "forward"
    #: for each delegate call the nodes outside that it waits for and that read what an earlier call makes
    between: tuple[tuple[str, ...], ...] = ()

    @property
    def methods(self) -> dict[str, "Report"]:
        """The reports of all methods by name: of a program with one method just this."""
        return {self.method: self}

    @property
    def is_full(self) -> bool:
        """Whether everything that computes is in one delegate call."""
        return not self.refusals and len(self.delegated) <= 1

    def to_dict(self) -> dict[str, object]:
        """The report in types that JSON has."""
        return {
            "delegated": [dict(collections.Counter(targets)) for targets in self.delegated],
            "between": [list(nodes) for nodes in self.between],
            "outside": [dataclasses.asdict(r) for r in self.refusals],
            "float_fallbacks": [dataclasses.asdict(r) for r in self.float_fallbacks],
            "buffers": [dataclasses.asdict(r) for r in self.buffers],
            "unmatched": list(self.unmatched),
        }

    def __str__(self) -> str:
        lines = [
            f"{sum(self.partitions)} nodes in {len(self.partitions)} delegate call{'s' * (len(self.partitions) != 1)}, "
            f"{len(self.refusals)} outside"
        ]
        lines += _grouped(self.refusals)
        lines += [f"  before call {i}: {', '.join(nodes)}" for i, nodes in enumerate(self.between, 1) if nodes]
        if self.float_fallbacks:
            lines += [
                f"{len(self.float_fallbacks)} of a quantized program compute in float32",
                *_grouped(self.float_fallbacks),
            ]
        lines += [f"  the buffer {b.target} stays with ExecuTorch: {b.reason}" for b in self.buffers]
        lines += self.unmatched
        return "\n".join(lines)


class ProgramReport(_Report):
    """What the partitioner decided about several methods."""

    def __init__(self, methods: dict[str, Report]):
        self.methods = dict(methods)  #: the reports by name

    @property
    def delegated(self) -> tuple[tuple[str, ...], ...]:
        """The operators of each delegate call, of one method after the other."""
        return tuple(targets for report in self.methods.values() for targets in report.delegated)

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return tuple(refusal for report in self.methods.values() for refusal in report.refusals)

    @property
    def float_fallbacks(self) -> list[Refusal]:
        """What computes in float32 between dequantize and quantize in a quantized program, of all methods."""
        return [refusal for report in self.methods.values() for refusal in report.float_fallbacks]

    @property
    def buffers(self) -> list[Refusal]:
        """Buffers that a method writes to and that are no state of its delegate, of all methods."""
        return [refusal for report in self.methods.values() for refusal in report.buffers]

    @property
    def unmatched(self) -> tuple[str, ...]:
        """What the options name and no method has."""
        first, *others = self.methods.values()
        return tuple(text for text in first.unmatched if all(text in report.unmatched for report in others))

    @property
    def is_full(self) -> bool:
        """Whether everything that computes in a method is in one delegate call, for each method."""
        return all(report.is_full for report in self.methods.values())

    def to_dict(self) -> dict[str, object]:
        """The reports by name, in types that JSON has."""
        return {"methods": {name: report.to_dict() for name, report in self.methods.items()}}

    def __str__(self) -> str:
        return "\n".join(f"{name}: {report}" for name, report in self.methods.items())


def nodes_between(program: ExportedProgram, groups: Sequence[Iterable[FxNode]]) -> tuple[tuple[str, ...], ...]:
    """``Report.between`` of delegate calls of these nodes: those that read the last call before."""
    call = {node: i for i, group in enumerate(groups) for node in group}
    last: dict[FxNode, int] = {}  # the last call that a node needs
    for node in program.graph.nodes:
        last[node] = call.get(node, max((last[n] for n in node.all_input_nodes), default=-1))
    needed: dict[FxNode, set[int]] = {}  # the calls that wait for a node outside, with no other call between
    for node in reversed(program.graph.nodes):
        if node not in call and last[node] >= 0:
            readers = [{call[u]} if u in call else needed[u] for u in node.users]
            needed[node] = set().union(*readers)
    found: list[list[FxNode]] = [[] for _ in groups]
    for node in needed:
        if any(call.get(n) == last[node] for n in node.all_input_nodes):
            for i in needed[node]:
                found[i].append(node)
    latest = [max((last[n] for n in nodes), default=-1) for nodes in found]
    return tuple(
        tuple(n.name for n in reversed(nodes) if last[n] == at) for nodes, at in zip(found, latest, strict=True)
    )


def _grouped(refusals) -> list[str]:
    groups = collections.Counter((r.target, r.reason) for r in refusals)
    return [f"  {count} x {target}: {reason}" for (target, reason), count in groups.items()]


class NotFullyDelegated(RuntimeError):
    """A method is not one delegate call with nothing outside; ``report`` has the reasons."""

    def __init__(self, report: Report):
        self.report = report
        super().__init__(f"the program is not one delegate call with nothing outside: {report}")


def count_delegation(program: ExportedProgram) -> tuple[int, dict[str, int]]:
    """Of a lowered program the number of delegate calls, of any backend, and how often each
    operator is outside them, the most frequent first. Arithmetic on sizes does not count."""
    nodes = [n for n in program.graph.nodes if n.op == "call_function"]
    calls = sum(n.target is executorch_call_delegate for n in nodes)
    outside = collections.Counter(target_name(n) for n in nodes if not is_size(n))
    del outside["getitem"], outside[executorch_call_delegate.__name__]
    return calls, dict(outside.most_common())
