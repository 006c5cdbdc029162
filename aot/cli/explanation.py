# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What partitioning would do with a model, node by node, with the place in the user's source and the cost."""

import collections
import dataclasses
import os
import re
from collections.abc import Mapping
from pathlib import Path

import torch
from torch.export import ExportedProgram
from torch.fx import Node as FxNode

from ..cost import Cost, cost_of
from ..lowering.nodes import is_size, target_name
from ..partitioner import EtXnnpackPartitioner
from ..report import Report
from .advice import advice

_FRAME = re.compile(
    r'^\s*File "(?P<file>.+?)", line (?P<line>\d+)(?:, in (?P<function>.+))?\n(?P<code>(?!\s*File ").*)?', re.M
)
_LIBRARIES = tuple(str(Path(module.__file__).parent) + "/" for module in (torch,))


@dataclasses.dataclass(frozen=True)
class Place:
    """A line of Python."""

    file: str
    line: int
    code: str

    def __str__(self) -> str:
        """As it is seen from here, if it is below."""
        path = os.path.relpath(self.file)
        return f"{self.file if path.startswith('..') and Path(self.file).is_absolute() else path}:{self.line}"


@dataclasses.dataclass(frozen=True)
class ExplainedNode:
    """A node that computes, of the graph that the partitioner sees."""

    name: str
    target: str
    call: int | None  #: the delegate call that it is in
    reason: str | None  #: why it is outside
    module: str  #: the qualified name of the module that it comes from
    modules: tuple[str, ...]  #: and of those around it, the outermost first
    place: Place | None
    cost: Cost
    inputs: tuple[str, ...]  #: the nodes and inputs of the method that it reads
    type: str  #: of the result


@dataclasses.dataclass(frozen=True)
class Border:
    """An input of the method, or what makes one of its outputs."""

    name: str
    type: str


@dataclasses.dataclass(frozen=True)
class ExplainedMethod:
    report: Report
    nodes: tuple[ExplainedNode, ...]
    inputs: tuple[Border, ...] = ()
    outputs: tuple[Border, ...] = ()

    @property
    def outside(self) -> list[ExplainedNode]:
        return [node for node in self.nodes if node.reason is not None]

    @property
    def operators(self) -> list[list[str]]:
        """Of each delegate call. What takes one of several results computes nothing."""
        return [[target for target in targets if target != "getitem"] for targets in self.report.delegated]

    def cost(self, call: int | None = None, outside: bool = False) -> Cost:
        """Of everything, of one delegate call, or of what is outside."""
        chosen = self.outside if outside else [n for n in self.nodes if call is None or n.call == call]
        return sum((node.cost for node in chosen), Cost())

    def to_dict(self) -> dict[str, object]:
        everything, outside = self.cost(), self.cost(outside=True)
        return {
            "is_full": self.report.is_full,
            "calls": [
                {
                    "operators": dict(collections.Counter(targets)),
                    **dataclasses.asdict(self.cost(call=i)),
                    "waits_for": list(self.report.between[i]) if i < len(self.report.between) else [],
                }
                for i, targets in enumerate(self.operators)
            ],
            "outside": [_outside_dict(node) for node in self.outside],
            "flop": {"all": everything.flop, "outside": outside.flop},
            "bytes": {"all": everything.bytes, "outside": outside.bytes},
            "unmatched": list(self.report.unmatched),
        }


def _outside_dict(node: ExplainedNode) -> dict[str, object]:
    return {
        "node": node.name,
        "target": node.target,
        "reason": node.reason,
        "advice": advice(node.reason),
        "module": node.module,
        "source": dataclasses.asdict(node.place) if node.place else None,
        **dataclasses.asdict(node.cost),
    }


class _Explainer(EtXnnpackPartitioner):
    """Keeps what it decides about each node."""

    def __init__(self, **options):
        super().__init__(**options)
        self.methods: dict[str, ExplainedMethod] = {}

    def decided(self, program, groups, report):
        self.methods[report.method] = ExplainedMethod(
            report, tuple(_nodes(program, groups, report)), tuple(_inputs(program)), tuple(_outputs(program))
        )


def explain_programs(programs: Mapping[str, ExportedProgram], **options) -> dict[str, ExplainedMethod]:
    """Each method of a model, with options of ``EtXnnpackPartitioner``. Lowers nothing."""
    explainer = _Explainer(**options)
    explainer.dry_run(dict(programs))
    return explainer.methods


def _inputs(program: ExportedProgram):
    names = program.graph_signature.user_inputs
    return (Border(n.name, _type(n)) for n in program.graph.nodes if n.op == "placeholder" and n.name in names)


def _outputs(program: ExportedProgram):
    """Numbers are not drawn, and neither is what goes into buffers."""
    names = program.graph_signature.user_outputs
    made = {node.name: node for node in program.graph.nodes}
    found = (made[name] for name in names if isinstance(name, str) and name in made)
    return (Border(_source(node).name, _type(node)) for node in found if not is_size(node))


def _nodes(program: ExportedProgram, groups: list[list[FxNode]], report: Report):
    users = set(program.graph_signature.user_inputs)
    call_of = {node: i for i, group in enumerate(groups) for node in group}
    reasons = {refusal.node: refusal.reason for refusal in report.refusals}
    for node in program.graph.nodes:
        if node.op != "call_function" or is_size(node):
            continue
        target = target_name(node)
        if target == "getitem":
            continue
        modules = modules_of(node)
        yield ExplainedNode(
            name=node.name,
            target=target,
            call=call_of.get(node),
            reason=reasons.get(node.name),
            module=modules[-1] if modules else "",
            modules=modules,
            place=place_of(node),
            cost=cost_of(node),
            inputs=tuple(
                _source(n).name
                for n in node.all_input_nodes
                if (n.op == "call_function" and not is_size(n)) or n.name in users
            ),
            type=_type(node),
        )


def _source(node: FxNode) -> FxNode:
    """What computes it: of one of several results the operator."""
    return node.args[0] if node.op == "call_function" and target_name(node) == "getitem" else node


def _type(node: FxNode) -> str:
    value = node.meta.get("val")
    first = value[0] if isinstance(value, (tuple, list)) and value else value
    if not isinstance(first, torch.Tensor):
        return ""
    return f"{str(first.dtype).removeprefix('torch.')}[{', '.join(map(str, first.shape))}]"


def modules_of(node: FxNode) -> tuple[str, ...]:
    """The qualified names of the modules around a node, the outermost first; the model itself has none."""
    found = (path for path, _ in (node.meta.get("nn_module_stack") or {}).values())
    return tuple(path.removeprefix("L['self'].") for path in found if path not in ("", "L['self']"))


def place_of(node: FxNode) -> Place | None:
    """The innermost line that is not PyTorch's own, as far as the program has kept it."""
    trace = node.meta.get("stack_trace") or ""
    frames = [
        Place(match["file"], int(match["line"]), (match["code"] or "").strip()) for match in _FRAME.finditer(trace)
    ]
    own = [frame for frame in frames if not frame.file.startswith(_LIBRARIES)]
    return (own or frames or [None])[-1]
