# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Lowers a group of nodes dry, as the program of its own that ExecuTorch will make of it.

``Support`` looks at each node where it stands in the whole program. In a program of its own what
others read leaves it, and its sizes must come from its inputs: both may be reasons to refuse.
"""

import dataclasses
import operator
from collections.abc import Iterable, Iterator, Mapping

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx import Graph as FxGraph
from torch.fx import Node as FxNode

from ...serialization.serialize import DimTable
from ..ir import Value, dims
from .lower import Lowering
from .nodes import is_check, is_size
from .unsupported import Unsupported, explain


@dataclasses.dataclass(frozen=True)
class _Signature:
    """What ``Lowering`` reads of a program's signature; nothing is written to."""

    inputs_to_parameters: Mapping[str, str]
    inputs_to_buffers: Mapping[str, str]
    inputs_to_lifted_tensor_constants: Mapping[str, str]
    buffers_to_mutate: Mapping[str, str]
    parameters_to_mutate: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class _Part:
    """A group of nodes with its own inputs and outputs, as far as ``Lowering`` reads a program."""

    graph: FxGraph
    graph_signature: _Signature
    state_dict: Mapping[str, torch.Tensor]
    constants: Mapping[str, object]
    range_constraints: Mapping


def _part(program: ExportedProgram, group: Iterable[FxNode]) -> tuple[_Part, dict[FxNode, FxNode]]:
    """The part and, by its nodes, those of ``program``."""
    members = set(group)
    graph = FxGraph()
    copies: dict[FxNode, FxNode] = {}

    def copy_of(node: FxNode) -> FxNode:
        """What stands for ``node``: an input, unless a member of the group was copied."""
        if node not in copies:
            copies[node] = graph.placeholder(node.name)
            copies[node].name = node.name
            copies[node].meta = node.meta
        return copies[node]

    ordered = [node for node in program.graph.nodes if node in members]
    for node in ordered:
        for source in node.all_input_nodes:
            if source not in members:
                copy_of(source)
    results = []
    for node in ordered:
        copies[node] = graph.node_copy(node, copy_of)
        if any(user not in members for user in node.users):
            results.append(copies[node])
    graph.output(tuple(results))
    signature = _Signature(*(getattr(program.graph_signature, f.name) for f in dataclasses.fields(_Signature)))
    part = _Part(graph, signature, program.state_dict, program.constants, program.range_constraints)
    return part, {copy: node for node, copy in copies.items()}


class _Trial(Lowering):
    """``lower`` without data, which goes on where that refuses."""

    def __init__(self, part: _Part):
        super().__init__(part)
        self.refused: dict[FxNode, str] = {}
        self._made: dict[FxNode, tuple[int, int]] = {}  # the nodes of the IR that stand for one

    def run(self) -> None:
        for node in self.program.graph.nodes:
            before = len(self.nodes)
            try:
                if node.op == "placeholder":
                    self.placeholder(node)
                elif node.op == "output":
                    self._results(node.args[0])
                elif not is_size(node) and not is_check(node):
                    self.env[node] = self.lower_node(node)
                    self._made[node] = before, len(self.nodes)
            except Exception as error:
                self._refuse(node, explain(error, node))
        self._check_sizes()

    def placeholder(self, node: FxNode) -> None:
        tensor = node.meta["val"]
        if self.placeholders.constant_tensor(node) is not None:
            self.env[node] = self.stand_in(node)
        elif isinstance(tensor, torch.Tensor):  # also a buffer that the program writes to
            self.env[node] = self._graph_input(node, tensor)
        else:
            super().placeholder(node)

    def _results(self, results) -> None:
        for result in results:
            if is_size(result) or result in self.refused:
                continue
            try:
                self.graph_output(result)
            except Exception as error:
                self._refuse(result, explain(error, result))

    def _check_sizes(self) -> None:
        """Every size must be one that the runtime can compute from the inputs."""
        table = DimTable(self.build_plain())
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                value = self.env.get(node)
                sizes = () if value is None or value.constant is not None else value.shape
            else:
                sizes = self._sizes_of(node)
            try:
                for size in sizes:
                    table.encode(size)
            except ValueError as error:
                self._refuse(node, str(error))

    def _sizes_of(self, node: FxNode) -> Iterator[dims.Dim]:
        for made in self.nodes[slice(*self._made.get(node, (0, 0)))]:
            for name in made.outputs:
                yield from self.values[name].shape
            for field in dataclasses.fields(made.attributes):
                value = getattr(made.attributes, field.name)
                for item in value if isinstance(value, tuple) else (value,):
                    if isinstance(item, sympy.Expr):
                        yield item

    def _refuse(self, node: FxNode, reason: str) -> None:
        """Goes on as if ``node`` were an input."""
        if node.op == "placeholder":
            for user in node.users:
                self.refused.setdefault(user, reason)
        else:
            source = node.args[0] if node.target is operator.getitem else node
            self.refused.setdefault(source, reason)
        if node in self.env:
            return
        value = node.meta.get("val")
        self.env[node] = (
            [self._assumed(node, v) for v in value]
            if isinstance(value, (tuple, list))
            else (self._assumed(node, value))
        )

    def _assumed(self, node: FxNode, tensor) -> Value | None:
        try:
            meta = self._meta(tensor)
        except Unsupported:
            return None
        value = self.value(meta.dtype, meta.shape, node.name)
        self.input(value)
        return value


def try_group(program: ExportedProgram, group: Iterable[FxNode]) -> dict[FxNode, str]:
    """The nodes of ``group`` that cannot be in it, with the reasons; empty if all can."""
    part, originals = _part(program, group)
    trial = _Trial(part)
    trial.run()
    return {originals[node]: reason for node, reason in trial.refused.items() if node.op == "call_function"}
