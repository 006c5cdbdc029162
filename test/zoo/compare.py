# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Results beside those of eager PyTorch. Integers are compared exactly, unless the scores that they come from tie.

What would hide a difference is looked for: masks, which are so large that all else is small beside them, places that
are there twice, and places that are none.
"""

import dataclasses
import operator
from collections.abc import Sequence

import torch

#: How far apart two scores may be that rounding can order in either way, relative to the largest that was picked beside
#: them. Scores that were not picked do not count: among them are masks.
TIE = 1e-5
#: Numbers this large that are equal bit by bit may be masks, and are no measure of the others.
MASK = 1e4
#: Operators that give places of scores, by the number of the result that has them.
_PLACES = {"topk": 1, "sort": 1, "max": 1, "min": 1, "argmax": 0, "argmin": 0, "argsort": 0}
_MOVES = ("view", "reshape", "clone", "_to_copy", "to", "squeeze", "unsqueeze", "alias", "detach", "contiguous")


@dataclasses.dataclass
class Comparison:
    difference: float = 0.0  #: the largest of a result, relative to the largest of its numbers
    ties: int = 0  #: integers that differ where scores tie
    wrong: str | None = None  #: what is no matter of rounding


def compare(expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor], scores=None) -> Comparison:
    """``scores(i)`` gives what result ``i`` has places of, and the axis, or None; asked only where integers differ."""
    found = Comparison()
    if len(expected) != len(actual):
        found.wrong = f"{len(actual)} results instead of {len(expected)}"
        return found
    for i, (e, a) in enumerate(zip(expected, actual, strict=True)):
        if e.shape != a.shape or e.dtype != a.dtype:
            found.wrong = f"result {i} is {a.dtype} {tuple(a.shape)} instead of {e.dtype} {tuple(e.shape)}"
        elif e.dtype.is_floating_point or e.dtype.is_complex:
            _compare_floats(i, e, a, found)
        elif not torch.equal(e, a):
            _compare_integers(i, e, a, scores, found)
    return found


def _compare_floats(i: int, expected: torch.Tensor, actual: torch.Tensor, found: Comparison) -> None:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    e, a = expected.to(wide), actual.to(wide)
    finite = e.isfinite()
    if not torch.equal(finite, a.isfinite()) or not torch.equal(e[~finite].nan_to_num(), a[~finite].nan_to_num()):
        found.wrong = f"result {i} is not finite in other places"
        return
    e, a = e[finite], a[finite]
    measure = e[(e != a) | (e.abs() < MASK)]
    if measure.numel():
        largest, difference = measure.abs().max().item(), (e - a).abs().max().item()
        found.difference = max(found.difference, difference / largest if largest else difference)


def _compare_integers(i: int, expected: torch.Tensor, actual: torch.Tensor, scores, found: Comparison) -> None:
    differ = expected != actual
    known = None if scores is None or expected.dtype == torch.bool else scores(i)
    rows = None if known is None else _rows(known, expected, actual)
    if rows is None:
        found.wrong = f"{int(differ.sum())} of {expected.numel()} integers of result {i} differ"
        return
    values, e, a = rows
    if ((a < 0) | (a >= values.shape[-1])).any():
        found.wrong = f"result {i} has places that are none"
    elif (a.sort(-1).values.diff() == 0).any():
        found.wrong = f"result {i} has a place twice"
    else:
        e, a = values.gather(-1, e), values.gather(-1, a)
        picked = torch.stack([e.abs(), a.abs()]).nan_to_num(posinf=0).amax((0, -1)).unsqueeze(-1)
        tied = (e == a) | (e.isnan() & a.isnan()) | ((e - a).abs() <= TIE * picked)
        if tied.all():
            found.ties += int(differ.sum())
        else:
            apart = (e - a).abs()[~tied].nan_to_num().max().item()
            found.wrong = f"places of result {i} differ although their scores are {apart:.1e} apart"


def _rows(known: tuple[torch.Tensor, int], expected: torch.Tensor, actual: torch.Tensor):
    """Scores [..., n], and places [..., k] in them; None where results have not the shape of places in the scores."""
    values, axis = known
    values = values.double().movedim(axis, -1)
    if expected.shape == values.shape[:-1]:
        return values, expected.unsqueeze(-1), actual.unsqueeze(-1)
    if expected.dim() == values.dim():
        expected, actual = expected.movedim(axis, -1), actual.movedim(axis, -1)
        if expected.shape[:-1] == values.shape[:-1]:
            return values, expected, actual
    return None


def scores_of(program: torch.export.ExportedProgram, inputs: Sequence[torch.Tensor]):
    """For ``compare``: the scores that a result of ``program`` has places of, as eager PyTorch computes them."""

    def find(i: int):
        specs = [s for s in program.graph_signature.output_specs]
        results = [
            n for n, s in zip(program.graph.output_node().args[0], specs, strict=True) if s.kind.name == "USER_OUTPUT"
        ]
        origin = _origin(results[i])
        if origin is None:
            return None
        node, axis = origin
        return _value_of(program, inputs, node), axis

    return find


def _origin(node):
    """The node of the scores and their axis."""
    part = 0
    while node.op == "call_function":
        if node.target is operator.getitem:
            node, part = node.args
            continue
        name = node.target.__name__.split(".")[0] if hasattr(node.target, "__name__") else ""
        if name in _PLACES:
            arguments = {
                **dict(zip((a.name for a in node.target._schema.arguments), node.args, strict=False)),
                **node.kwargs,
            }
            axis = arguments.get("dim", -1)
            return (node.args[0], axis) if part == _PLACES[name] and axis is not None else None
        if name not in _MOVES:
            return None
        node = node.args[0]
    return None


def _value_of(program, inputs, wanted):
    values = []

    class Watching(torch.fx.Interpreter):
        def run_node(self, node):
            result = super().run_node(node)
            if node is wanted:
                values.append(result)
            return result

    signature = program.graph_signature
    names = {
        **signature.inputs_to_parameters, **signature.inputs_to_buffers, **signature.inputs_to_lifted_tensor_constants,
    }  # fmt: skip
    state, remaining = {**program.state_dict, **program.constants}, iter(inputs)
    arguments = [
        state[names[n.name]] if n.name in names else next(remaining)
        for n in program.graph.nodes
        if n.op == "placeholder"
    ]
    with torch.no_grad():
        Watching(program.graph_module).run(*arguments)
    return values[0]
