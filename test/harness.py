# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""From a sample to a lowered program, and ways to run that."""

import dataclasses
import enum
import functools
import operator
import os
import pickle
from pathlib import Path

import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, is_available
from executorch.backends.et_xnnpack.aot.ir import Graph
from executorch.backends.et_xnnpack.aot.lowering import lower, target_name
from executorch.backends.et_xnnpack.aot.partitioner import Report
from executorch.backends.et_xnnpack.aot.passes import optimize
from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge, to_edge_transform_and_lower
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule
from executorch.runtime import Method, Runtime
from samples import Sample
from torch.export.graph_signature import OutputKind

#: For tests that run programs. Only a run with --without-runtime gets so far without the compiled part (conftest.py).
needs_runtime = pytest.mark.skipif(not is_available(), reason="the compiled part is not available")


def _delegates(program: torch.export.ExportedProgram) -> dict[str, LoweredBackendModule]:
    modules = program.graph_module.named_children()
    return {name: module for name, module in modules if isinstance(module, LoweredBackendModule)}


def only_delegate(manager: EdgeProgramManager, method: str = "forward") -> LoweredBackendModule:
    (delegate,) = _delegates(manager.exported_program(method)).values()
    return delegate


@dataclasses.dataclass(frozen=True)
class Lowered:
    """A program after the partitioner."""

    manager: EdgeProgramManager
    report: Report

    @property
    def program(self) -> torch.export.ExportedProgram:
        return self.manager.exported_program()

    @property
    def delegates(self) -> dict[str, LoweredBackendModule]:
        """The delegated parts by the name of their attribute."""
        return _delegates(self.program)

    @property
    def outside_nodes(self) -> list[torch.fx.Node]:
        """What is not delegated."""
        calls = (n for n in self.program.graph.nodes if n.op == "call_function")
        return [n for n in calls if n.target not in (executorch_call_delegate, operator.getitem)]

    @functools.cached_property
    def outside(self) -> list[str]:
        """The operators that are not delegated."""
        return [target_name(n) for n in self.outside_nodes]

    @functools.cached_property
    def buffer(self) -> bytes:
        """The program as a .pte file."""
        _ = self.outside  # of the program before ``to_executorch`` changes it
        return self.manager.to_executorch().buffer

    @functools.cached_property
    def graphs(self) -> dict[str, Graph]:
        """The graph of each delegate as ``lower`` leaves it."""
        return {name: lower(m.original_module) for name, m in self.delegates.items()}

    @functools.cached_property
    def optimized(self) -> dict[str, Graph]:
        """The graph of each delegate as it is serialized."""
        return {name: optimize(graph) for name, graph in self.graphs.items()}


def lower_exported(exported: torch.export.ExportedProgram, preserve: bool = True, **config) -> Lowered:
    partitioner = EtXnnpackPartitioner()
    config = EdgeCompileConfig(**config)
    if preserve:
        manager = to_edge_transform_and_lower(exported, partitioner=[partitioner], compile_config=config)
    else:
        manager = to_edge(exported, compile_config=config).to_backend(partitioner)
    return Lowered(manager, partitioner.report)


@dataclasses.dataclass(frozen=True)
class LoweredMethod(Lowered):
    """One of several in a program."""

    name: str

    @property
    def program(self) -> torch.export.ExportedProgram:
        return self.manager.exported_program(self.name)


def lower_methods(exported: dict[str, torch.export.ExportedProgram], **config) -> dict[str, LoweredMethod]:
    """Programs that become methods of one, by their names."""
    partitioners = {name: EtXnnpackPartitioner() for name in exported}
    manager = to_edge_transform_and_lower(
        dict(exported),
        partitioner={name: [partitioner] for name, partitioner in partitioners.items()},
        compile_config=EdgeCompileConfig(**config),
    )
    methods = {name: LoweredMethod(manager, partitioners[name].report, name) for name in exported}
    for method in methods.values():
        _ = method.outside  # of the program before ``to_executorch`` changes it
    return methods


def load_method(buffer: bytes, name: str = "forward") -> Method:
    """A method of a .pte file, whose bytes live as long as the method: it reads constants from them."""
    method = Runtime.get().load_program(buffer).load_method(name)
    method.buffer = buffer
    return method


@functools.lru_cache(maxsize=8)
def lower_sample(sample: Sample) -> Lowered:
    lowered = lower_exported(sample.export(), sample.preserve, **sample.config)
    coverages.add(sample, _cover(lowered))
    return lowered


@dataclasses.dataclass(frozen=True)
class Coverage:
    """What a sample exercises."""

    targets: frozenset[str]  #: ATen operators in the delegate
    operators: frozenset[str]  #: members of the schema's union in the blob
    kinds: frozenset[tuple[type, enum.IntEnum]]  #: and of its enums


class _Coverages:
    """What each sample that was lowered exercises, also by other processes of one test run."""

    def __init__(self):
        self._known: dict[Sample, Coverage] = {}
        self._folder: Path | None = None

    def share(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder

    def add(self, sample: Sample, coverage: Coverage) -> None:
        self._known[sample] = coverage
        if self._folder is not None:
            part = self._folder / f"{sample.name}.{os.getpid()}"
            part.write_bytes(pickle.dumps(coverage))
            part.rename(self._folder / sample.name)

    def find(self, sample: Sample) -> Coverage | None:
        path = None if self._folder is None else self._folder / sample.name
        if sample not in self._known and path is not None and path.exists():
            self._known[sample] = pickle.loads(path.read_bytes())
        return self._known.get(sample)


coverages = _Coverages()


def coverage(sample: Sample) -> Coverage:
    if coverages.find(sample) is None:
        lower_sample(sample)
    return coverages.find(sample)


def _cover(lowered: Lowered) -> Coverage:
    calls = [n for m in lowered.delegates.values() for n in m.original_module.graph.nodes if n.op == "call_function"]
    nodes = [n for stage in (lowered.graphs, lowered.optimized) for g in stage.values() for n in g.nodes]
    attributes = {node.attributes for node in nodes}
    kinds = (getattr(a, f.name) for a in attributes for f in dataclasses.fields(a))
    return Coverage(
        frozenset(map(target_name, calls)),
        frozenset(node.op for node in nodes),
        frozenset((type(k), k) for k in kinds if isinstance(k, enum.IntEnum)),
    )


class _Interpreter(torch.fx.Interpreter):
    """Runs a lowered program, its delegates by ``run``."""

    def __init__(self, module, run):
        super().__init__(module)
        self._run = run

    def call_function(self, target, args, kwargs):
        if target is executorch_call_delegate:
            return self._run(*args)
        return super().call_function(target, args, kwargs)


def interpret(lowered: Lowered, inputs, graphs: dict[str, Graph], states=None, run=interpreter.run):
    """The results of the program, its delegates run by the interpreter of the IR on ``states``."""
    program = lowered.program
    by_module = {id(module): graphs[name] for name, module in lowered.delegates.items()}

    def run_delegate(module, *arguments):
        return run(by_module[id(module)], arguments, states)

    signature = program.graph_signature
    names = signature.inputs_to_parameters | signature.inputs_to_buffers
    names |= signature.inputs_to_lifted_tensor_constants
    states = {} if states is None else states
    state = program.state_dict | program.constants | states
    remaining = iter(inputs)
    arguments = [
        state[names[n.name]] if n.name in names else next(remaining)
        for n in program.graph.nodes
        if n.op == "placeholder"
    ]
    with torch.no_grad():
        results = list(_Interpreter(program.graph_module, run_delegate).run(*arguments))
    for spec in signature.output_specs:  # buffers that stay with ExecuTorch come first
        if spec.kind == OutputKind.BUFFER_MUTATION:
            states[spec.target] = results.pop(0)
    return results


def assert_equal(actual: list[torch.Tensor], expected: list[torch.Tensor], sample: Sample) -> None:
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        atol = sample.atol
        if e.dtype in (torch.float16, torch.bfloat16) and e.numel():
            atol *= e.float().nan_to_num(posinf=0, neginf=0).abs().max().clamp(min=1).item()
        torch.testing.assert_close(a, e, rtol=sample.rtol, atol=atol, equal_nan=True)
