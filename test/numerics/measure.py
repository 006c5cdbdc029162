# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How far results are from exact ones, and whether they are of the same class as those of eager PyTorch."""

from __future__ import annotations

import dataclasses
import enum

import harness
import torch

from . import values
from .cases import LARGEST, RESULT, TERMS, Case

OVERFLOW = 2.0**128  # what would follow the largest number: infinity is as far away


class _Program(torch.nn.Module):
    """All cases at once; those with the same inputs share them."""

    def __init__(self, cases: list[Case]):
        super().__init__()
        self.cases = cases
        self.inputs, self.places = [], []
        for case in cases:
            self.places.append([self._place(x) for x in case.inputs()])
        for i, case in enumerate(cases):
            for k, constant in enumerate(case.constants()):
                self.register_buffer(f"constant_{i}_{k}", constant)

    def _place(self, x: torch.Tensor) -> int:
        found = [i for i, other in enumerate(self.inputs) if other is x]
        if not found:
            self.inputs.append(x)
        return found[0] if found else len(self.inputs) - 1

    def forward(self, *inputs):
        results = []
        for i, (case, places) in enumerate(zip(self.cases, self.places, strict=True)):
            constants = [getattr(self, f"constant_{i}_{k}") for k in range(len(case.constants()))]
            results.append(case.function(*(inputs[p] for p in places), *constants))
        return tuple(results)


@dataclasses.dataclass(frozen=True)
class Measured:
    case: Case
    error: float  #: the largest, in the unit of the case
    eager: float  #: that of eager PyTorch in float32
    problem: str  #: an element of another class than that of eager PyTorch, and of which it is; empty if there is none


def measure(cases: list[Case]) -> list[Measured]:
    """All cases, in one program that is one delegate call."""
    lowered, inputs = _lower(cases)
    buffer = lowered.buffer
    results = harness.load_method(buffer).execute(inputs)
    with torch.no_grad():
        return [compare(case, result) for case, result in zip(cases, results, strict=True)]


def kinds(cases: list[Case]) -> set:
    """The operators of the schema that the cases are lowered to, by name, and the members of its enums with these."""
    lowered, _ = _lower(cases)
    (graph,) = lowered.optimized.values()
    attributes = {node.attributes for node in graph.nodes}
    fields = (getattr(a, f.name) for a in attributes for f in dataclasses.fields(a))
    return {node.op for node in graph.nodes} | {(type(k), k) for k in fields if isinstance(k, enum.IntEnum)}


def _lower(cases: list[Case]):
    program = _Program(cases).eval()
    inputs = tuple(program.inputs)
    lowered = harness.lower_exported(torch.export.export(program, inputs), _check_ir_validity=False)
    assert not lowered.outside and len(lowered.delegates) == 1, lowered.report
    return lowered, inputs


def compare(case: Case, result: torch.Tensor) -> Measured:
    arguments = (*case.inputs(), *case.constants())
    result, eager = (_as_float(x) for x in (result, case.function(*arguments)))
    exact = case.function(*map(_double, arguments)).double()
    unit = _unit(case, arguments, exact)
    errors, eager_errors = (_errors(r, exact, unit) for r in (result, eager))
    same = _classes(result) == _classes(eager)
    # Beside the border of a class either is right.
    wrong = ~same & ~(errors <= case.bound)
    if case.zeros_have_signs and case.unit == RESULT:
        wrong |= ~same & (result == 0) & (eager == 0)
    problem = ""
    if wrong.any():
        i = int(wrong.flatten().nonzero()[0])
        of = [f"{x.flatten()[i].item():.9g}" for x in arguments if x.shape == result.shape]
        problem = (
            f"element {i}, of {', '.join(of) or 'more than one'}: {result.flatten()[i].item():.9g}, eager PyTorch "
        )
        problem += f"has {eager.flatten()[i].item():.9g}, exact is {exact.flatten()[i].item():.17g}"
    counted = same & result.isfinite()
    return Measured(case, _largest(errors[counted]), _largest(eager_errors[eager.isfinite()]), problem)


def _double(x: torch.Tensor) -> torch.Tensor:
    return x.double() if x.is_floating_point() else x  # indices stay what they are


def _as_float(x: torch.Tensor) -> torch.Tensor:
    return x if x.is_floating_point() else x.double()


def _unit(case: Case, arguments, exact: torch.Tensor) -> torch.Tensor:
    """What an error is divided by, which broadcasts to the shape of ``exact``."""
    magnitudes = exact.nan_to_num(nan=0, posinf=0, neginf=0).abs()
    if case.unit == TERMS:
        magnitudes = case.function(*(_double(x).nan_to_num(nan=0, posinf=0, neginf=0).abs() for x in arguments))
    elif case.unit == LARGEST:
        magnitudes = magnitudes.flatten(1).amax(1).reshape(-1, *[1] * (exact.dim() - 1))
    magnitudes = magnitudes.float().clamp(values.LEAST, values.MOST)
    exponents = torch.frexp(magnitudes).exponent.clamp(min=-125)  # magnitude < 2 ** exponent
    return torch.ldexp(torch.tensor(1.0, dtype=torch.float64), exponents - 24)


def _errors(result: torch.Tensor, exact: torch.Tensor, unit: torch.Tensor) -> torch.Tensor:
    error = (result.double().clamp(-OVERFLOW, OVERFLOW) - exact.clamp(-OVERFLOW, OVERFLOW)).abs() / unit
    return torch.where(result.isnan() & exact.isnan(), 0.0, error)


def _classes(x: torch.Tensor) -> torch.Tensor:
    """0 for NaN, else 1 zero, 2 finite, 3 infinite, with the sign of the number."""
    kind = torch.where(x.isinf(), 3, torch.where(x == 0, 1, 2))
    return torch.where(x.isnan(), 0, torch.where(x.signbit(), -kind, kind))


def _largest(errors: torch.Tensor) -> float:
    return errors.max().item() if errors.numel() else 0.0
