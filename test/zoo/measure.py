# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What becomes of one architecture. Runs in a process of its own."""

import contextlib
import copy
import functools
import inspect
import time

import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, count_delegation
from executorch.backends.et_xnnpack.aot.backend import EtXnnpackBackend
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime

from . import choices
from .compare import Comparison, compare
from .modules import vary
from .registry import Architecture, Dynamic, Size

#: Differences up to this are rounding; greater ones are compared with those of eager PyTorch from float64.
ROUNDING = 1e-5


def measure(architecture: Architecture, part: str) -> dict:
    """What a line of the results says of a part. Exceptions of exporting and of lowering are in it as text.

    part: one of ``PARTS``.
    """
    torch.manual_seed(0)
    torch.set_num_threads(1)
    try:
        with torch.no_grad():  # weights that are computed of others could not be copied
            module, inputs = architecture.build()
            vary(module)
            copy.deepcopy(module)(*inputs)
    except Exception as error:
        return {"build_error": first_line(error)}
    if part == "dynamic":
        return _dynamic(architecture, module, inputs)
    if part == "official":
        return _official(architecture, module, inputs)
    parameters = sum(p.numel() for p in module.parameters())
    return {"parameters": parameters, **_variant(architecture, module, inputs, {})}


def first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"


def _dynamic(architecture: Architecture, module, inputs) -> dict:
    """With all dynamic sizes; where that does not export, with all but the batch, and with the batch."""
    dynamic = architecture.dynamic
    attempts, refused = (
        [dynamic, _only(dynamic, lambda s: s.name != "batch"), _only(dynamic, lambda s: s.name == "batch")],
        {},
    )
    for attempt in attempts:
        names = " ".join(sorted({size.name for dims in attempt.values() for size in dims.values()}))
        if not names or names in refused:
            continue
        found = _variant(architecture, module, inputs, attempt)
        if "export_error" not in found:
            return {"sizes": names, **found, **({"refused": refused} if refused else {})}
        refused[names] = found["export_error"]
    return {"export_error": next(iter(refused.values()))}


def _only(dynamic: Dynamic, wanted) -> Dynamic:
    kept = {i: {d: size for d, size in dims.items() if wanted(size)} for i, dims in dynamic.items()}
    return {i: dims for i, dims in kept.items() if dims}


def _variant(architecture: Architecture, module, inputs, dynamic: Dynamic) -> dict:
    try:
        program = _export(architecture, module, inputs, dynamic)
    except Exception as error:
        return {"export_error": first_line(error)}
    found = {"nodes": sum(n.op == "call_function" for n in program.graph.nodes)}
    try:
        buffer = _lower(program, found)
    except Exception as error:
        found["lowering_error"] = first_line(error)
        try:
            to_edge_transform_and_lower(program, compile_config=_unchecked())
        except Exception as without_delegate:
            found["executorch_error"] = first_line(without_delegate)
        return found
    try:
        found["calls_compared"], watched = 0, _Watched(program)
        for sized in _calls(inputs, dynamic):
            found["calls_compared"] += _compare(module, watched, buffer, sized, found)
    except Exception as error:
        found["run_error"] = first_line(error)
    return found


def _export(architecture: Architecture, module, inputs, dynamic: Dynamic) -> torch.export.ExportedProgram:
    shapes = _shapes(module, inputs, dynamic) if dynamic else None
    with torch.no_grad():
        return torch.export.export(copy.deepcopy(module), inputs, dynamic_shapes=shapes, strict=architecture.strict)


def _official(architecture: Architecture, module, inputs) -> dict:
    """What ExecuTorch's XNNPACK delegate makes of it."""
    program = _export(architecture, module, inputs, {})
    manager = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()], compile_config=_unchecked())
    delegates, outside = count_delegation(manager.exported_program())
    return {"delegates": delegates, "outside": sum(outside.values())}


def _unchecked() -> EdgeCompileConfig:
    return EdgeCompileConfig(_check_ir_validity=False)


def _lower(program, found: dict) -> bytes:
    config, started = EdgeCompileConfig(), time.process_time()
    with _own_time() as own:
        try:
            partitioner = EtXnnpackPartitioner()
            manager = to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=config)
        except Exception as error:
            found["default_config_error"] = first_line(error)
            own[0], started, partitioner = 0.0, time.process_time(), EtXnnpackPartitioner()
            manager = to_edge_transform_and_lower(program, partitioner=[partitioner], compile_config=_unchecked())
    found["seconds"], found["own_seconds"] = round(time.process_time() - started, 2), round(own[0], 2)
    found["delegates"], outside = count_delegation(manager.exported_program())
    found["outside"] = outside
    reasons = {}
    for refusal in partitioner.report.refusals:
        reasons.setdefault(f"{refusal.target}: {refusal.reason}", 0)
        reasons[f"{refusal.target}: {refusal.reason}"] += 1
    found["reasons"] = reasons
    buffer = manager.to_executorch().buffer
    found["bytes"] = len(buffer)
    return buffer


@contextlib.contextmanager
def _own_time():
    """The seconds of processor time that what ExecuTorch calls of ours takes."""
    seconds, kept = [0.0], []

    def timed(function):
        def call(*arguments, **named):
            started = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                seconds[0] += time.process_time() - started

        return call

    methods = ("transform_for_pre_decomposition", "ops_to_not_decompose", "partition")
    for owner, name in (*((EtXnnpackPartitioner, m) for m in methods), (EtXnnpackBackend, "preprocess")):
        usual = owner.__dict__[name]
        kept.append((owner, name, usual))
        setattr(owner, name, staticmethod(timed(usual.__func__)) if isinstance(usual, staticmethod) else timed(usual))
    try:
        yield seconds
    finally:
        for owner, name, usual in kept:
            setattr(owner, name, usual)


def _shapes(module, inputs, dynamic: Dynamic):
    dims: dict[Size, object] = {}

    def dim(size: Size):
        if size not in dims:
            root = torch.export.Dim(size.name, min=1, max=size.largest)
            dims[size] = size.step * root if size.step > 1 else root
        return dims[size]

    each = tuple({d: dim(s) for d, s in dynamic.get(i, {}).items()} or None for i in range(len(inputs)))
    named = [p for p in inspect.signature(module.forward).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    rest = each[len(named) :]
    return (*each[: len(named)], rest) if rest else each


def _calls(inputs, dynamic: Dynamic):
    """The inputs at the sizes of the example; with dynamic ones also at 1, an odd one, and below and at the maximum."""
    yield inputs
    if dynamic:
        for pick in (lambda s: 1, lambda s: min(3, s.largest), lambda s: s.largest - 1, lambda s: s.largest):
            yield tuple(_resized(t, dynamic.get(i, {}), pick) for i, t in enumerate(inputs))


def _resized(tensor: torch.Tensor, dims: dict[int, Size], pick) -> torch.Tensor:
    for d, size in dims.items():
        wanted = pick(size) * size.step
        if tensor.dim() == 1 and torch.equal(tensor, torch.arange(len(tensor))):
            tensor = torch.arange(wanted)
        else:
            tensor = tensor.index_select(d, torch.arange(wanted) % tensor.shape[d])
    return tensor.contiguous()


class _Watched:
    """A program whose choices are known, too; lowered when that is needed."""

    def __init__(self, program):
        self.program = program

    @functools.cached_property
    def buffer(self) -> bytes:
        more = choices.watched(self.program)
        manager = to_edge_transform_and_lower(more, partitioner=[EtXnnpackPartitioner()], compile_config=_unchecked())
        return manager.to_executorch().buffer

    def explain(self, inputs, actual) -> tuple[Comparison, float]:
        return choices.explain(self.program, inputs, actual, lambda given: _execute(self.buffer, given))


def _execute(buffer: bytes, inputs) -> list:
    return list(Runtime.get().load_program(buffer).load_method("forward").execute([t.contiguous() for t in inputs]))


def _compare(module, watched: _Watched, buffer: bytes, inputs, found: dict) -> bool:
    """False where eager PyTorch, or what torch.export made of it, has no result for these sizes."""
    try:
        with torch.no_grad():
            expected = copy.deepcopy(module)(*(t.clone() for t in inputs))
    except Exception as error:
        found.setdefault("eager_error", f"{first_line(error)}, {_sizes(inputs)}")
        return False
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    try:
        actual, of_eager = _execute(buffer, inputs), None
    except RuntimeError:
        if _breaks_guard(watched.program, inputs, found):
            return False
        raise
    result = compare([e for e in expected if isinstance(e, torch.Tensor)], actual)
    if (result.wrong or result.difference > ROUNDING) and _breaks_guard(watched.program, inputs, found):
        return False
    if (result.wrong or result.difference > ROUNDING) and choices.choices_of(watched.program):
        result, of_eager = watched.explain(inputs, actual)
    found["ties"] = found.get("ties", 0) + result.ties
    found["difference"] = max(found.get("difference", 0.0), result.difference)
    if result.wrong:
        found.setdefault("wrong", f"{result.wrong}, {_sizes(inputs)}")
    if result.difference > ROUNDING:
        of_eager = _rounding_of_eager(module, inputs, expected) if of_eager is None else of_eager
        found["eager_difference"] = max(found.get("eager_difference", 0.0), of_eager)
    return True


def _breaks_guard(program, inputs, found: dict) -> bool:
    """Whether the exported program assumes something of its sizes that these are not; ExecuTorch does not check it."""
    try:
        with torch.no_grad():
            program.module()(*(t.clone() for t in inputs))
    except Exception as error:
        if isinstance(error, AssertionError) and str(error).startswith("Guard failed"):
            found.setdefault("guard_error", f"{first_line(error)}, {_sizes(inputs)}")
            return True
    return False


def _sizes(inputs) -> str:
    return f"for inputs {[list(t.shape) for t in inputs][:4]}"


def _rounding_of_eager(module, inputs, expected) -> float:
    """How far eager PyTorch is from itself in float64, 0 where the model cannot compute in it."""
    try:
        double = tuple(t.double() if t.dtype == torch.float32 else t.clone() for t in inputs)
        with torch.no_grad():
            exact = copy.deepcopy(module).double()(*double)
        exact = exact if isinstance(exact, (tuple, list)) else (exact,)
        pairs = [(e, x.to(e.dtype)) for e, x in zip(expected, exact, strict=True) if e.dtype.is_floating_point]
        return compare(*zip(*pairs, strict=True)).difference
    except Exception:
        return 0.0
