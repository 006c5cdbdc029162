# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Decides which nodes of a program are delegated, and in which groups."""

import collections
import copy
import logging
import operator
from collections.abc import Mapping, Sequence

import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.utils import tag_constant_data
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node as FxNode

from . import ops, progress
from .backend import BACKEND_ID, ReportedSpecs, check_compile_specs, runtime_specs
from .collector import no_full_collections
from .custom_ops import can_be_custom_op, custom_op, needs_custom_op
from .float64_numbers import decompose_float64, keep_float64_numbers
from .fold_float64 import fold_float64
from .lowering import Support, is_check, is_size, reads_or_checks_integer, target_name, try_group
from .placeholders import Placeholders
from .prepare import prepare
from .private.executorch import method_being_lowered
from .private.shape_env import keep_ranges
from .private.sizes import symbols_found_by, symbols_of, symbols_of_inputs
from .private.torch import OpOverload, keep_output_last
from .report import NotFullyDelegated, ProgramReport, Refusal, Report, nodes_between
from .selection import Selection

logger = logging.getLogger(__name__)


def _groups(program: ExportedProgram, support: Support) -> list[list[FxNode]]:
    """The nodes to delegate, as few groups as possible without a cycle between any two."""
    outside: set[FxNode] = set()
    while True:
        groups, folded, depth = _by_depth(program, support, outside)
        groups = _sink(program, groups)
        _place_folded(folded, groups)
        _place_checks(program, groups)
        torn = _place_sizes(program, groups, depth) - outside
        if not torn:
            return [groups[d] for d in sorted(groups)]
        outside |= torn


def _by_depth(program: ExportedProgram, support: Support, outside: set[FxNode]):
    """The nodes to delegate by depth, those that compute constants, and the depth of every node.

    The depth of a node is how often a path that ends in it enters a delegate. Nodes of
    equal depth form a group: a path that leaves the group through a node outside can
    come back to a greater depth only. A size, other than those ``outside``, may be computed
    inside of a delegate or outside: a path through it enters a delegate where the next node does.
    """
    depth: dict[FxNode, int] = {}
    entered: dict[FxNode, int] = {}  # the depth of a node of the delegate that reads this one
    groups: dict[int, list[FxNode]] = collections.defaultdict(list)
    folded: list[FxNode] = []
    for node in program.graph.nodes:
        operands = node.all_input_nodes
        depth[node] = max((depth[n] for n in operands), default=0)
        if node.op != "call_function":
            entered[node] = 1
            continue
        inside = max((entered[n] for n in operands), default=1)
        if _is_free_size(node) and node not in outside:
            entered[node] = inside
        elif is_size(node) or support.reason(node) is not None:
            entered[node] = depth[node] + 1
        elif support.is_constant(node):
            folded.append(node)
            depth[node], entered[node] = 0, 1
        else:
            groups[inside].append(node)
            depth[node] = entered[node] = inside
    return groups, folded, depth


def _computes(node: FxNode) -> bool:
    return not is_size(node) and not reads_or_checks_integer(node)


def _is_free_size(node: FxNode) -> bool:
    """Whether it computes a size from others and from shapes: one read off a tensor is an argument."""
    from_tensor = target_name(node) == "aten._local_scalar_dense.default"
    return node.op == "call_function" and is_size(node) and not from_tensor


def _sink(program: ExportedProgram, groups: dict[int, list[FxNode]]) -> dict[int, list[FxNode]]:
    """Moves a node that only later groups read into the first of them: fewer, larger groups.

    Its operands come from groups that are earlier still, so no cycle can arise.
    """
    depth_of = {node: depth for depth, group in groups.items() for node in group}
    for node in reversed(program.graph.nodes):
        if node not in depth_of or node.target is operator.getitem:
            continue
        parts = [user for user in node.users if user.target is operator.getitem]
        readers = [user for user in node.users if user.target is not operator.getitem]
        readers += [user for part in parts for user in part.users]
        if readers and all(reader in depth_of for reader in readers):
            depth_of[node] = min(depth_of[reader] for reader in readers)
            depth_of.update(dict.fromkeys(parts, depth_of[node]))
    sunk: dict[int, list[FxNode]] = collections.defaultdict(list)
    for node in program.graph.nodes:
        if node in depth_of:
            sunk[depth_of[node]].append(node)
    return sunk


def _place_folded(folded: list[FxNode], groups: dict[int, list[FxNode]]) -> None:
    """Puts a node that computes a constant beside the one node that reads it, and a result into the first group."""
    group_of = {node: group for group in groups.values() for node in group}
    first = groups[min(groups)] if groups else None
    for node in reversed(folded):
        (user,) = node.users
        group = first if user.op == "output" else group_of.get(user)
        if group is not None:
            group.append(node)
            group_of[node] = group


def _place_checks(program: ExportedProgram, groups: dict[int, list[FxNode]]) -> None:
    """Puts checks of sizes that one group finds in data into that group.

    Its delegate checks the ranges of these sizes. What says more would be left out by ExecuTorch, and must not make the
    sizes results of the delegate.
    """
    finder = {}
    for depth, group in groups.items():
        for node in group:
            finder.update(dict.fromkeys(symbols_found_by(node), depth))
    inputs = set() if not finder else symbols_of_inputs(program.graph)
    for node in program.graph.nodes if finder else ():
        if is_check(node):
            condition = node.args[0].meta["val"] if isinstance(node.args[0], FxNode) else None
            depths = {finder.get(symbol) for symbol in symbols_of(condition) - inputs}
            if len(depths) == 1 and None not in depths:
                groups[depths.pop()].append(node)


def _place_sizes(program: ExportedProgram, groups: dict[int, list[FxNode]], depth: Mapping[FxNode, int]) -> set[FxNode]:
    """Puts a size that only one group reads into that group.

    Returns those that others read, too, while a group reads them that they depend on.
    """
    depth_of = {node: d for d, group in groups.items() for node in group}
    torn = set()
    for node in reversed(program.graph.nodes):
        if node.users and _is_free_size(node):
            readers = {depth_of.get(user) for user in node.users}
            if len(readers) > 1 and depth[node] in readers:
                torn.add(node)
            elif len(readers) == 1 and None not in readers:
                depth_of[node] = readers.pop()
                groups[depth_of[node]].append(node)
    return torn


def _tag_states(program: ExportedProgram) -> list[Refusal]:
    """Gives a buffer that the program writes to to the delegate that alone reads and writes it.

    Any other one stays with ExecuTorch: an input, and a result that ExecuTorch copies back. Returns why.
    """
    known = Placeholders(program)
    placeholders = {known.mutated_buffer(n): n for n in program.graph.nodes if n.op == "placeholder"}
    results = program.graph.output_node().args[0]
    times = collections.Counter(results)
    owned: dict[str, dict[FxNode, FxNode]] = collections.defaultdict(dict)  # by tag: result and buffer
    left: dict[FxNode, str] = {}
    for spec, result in zip(program.graph_signature.output_specs, results, strict=True):
        if spec.kind != OutputKind.BUFFER_MUTATION:
            continue
        buffer = placeholders[spec.target]
        tag = result.meta.get("delegation_tag")
        readers = [*buffer.users, *(user for user in result.users if user.op != "output")]
        if tag is None or any(reader.meta.get("delegation_tag") != tag for reader in readers):
            left[buffer] = "an operator outside or another delegate call reads or writes it"
        elif not buffer.users:
            left[buffer] = "nothing reads it"
        elif times[result] > 1:
            left[buffer] = "what is written to it is another result, too"
        else:
            owned[tag][result] = buffer
    with_results = _tags_with_results(program, {result for states in owned.values() for result in states})
    for tag, states in owned.items():
        if tag not in with_results:
            smallest = min(states, key=lambda result: result.meta["val"].numel())
            left[states.pop(smallest)] = (
                "ExecuTorch drops a call without a result, so this buffer is one; have the method return a tensor"
            )
        for buffer in states.values():
            buffer.meta["delegation_tag"] = tag
    return [Refusal(buffer.name, known.mutated_buffer(buffer), reason) for buffer, reason in left.items()]


def _leave_parameters(program: ExportedProgram) -> None:
    """Parameters that the program writes to stay with ExecuTorch."""
    placeholders = Placeholders(program)
    for node in program.graph.nodes:
        if placeholders.is_mutated_parameter(node):
            node.meta.pop("delegation_tag", None)


def _tags_with_results(program: ExportedProgram, states: set[FxNode]) -> set[str]:
    """The tags of delegates that make something other than ``states`` that anything outside reads."""
    found = set()
    for node in program.graph.nodes:
        tag = node.meta.get("delegation_tag")
        if tag is not None and node not in states and any(u.meta.get("delegation_tag") != tag for u in node.users):
            found.add(tag)
    return found


class EtXnnpackPartitioner(Partitioner):
    """Tags what et_xnnpack runs; use it with ``to_edge_transform_and_lower`` or ``to_backend``.

    After ``partition``, ``report`` says what was delegated, what was left outside and why; of a program of
    several methods it has ``methods``, a report of each.

    - ``compile_specs``: those that ``runtime_options`` stands for, in ExecuTorch's form.
    - ``allow_operators``, ``block_operators``, ``allow_modules``, ``block_modules``: see ``Selection``.
    - ``min_partition_size``: a group of fewer operators is not worth a delegate call.
    - ``require_full_delegation``: raise ``NotFullyDelegated``, with every reason, unless each method
      becomes exactly one delegate call with nothing outside.
    - ``runtime_options``: what the program asks the runtime for, such as ``{"num_threads": 1}``; what the
      process that loads it sets counts more.

    Raises TypeError or ValueError for an option that is wrong, with the nearest good value.
    """

    def __init__(
        self,
        compile_specs: list[CompileSpec] | None = None,
        *,
        allow_operators: Sequence[str] = (),
        block_operators: Sequence[str] = (),
        allow_modules: Sequence[str] = (),
        block_modules: Sequence[str] = (),
        min_partition_size: int = 1,
        require_full_delegation: bool = False,
        runtime_options: Mapping[str, bool | int | str] | None = None,
    ):
        super().__init__()
        specs = ReportedSpecs(runtime_specs({} if runtime_options is None else runtime_options))
        if compile_specs is not None:
            check_compile_specs(compile_specs)
            specs[:0] = compile_specs
        check_compile_specs(specs)
        if isinstance(min_partition_size, bool) or not isinstance(min_partition_size, int):
            raise TypeError(f"min_partition_size takes an integer, not {min_partition_size!r}")
        if min_partition_size < 1:
            raise ValueError(f"min_partition_size takes 1 or more, not {min_partition_size}")
        if not isinstance(require_full_delegation, bool):
            raise TypeError(f"require_full_delegation takes a bool, not {require_full_delegation!r}")
        self.delegation_spec = DelegationSpec(BACKEND_ID, specs)
        self.selection = Selection(allow_operators, block_operators, allow_modules, block_modules)
        self.min_partition_size = min_partition_size
        self.require_full_delegation = require_full_delegation
        self.report: Report | ProgramReport | None = None
        self._tags_nothing = False
        self._is_new = False  # nothing of the program that is being lowered was partitioned

    def dry_run(self, program: ExportedProgram, compile_config: EdgeCompileConfig | None = None) -> Report:
        """What lowering ``program``, as ``torch.export`` gives it, would delegate. Lowers nothing.

        Takes a fraction of the time of lowering; leaves ``program`` and ``report`` as they are.
        """
        dry = copy.copy(self)
        dry._tags_nothing = True
        dry.require_full_delegation = False
        to_edge_transform_and_lower(program, partitioner=[dry], compile_config=compile_config)
        return dry.report

    def transform_for_pre_decomposition(self, exported_program: ExportedProgram) -> ExportedProgram:
        return decompose_float64(prepare(exported_program), ops.ROWS)

    def ops_to_not_decompose(self, ep: ExportedProgram):
        """Operators to keep whole: those that every node of the program allows us to take.

        Where only some nodes of an operator do, custom operators that nothing decomposes take their places. Also keeps
        numbers of float64, folds that, and replaces operators that ExecuTorch would not let pass by custom ones, all in
        ``ep`` itself: no earlier hook sees a program whose operators write to nothing, no later one these operators.
        """
        self._is_new = True
        keep_float64_numbers(ep)
        fold_float64(ep)
        support = Support(ep, self.selection.reason)
        whole: dict[OpOverload, list[FxNode]] = collections.defaultdict(list)
        refused: set[OpOverload] = set()
        for node in ep.graph.nodes:
            if node.op == "call_function" and isinstance(node.target, OpOverload):
                row = ops.ROWS.get(target_name(node))
                if row is None or not (row.preserve or torch.Tag.core not in node.target.tags):
                    continue
                if support.reason(node) is None and not support.is_constant(node):
                    whole[node.target].append(node)
                else:
                    refused.add(node.target)
        for target, nodes in whole.items():
            is_taken = self.min_partition_size == 1  # a group of any size
            if is_taken and (needs_custom_op(target) or (target in refused and can_be_custom_op(target))):
                for node in nodes:
                    node.target = custom_op(target)
        return [target for target in whole if target not in refused], None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        # Before anything looks at shapes: the order of strides, for one, is found by comparing sizes.
        keep_ranges(exported_program.graph_module)
        computing = [node for node in exported_program.graph.nodes if node.op == "call_function" and _computes(node)]
        method = method_being_lowered() or "forward"
        with progress.work(f"et_xnnpack partitions {method}"), no_full_collections():
            progress.step(f"{len(computing)} nodes")
            groups, reasons = self._stable_groups(exported_program, computing)
        grouped = {node for group in groups for node in group}
        refusals = []
        for node in computing:
            reason = reasons[node]
            if reason is None and node not in grouped:
                reason = "computes a constant that nothing in the delegate reads"
            if reason is not None and node.target is not operator.getitem:
                refusals.append(Refusal(node.name, target_name(node), reason))
        report = Report(
            tuple(tuple(target_name(n) for n in group if _computes(n)) for group in groups),
            tuple(refusals),
            between=nodes_between(exported_program, groups),
            unmatched=tuple(self.selection.unmatched(computing)),
            method=method,
        )
        self._add(report)
        self.decided(exported_program, groups, report)
        if self.require_full_delegation and not report.is_full:
            raise NotFullyDelegated(report)
        specs = ReportedSpecs(self.delegation_spec.compile_specs)
        specs.report = report
        spec = DelegationSpec(self.delegation_spec.backend_id, specs)
        tags = {}
        if not self._tags_nothing:
            for group in groups:
                tag = f"et_xnnpack_{len(tags)}"
                tags[tag] = spec
                for node in group:
                    node.meta["delegation_tag"] = tag
            tag_constant_data(exported_program)
            _leave_parameters(exported_program)
            report.buffers.extend(_tag_states(exported_program))
            for buffer in report.buffers:
                logger.warning("%s: %s stays with ExecuTorch: %s", method, buffer.target, buffer.reason)
            keep_output_last(exported_program.graph_module)
        return PartitionResult(exported_program, tags)

    def decided(self, program: ExportedProgram, groups: list[list[FxNode]], report: Report) -> None:
        """Called with each method, the nodes of its delegate calls and the report, for subclasses that look closer.
        They change nothing."""

    def _add(self, report: Report) -> None:
        """Has ``self.report`` cover one more method of the program that is being lowered."""
        methods = {} if self._is_new or self.report is None else self.report.methods
        self._is_new = False
        methods = {**methods, report.method: report}
        self.report = report if len(methods) == 1 else ProgramReport(methods)
        logger.info("%s: %s", report.method, report)
        for text in report.unmatched:
            logger.warning("%s: %s", report.method, text)

    def _stable_groups(
        self, program: ExportedProgram, computing: list[FxNode]
    ) -> tuple[list[list[FxNode]], dict[FxNode, str | None]]:
        """Groups that ``preprocess`` takes whole, and why each other node stays outside.

        What leaves a group may have kept others apart: they are grouped anew until nothing leaves.
        """
        late: dict[FxNode, str] = {}
        while True:
            support = Support(program, lambda node: late.get(node) or self.selection.reason(node))
            groups = _groups(program, support)
            left = {}
            for group in groups:
                reason = self._reason_to_drop(group, computing)
                if reason is None:
                    left.update(try_group(program, group))
                else:
                    left.update((node, reason) for node in group if _computes(node))
            if not left:
                return groups, {node: support.reason(node) for node in computing}
            late.update(left)

    def _reason_to_drop(self, group: list[FxNode], computing: list[FxNode]) -> str | None:
        """Why ``group`` is not worth a delegate call; None if it is.

        It is worth one if it computes something, or if it is the whole program.
        """
        group = [node for node in group if _computes(node)]
        if len(group) < self.min_partition_size:
            return f"its group has {len(group)} operators, and min_partition_size is {self.min_partition_size}"
        if len(group) == len(computing):
            return None
        rows = [ops.ROWS.get(target_name(n)) for n in group]
        if any(row is not None and (row.preserve or not row.moves_data) for row in rows):
            return None
        return "its group only moves data, which is not worth a delegate call"
