# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A program with the delegate beside the same in eager PyTorch."""

import harness
import torch
from executorch.backends import et_xnnpack
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime
from promises import promises_hold
from torch.export import Dim, ExportedProgram, export

from fuzz.programs import CALLS, Program, build

#: Roundings of the narrowest type that may add up.
ROUNDINGS = 16


class NotComparable(Exception):
    """There is no delegate or nothing to hold it against; the message says why."""


def exported(program: Program) -> ExportedProgram:
    """Raises ``NotComparable`` where torch.export does not take the program."""
    sizes = {"n": Dim("n", max=CALLS[0][0]), "m": Dim("m", max=CALLS[0][1])}
    dynamic = tuple({i: sizes[d] for i, d in enumerate(x.shape) if d in sizes} for x in program.inputs)
    try:
        return export(program.module(), program.arguments(CALLS[0]), dynamic_shapes=dynamic)
    except Exception as error:  # it fails in many ways
        raise NotComparable(f"not exported: {type(error).__name__}") from error


def _is_taken_without_us(original: ExportedProgram) -> bool:
    try:
        to_edge_transform_and_lower(original, compile_config=EdgeCompileConfig(_check_ir_validity=False))
    except Exception:
        return False
    return True


def check(program: Program) -> None:
    """Compares all calls, with one thread and with several.

    Raises ``AssertionError`` where a result differs, what lowering or the runtime raise, and ``NotComparable``:
    operators outside of the delegate have faults of their own, and so has ExecuTorch without a delegate.
    """
    original = exported(program)
    try:
        lowered = harness.lower_exported(original, _check_ir_validity=False)
    except Exception:
        if _is_taken_without_us(original):
            raise
        raise NotComparable("ExecuTorch does not take it") from None
    if lowered.outside:
        raise NotComparable(f"outside: {lowered.outside[0]}")
    if not lowered.delegates:
        raise NotComparable("no operators")
    methods = []
    for threads in (0, 1):
        with et_xnnpack.load_options(num_threads=threads):
            methods.append(Runtime.get().load_program(lowered.buffer).load_method("forward"))
    module = program.module()
    for call in CALLS:
        inputs = program.arguments(call)
        if not promises_hold(original, inputs):
            continue
        with torch.no_grad():
            expected = module(*inputs)
        for method in methods:
            _compare(program, method.execute(inputs), expected, inputs, call)


def _compare(program, actual, expected, inputs, call) -> None:
    assert len(actual) == len(expected)
    for i, (a, e, epsilon) in enumerate(zip(actual, expected, program.epsilons, strict=True)):
        where = f"result {i} for n, m = {call}"
        assert (a.shape, a.dtype) == (e.shape, e.dtype), f"{where}: {a.shape} {a.dtype}, not {e.shape} {e.dtype}"
        if not e.dtype.is_floating_point or program.exact[i]:
            assert torch.equal(a, e), f"{where}: {a}\nnot\n{e}"
            continue
        allowed = ROUNDINGS * max(epsilon, torch.finfo(torch.float32).eps) * e.float().abs().max().clamp(min=1)
        difference = (a.float() - e.float()).abs().max()
        if not difference <= allowed:
            allowed += 8 * (_in_double(program, inputs)[i] - e.double()).abs().max()
        assert difference <= allowed, f"{where}: {difference} from eager, {allowed} allowed: {a}\nnot\n{e}"


def _in_double(program: Program, inputs) -> list[torch.Tensor]:
    """What float64 gives: how far float32 is from that says how much rounding matters in this program."""
    module = build(program.source.replace("torch.float32", "torch.float64")).double()
    doubled = [x.double() if x.dtype == torch.float32 else x for x in inputs]
    with torch.no_grad():
        try:
            return [r.double() for r in module(*doubled)]
        except RuntimeError:  # of two types
            return [r.double() for r in program.module()(*inputs)]
