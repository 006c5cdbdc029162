# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A program with the delegate beside the same in eager PyTorch."""

import collections
from collections.abc import Mapping, Sequence

import harness
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.aot.quantizer import EtXnnpackQuantizer
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from executorch.runtime import Runtime
from promises import Promises
from torch.export import Dim, ExportedProgram, export
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from fuzz.coverage import operators_of
from fuzz.programs import CALLS, Program, build

#: Roundings of the narrowest type that may add up.
ROUNDINGS = 16
#: How many times what quantization changes a result may be off where numbers are quantized.
QUANTIZATIONS = 4


class NotComparable(Exception):
    """There is no delegate or nothing to hold it against; the message says why.

    ``blamed`` are the graphs that it comes from, by the place of their program; empty where that is not known.
    """

    def __init__(self, reason: str, blamed: Mapping[int, set[int]] | None = None):
        super().__init__(reason)
        self.blamed = {place: graphs for place, graphs in (blamed or {}).items() if graphs}


def exported(program: Program) -> tuple[torch.nn.Module, ExportedProgram]:
    """The module, quantized if it is to be, and its program.

    Raises ``NotComparable`` where torch.export or the quantizer does not take it.
    """
    largest = program.calls[0]
    sizes = {"n": Dim("n", max=largest[0]), "m": Dim("m", max=largest[1])}
    dynamic = tuple({i: sizes[d] for i, d in enumerate(x.shape) if d in sizes} for x in program.inputs)
    try:
        original = export(program.module(), program.arguments(largest), dynamic_shapes=dynamic)
        if program.quantization is not None:
            module = _quantized(program, original)
            original = export(module, program.arguments(largest), dynamic_shapes=dynamic)
    except Exception as error:  # it fails in many ways
        raise NotComparable(f"not exported: {type(error).__name__}") from error
    # The exported one shares its states with the module that it was exported from.
    return module if program.quantization is not None else program.module(), original


def _quantized(program: Program, original: ExportedProgram) -> torch.nn.Module:
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=program.quantization == "dynamic")
    quantizer = EtXnnpackQuantizer() if program.quantization == "static, ours" else XNNPACKQuantizer()
    prepared = prepare_pt2e(original.module(), quantizer.set_global(config))
    for call in program.calls[:3]:
        prepared(*program.arguments(call))
    return convert_pt2e(prepared)


def _is_taken_without_us(original: ExportedProgram) -> bool:
    try:
        to_edge_transform_and_lower(original, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    except Exception:
        return False
    return True


def _kinds(program: Program) -> list[str]:
    """What is special about it."""
    kinds = {
        f"quantized ({program.quantization})": program.quantization is not None,
        "with states": program.has_states,
        "with empty tensors": program.calls != CALLS,
        "of dynamic sizes": any(isinstance(d, str) for x in program.inputs for d in x.shape),
        "of sizes found in data": "at_most" in program.source,
        "channels_last": any(x.channels_last for x in program.inputs),
    }
    return [kind for kind, holds in kinds.items() if holds]


class Compared:
    """What was compared, and what could not be."""

    def __init__(self):
        self.files = self.graphs = 0
        self.operators: set[str] = set()  #: of ATen that were delegated
        self.kinds, self.lines, self.left_out = (collections.Counter() for _ in range(3))  #: graphs by kind, by reason

    def add(self, programs: Sequence[Program]) -> None:
        """All of them as one file, or where something in it is not comparable what is left without the graphs that it
        comes from; where these are not known, its parts, down to single graphs."""
        try:
            self.operators |= check(programs)
        except NotComparable as reason:
            if reason.blamed:
                self.left_out[str(reason)] += sum(map(len, reason.blamed.values()))
                kept = [p.without(reason.blamed.get(place, set())) for place, p in enumerate(programs)]
                if rest := [p for p in kept if p is not None]:
                    self.add(rest)
                return
            parts = [[program] for program in programs] if len(programs) > 1 else [[p] for p in programs[0].halves()]
            if len(parts) < 2:
                self.left_out[str(reason)] += 1
                return
            for part in parts:
                self.add(part)
            return
        self.files += 1
        for program in programs:
            count = max(1, len(program.graphs))
            self.graphs += count
            self.kinds.update(dict.fromkeys(_kinds(program), count))
            self.lines.update(line.split("=", 1)[1].strip() for line in program.source.splitlines() if " = " in line)


def check(programs: Sequence[Program]) -> set[str]:
    """Compares all calls of programs that become the methods of one file, with one thread and with several.

    Returns the ATen operators that were delegated.
    Raises ``AssertionError`` where a result differs, what lowering or the runtime raise, and ``NotComparable``:
    operators outside of the delegate have faults of their own, and so has ExecuTorch without a delegate.
    """
    parts = [exported(program) for program in programs]
    names = [f"method_{i}" for i in range(len(parts))]
    originals = {name: original for name, (_, original) in zip(names, parts, strict=True)}
    try:
        lowered = harness.lower_methods(originals, _check_ir_validity=False)
    except Exception:
        if all(map(_is_taken_without_us, originals.values())):
            raise
        raise NotComparable("ExecuTorch does not take it") from None
    if outside := [name for method in lowered.values() for name in method.outside]:
        blamed = {
            place: _graphs_of(program, original, _sources(lowered[name]))
            for place, (name, program, (_, original)) in enumerate(zip(names, programs, parts, strict=True))
        }
        raise NotComparable(f"outside: {outside[0]}", blamed)
    for place, method in enumerate(lowered.values()):
        if not method.delegates:
            raise NotComparable("no operators", {place: set(range(len(programs[place].graphs)))})
    buffer = next(iter(lowered.values())).buffer
    for name, program, (module, original) in zip(names, programs, parts, strict=True):
        methods = []
        for threads in (0, 1):
            with et_xnnpack.load_options(num_threads=threads):
                methods.append(Runtime.get().load_program(buffer).load_method(name))
        _check_calls(program, module, original, methods)
    return set().union(*map(operators_of, lowered.values()))


def _sources(method: harness.Lowered) -> set[str]:
    """The names, in the exported program, of the nodes that became the operators outside."""
    waiting = [source for node in method.outside_nodes for source in node.meta.get("from_node", ())]
    names = set()
    while waiting:
        source = waiting.pop()
        waiting += source.from_node
        if not source.from_node:
            names.add(source.name)
    return names


def _graphs_of(program: Program, original: ExportedProgram, names: set[str]) -> set[int]:
    """The graphs of ``program`` whose results read nodes of these names; states are read without an edge."""
    if program.has_states:
        return set()
    reached = {node for node in original.graph.nodes if node.name in names}
    for node in original.graph.nodes:
        if not reached.isdisjoint(node.all_input_nodes) and node.op != "output":
            reached.add(node)
    results = {i for i, node in enumerate(original.graph.output_node().args[0]) if node in reached}
    return {graph for graph, places in enumerate(program.graphs) if not results.isdisjoint(places)}


def _check_calls(program: Program, module, original: ExportedProgram, methods) -> None:
    called, promises = [], Promises(original)
    for call in program.calls:
        inputs = program.arguments(call)
        try:
            if not promises.hold(*inputs):
                continue
            with torch.no_grad():
                expected = module(*inputs)
        except RuntimeError:
            if program.quantization != "dynamic" or all(x.numel() for x in inputs):
                raise
            continue  # the observers of dynamic quantization take no empty tensors
        called.append(inputs)
        for method in methods:
            actual = method.execute(inputs)
            types = [x.dtype for x in actual]
            if types != [x.dtype for x in expected] and types == _types_without_us(original):
                raise NotComparable("ExecuTorch computes in another type")
            _compare(program, module, actual, expected, called, call)


def _types_without_us(original: ExportedProgram) -> list[torch.dtype]:
    """A scalar of 16 bits and a number make float32 there."""
    edge = to_edge(original, compile_config=EdgeCompileConfig(_check_ir_validity=False)).exported_program()
    results = edge.graph.output_node().args[0][-len(edge.graph_signature.user_outputs) :]  # states come first
    return [x.meta["val"].dtype for x in results]


def _compare(program, module, actual, expected, called, call) -> None:
    assert len(actual) == len(expected)
    for i, (a, e, epsilon) in enumerate(zip(actual, expected, program.epsilons, strict=True)):
        where = f"result {i} for n, m = {call}"
        assert (a.shape, a.dtype) == (e.shape, e.dtype), f"{where}: {a.shape} {a.dtype}, not {e.shape} {e.dtype}"
        if e.numel() == 0:
            continue
        if program.quantization is None and (not e.dtype.is_floating_point or program.exact[i]):
            assert torch.equal(a, e), f"{where}: {a}\nnot\n{e}"
            continue
        allowed = ROUNDINGS * max(epsilon, torch.finfo(torch.float32).eps) * e.float().abs().max().clamp(min=1)
        difference = (a.float() - e.float()).abs().max()
        if not difference <= allowed and program.quantization is not None:
            # One number that is rounded the other way changes no more than quantization does in all.
            change = (_last(program.module(), called)[i].float() - e.float()).abs().max()
            allowed += QUANTIZATIONS * max(change, _change_nearby(program, module, i, called[-1]))
        if not difference <= allowed:
            allowed += 8 * (_in_double(program, i, called) - e.double()).abs().max()
        assert difference <= allowed, f"{where}: {difference} from eager, {allowed} allowed: {a}\nnot\n{e}"


def _change_nearby(program, module, i, inputs) -> float:
    """How much quantization changes result ``i`` where arguments are a little smaller or larger.

    What it does to several numbers may cancel.
    """
    if program.has_states:
        return 0.0
    changes = []
    for factor in (0.8, 1.25):
        near = [x * factor if x.dtype == torch.float32 else x for x in inputs]
        with torch.no_grad():
            both = [m(*near)[i].float() for m in (program.module(), module)]
        changes.append((both[0] - both[1]).abs().max().item())
    return max(changes)


def _last(module: torch.nn.Module, called) -> list[torch.Tensor]:
    """The results of the last call; those before it count where there are states."""
    with torch.no_grad():
        for inputs in called:
            results = module(*inputs)
    return results


def _in_double(program: Program, i: int, called) -> torch.Tensor:
    """Result ``i`` in float64: how far float32 is from that says how much rounding matters in this program. Where it
    cannot be computed in float64, that in float32 of arguments that are rounded otherwise."""
    alone = program.only(i)
    source = alone.source.replace("torch.float32", "torch.float64")
    module = build(source, _q=_InDouble(torch.ops.quantized_decomposed)).double()
    doubled = [[x.double() if x.dtype == torch.float32 else x for x in inputs] for inputs in called]
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of constants in the program
    try:
        return _last(module, doubled)[0].double()
    except (RuntimeError, AssertionError):  # of two types
        pass
    finally:
        torch.set_default_dtype(default)
    return _last(alone.module(), [list(map(_next, inputs)) for inputs in called])[0].double()


def _next(x: torch.Tensor) -> torch.Tensor:
    """The floats next to those of ``x``, above and below in turns."""
    if not x.is_floating_point():
        return x
    far = torch.full((x.numel(),), torch.inf, dtype=x.dtype)
    far[1::2] *= -1
    return torch.nextafter(x, far.reshape(x.shape)).clone(memory_format=torch.preserve_format)


class _InDouble:
    """Operators of quantized numbers, which take and make float32, among others that compute in float64."""

    def __init__(self, operators):
        self._operators = operators

    def __getattr__(self, name: str) -> "_InDouble":
        return _InDouble(getattr(self._operators, name))

    def __call__(self, *arguments) -> torch.Tensor:
        doubles = [isinstance(x, torch.Tensor) and x.dtype == torch.float64 for x in arguments]
        result = self._operators(*(x.float() if d else x for x, d in zip(arguments, doubles, strict=True)))
        return result.double() if result.dtype == torch.float32 else result
