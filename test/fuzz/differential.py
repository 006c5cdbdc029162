# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A program with the delegate beside the same in eager PyTorch."""

import copy

import harness
import torch
from executorch.backends import et_xnnpack
from executorch.runtime import Runtime
from fuzz.programs import CALLS, Program
from torch.export import Dim, export

#: Roundings that may add up, of the narrowest type and of float32 each.
ROUNDINGS = 16


class NotExported(Exception):
    """torch.export does not take the program: nothing to compare."""


def exported(program: Program):
    sizes = {"n": Dim("n", max=CALLS[0][0]), "m": Dim("m", max=CALLS[0][1])}
    dynamic = [{i: sizes[d] for i, d in enumerate(x.shape) if d in sizes} for x in program.inputs]
    try:
        return export(program.module(), program.arguments(CALLS[0]), dynamic_shapes=tuple(dynamic))
    except Exception as error:  # torch.export fails in any way
        raise NotExported from error


def check(program: Program, threads: int | None = None) -> list[str]:
    """Fails where a result differs; gives the operators outside of the delegate."""
    lowered = harness.lower_exported(exported(program), _check_ir_validity=False)
    buffer = lowered.buffer
    with et_xnnpack.load_options(num_threads=threads or 0):
        method = Runtime.get().load_program(buffer).load_method("forward")
    module = program.module()
    for call in CALLS:
        inputs = program.arguments(call)
        with torch.no_grad():
            expected = module(*inputs)
        compare(program, method.execute(inputs), expected, inputs, call)
    return lowered.outside


def compare(program, actual, expected, inputs, call) -> None:
    assert len(actual) == len(expected)
    doubled = None
    for i, (a, e, epsilon) in enumerate(zip(actual, expected, program.epsilons, strict=True)):
        where = f"result {i} for n, m = {call}"
        assert (a.shape, a.dtype) == (e.shape, e.dtype), f"{where}: {a.shape} {a.dtype}, not {e.shape} {e.dtype}"
        if not e.dtype.is_floating_point or program.exact[i]:
            assert torch.equal(a, e), f"{where}: {a}\nnot\n{e}"
            continue
        scale = e.float().abs().max().clamp(min=1)
        allowed = ROUNDINGS * max(epsilon, torch.finfo(torch.float32).eps) * scale
        difference = (a.float() - e.float()).abs().max()
        if not difference <= allowed:
            doubled = in_double(program, inputs) if doubled is None else doubled
            allowed += 8 * (doubled[i] - e.double()).abs().max()
        assert difference <= allowed, f"{where}: {difference} from eager, {allowed} allowed: {a}\nnot\n{e}"


def in_double(program: Program, inputs) -> list[torch.Tensor]:
    """What float64 gives: how far float32 is from that says how much rounding matters in this program."""
    source = program.source.replace("torch.float32", "torch.float64")
    module = copy.deepcopy(Program(source, program.inputs, (), ()).module()).double()
    with torch.no_grad():
        try:
            return [r.double() for r in module(*(x.double() if x.dtype == torch.float32 else x for x in inputs))]
        except RuntimeError:
            return [r.double() for r in program.module()(*inputs)]
