# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Places that a program finds among scores: topk, argmax, sort.

Where scores nearly tie, rounding decides between them, and all that is computed of what was picked is then different.
Such a result is right if three things hold, which ``explain`` looks at: the scores of the delegate are those of eager
PyTorch but for rounding; the places are what the operator finds in exactly these scores; and eager PyTorch, given these
places, has the same results.
"""

import copy
import dataclasses
import operator
from collections.abc import Callable, Sequence

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument
from torch.fx import Node
from torch.utils import _pytree as pytree

from .compare import Comparison, compare

#: By name, where the places are among the results; None where there is one result.
_PLACES = {
    **dict.fromkeys(("topk", "sort", "max", "min", "median", "kthvalue"), 1),
    **dict.fromkeys(("argmax", "argmin", "argsort"), None),
}


def _name(node: Node) -> str:
    return node.target._schema.name.partition("::")[2] if isinstance(node.target, torch._ops.OpOverload) else ""


def choices_of(program: ExportedProgram) -> dict[Node, Node]:
    """Operators that pick, and the places that each gives, if anything reads them."""
    found = {}
    for node in program.graph.nodes:
        name = _name(node)
        if name in _PLACES and _PLACES[name] is None:
            found[node] = node
        elif name in _PLACES and len(node.target._schema.returns) > 1:
            found.update((node, u) for u in node.users if _is_read(u, _PLACES[name]))
    return found


def _is_read(part: Node, place: int) -> bool:
    return part.target is operator.getitem and part.args[1] == place and bool(part.users)


def watched(program: ExportedProgram) -> ExportedProgram:
    """``program`` with scores and places of its choices as further results."""
    module, signature = copy.deepcopy(program.graph_module), copy.deepcopy(program.graph_signature)
    own = dict(zip(program.graph.nodes, module.graph.nodes, strict=True))
    for node, copied in own.items():
        copied.name = node.name  # which the signature has; FX changes some in a copy
    more = []
    for choice, places in choices_of(program).items():
        more += [_clone(own[choice.args[0]], own[choice]), _clone(own[places], own[places])]
    output = module.graph.output_node()
    output.args = ((*output.args[0], *more),)
    signature.output_specs += [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name=n.name), None) for n in more]
    module.recompile()
    found = program._update(module, signature)
    # Without names: as decomposed they may be others.
    results = [TensorArgument(name="") for s in signature.output_specs if s.kind == OutputKind.USER_OUTPUT]
    first = found._module_call_graph[0]
    first.signature = dataclasses.replace(
        first.signature, outputs=results, out_spec=pytree.tree_structure((0,) * len(results))
    )
    return found


def _clone(node: Node, after: Node) -> Node:
    """What ``node`` is there, whatever writes to it later."""
    with after.graph.inserting_after(after):
        clone = after.graph.call_function(torch.ops.aten.clone.default, (node,))
    clone.meta = {"val": node.meta["val"]}
    return clone


def explain(
    program: ExportedProgram, inputs: Sequence[torch.Tensor], actual: Sequence[torch.Tensor], run: Callable
) -> tuple[Comparison, float]:
    """``actual``, the delegate's results of ``program``, beside those of eager PyTorch that picks what the delegate
    does; and how far eager PyTorch is then from its own results in float64, 0 where it cannot compute in it.

    run: the delegate's results of ``watched(program)``.
    """
    choices = list(choices_of(program))
    results = run(inputs)
    own = results[len(results) - 2 * len(choices) :]
    picked = {choice: (own[2 * i], own[2 * i + 1]) for i, choice in enumerate(choices)}
    given = Given(program, picked)
    expected = given.results(inputs)
    found = compare([*expected, *(given.scores[c] for c in choices)], [*actual, *own[::2]])
    found.ties, found.wrong = given.ties, given.wrong or found.wrong
    try:
        exact = Given(program, picked, torch.float64).results(inputs)
        pairs = [(e, x.to(e.dtype)) for e, x in zip(expected, exact, strict=True) if e.dtype.is_floating_point]
        return found, compare(*zip(*pairs, strict=True)).difference
    except Exception:
        return found, 0.0


class Given(torch.fx.Interpreter):
    """Eager PyTorch with scores and places of the operators that pick given. In float64 all that was float32 is."""

    def __init__(self, program: ExportedProgram, picked: dict, dtype: torch.dtype = torch.float32):
        super().__init__(program.graph_module)
        self.program, self.picked, self.dtype = program, picked, dtype
        self.scores: dict[Node, torch.Tensor] = {}  #: its own
        self.ties = 0  #: how many places it would have picked otherwise
        self.wrong: str | None = None  #: why places are not those of the scores that are given with them

    def results(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Those that are tensors."""
        signature = self.program.graph_signature
        names = {
            **signature.inputs_to_parameters,
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }
        state, remaining = {**self.program.state_dict, **self.program.constants}, iter(inputs)
        placeholders = [n for n in self.program.graph.nodes if n.op == "placeholder"]
        values = [state[names[n.name]] if n.name in names else next(remaining) for n in placeholders]
        with torch.no_grad():
            results = self.run(*(self._converted(v.detach().clone()) for v in values))
        specs = zip(results, signature.output_specs, strict=True)
        return [r for r, s in specs if s.kind == OutputKind.USER_OUTPUT and isinstance(r, torch.Tensor)]

    def _converted(self, value):
        if value is torch.float32:
            return self.dtype
        is_float32 = isinstance(value, torch.Tensor) and value.dtype == torch.float32
        return value.to(self.dtype) if is_float32 else value

    def call_function(self, target, args, kwargs):
        return super().call_function(target, *pytree.tree_map(self._converted, (args, kwargs)))

    def run_node(self, node: Node):
        if node not in self.picked:
            return super().run_node(node)
        (scores, *args), kwargs = self.fetch_args_kwargs_from_env(node)
        of_delegate, places = self.picked[node]
        found = node.target(of_delegate, *args, **kwargs)
        axis = _axis(node, args, kwargs)
        wrong = wrong_places(of_delegate, axis, _places(found), places)
        if wrong:
            self.wrong = f"{node.name}: {wrong}"
            places = _places(found)
        result = node.target(scores, *args, **kwargs)
        self.scores[node] = scores.clone()
        self.ties += int((_places(result) != places).sum())
        if isinstance(result, torch.Tensor):
            return places
        if scores.dim() == places.dim():
            return scores.gather(axis, places), places
        return scores.gather(axis, places.unsqueeze(axis)).squeeze(axis), places


def _places(found) -> torch.Tensor:
    return found if isinstance(found, torch.Tensor) else found[1]


def _axis(node: Node, args: Sequence, kwargs: dict) -> int | None:
    """That of the scores which is searched; None for all numbers."""
    names = [a.name for a in node.target._schema.arguments][1:]
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    return given.get("dim", None if _name(node) in ("argmax", "argmin") else -1)


def wrong_places(scores: torch.Tensor, axis: int | None, expected: torch.Tensor, places: torch.Tensor) -> str | None:
    """Why ``places`` are not as good as those ``expected``; None if they are."""
    if expected.shape != places.shape:
        return f"places of shape {tuple(places.shape)} instead of {tuple(expected.shape)}"
    if axis is None or scores.dim() == 0:
        scores, expected, places, axis = scores.flatten(), expected.flatten(), places.flatten(), 0
    if expected.dim() < scores.dim():
        expected, places = expected.unsqueeze(axis), places.unsqueeze(axis)
    scores, expected, places = (t.movedim(axis, -1) for t in (scores, expected, places))
    if ((places < 0) | (places >= scores.shape[-1])).any():
        return "a place that is none"
    if (places.sort(-1).values.diff() == 0).any():
        return "a place twice"
    e, p = scores.gather(-1, expected), scores.gather(-1, places)
    worse = ~((e == p) | (e.isnan() & p.isnan()))
    return f"{int(worse.sum())} places that are not those of its scores" if worse.any() else None
