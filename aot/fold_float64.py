# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a program computes in float64 of numbers alone, computed ahead of time by PyTorch itself."""

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, InputSpec, TensorArgument
from torch.fx import Node as FxNode

from .placeholders import Placeholders
from .private.torch import OpOverload, fake_of, is_fake, is_mutable, leaves, qualified_name

_aten = torch.ops.aten
_WIDE = (torch.float64, torch.complex64, torch.complex128)
_MOST_BYTES = 1 << 26  # of one constant; what is larger stays a computation
_UNDEFINED = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted")


def fold_float64(program: ExportedProgram) -> None:
    """Makes constants of what ``program`` computes in float64 or complex numbers of constants alone.

    ::

        %a = arange(4, dtype=float64)        %c = placeholder: constants["float64_0"]
        %b = pow(10000, %a)            ->    %y = mul(%x, %c)
        %c = to(%b, float32)
        %y = mul(%x, %c)

    It is computed once, by PyTorch itself; and complex numbers, which no delegate holds, would cut a model in two.
    REQUIRES: no operator of ``program`` writes to its operands
    """
    placeholders = Placeholders(program)
    known = _known(program, placeholders)
    wide = {n for n in known if n.op == "call_function" and any(map(_is_wide, (n, *n.all_input_nodes)))}
    results = [node for node in program.graph.nodes if node in wide and _is_result(node, wide)]
    if not results:
        return
    sources = {s for n in wide for s in n.all_input_nodes if s.op == "placeholder"}
    computed = _Computed(placeholders)
    replace_by_constants(program, {node: computed(node) for node in results})
    for node in wide:
        for user in [user for user in node.users if is_assertion(user)]:
            program.graph.erase_node(user)
    program.graph.eliminate_dead_code()
    remove_unread(program, sources)
    program.graph_module.recompile()


def _known(program: ExportedProgram, placeholders: Placeholders) -> set[FxNode]:
    """The nodes that constants alone decide."""
    known: set[FxNode] = set()
    for node in program.graph.nodes:
        if node.op == "placeholder":
            if _constant(placeholders, node) is not None:
                known.add(node)
        elif node.op == "call_function" and known.issuperset(node.all_input_nodes) and _is_pure(node):
            known.add(node)
    return known


def _constant(placeholders: Placeholders, node: FxNode) -> torch.Tensor | None:
    """The tensor behind a placeholder, if it is a number of the program or a buffer that is never written."""
    tensor = placeholders.fixed_number(node)
    return tensor if isinstance(tensor, torch.Tensor) and not is_fake(tensor) else None


def _is_pure(node: FxNode) -> bool:
    """Whether its operands decide what it gives: tensors alone, none of a size that depends on an input."""
    values = _values(node)
    if not values or not all(isinstance(v, torch.Tensor) for v in values):
        return False
    if any(isinstance(size, torch.SymInt) for v in values for size in v.shape):
        return False
    if node.target is operator.getitem:
        return True
    return (
        isinstance(node.target, OpOverload)
        and node.target.namespace == "aten"
        and not is_mutable(node.target)
        and torch.Tag.nondeterministic_seeded not in node.target.tags
        and qualified_name(node.target)[0].removeprefix("aten::") not in _UNDEFINED
    )


def _values(node: FxNode) -> list[object]:
    return leaves(node.meta.get("val"))


def _is_wide(node: FxNode) -> bool:
    return any(isinstance(value, torch.Tensor) and value.dtype in _WIDE for value in _values(node))


def is_assertion(node: FxNode) -> bool:
    return node.target is _aten._assert_tensor_metadata.default


def _is_result(node: FxNode, wide: set[FxNode]) -> bool:
    """Whether it is a tensor that something reads that is computed when the program runs.

    A constant cannot be a result of the program, and scales in float64 are taken as they are.
    """
    value = node.meta["val"]
    readers = [user for user in node.users if user not in wide and user.op != "output" and not is_assertion(user)]
    return (
        isinstance(value, torch.Tensor)
        and value.numel() * value.element_size() <= _MOST_BYTES
        and any("dequantize" not in str(user.target) for user in readers)
    )


class _Computed:
    """What nodes give that constants alone decide."""

    def __init__(self, placeholders: Placeholders):
        self._placeholders = placeholders
        self._values: dict[FxNode, object] = {}

    def __call__(self, node: FxNode) -> torch.Tensor:
        waiting = [node]
        while waiting:
            missing = [n for n in waiting[-1].all_input_nodes if n not in self._values]
            if missing:
                waiting += missing
            else:
                last = waiting.pop()
                self._values[last] = self._compute(last)
        return self._values[node]

    def _compute(self, node: FxNode):
        if node.op == "placeholder":
            return _constant(self._placeholders, node)
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), self._values.__getitem__)
        with torch.no_grad():
            return node.target(*args, **kwargs)


def remove_unread(program: ExportedProgram, sources: set[FxNode]) -> None:
    """Removes the constants that only what was folded has read."""
    unread = {node.name: node for node in sources if not node.users}
    signature = program.graph_signature
    signature.input_specs[:] = [s for s in signature.input_specs if s.arg.name not in unread]
    for node in unread.values():
        program.graph.erase_node(node)


def replace_by_constants(program: ExportedProgram, values: Mapping[FxNode, torch.Tensor]) -> None:
    """Gives those who read each of these nodes a new constant in its place."""
    signature, graph = program.graph_signature, program.graph
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    kinds = [spec.kind for spec in signature.input_specs]
    position = kinds.index(InputKind.USER_INPUT) if InputKind.USER_INPUT in kinds else len(kinds)
    following = placeholders[position] if position < len(placeholders) else _first_call(graph.nodes)
    names = _unused("float64", {n.name for n in graph.nodes} | program.constants.keys())
    specs = []
    for node, value in values.items():
        name = next(names)
        value = value.detach().clone()
        with graph.inserting_before(following):
            placeholder = graph.placeholder(name)
        placeholder.meta["val"] = fake_of(value, beside=node.meta["val"])
        program.constants[name] = value
        specs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(placeholder.name), placeholder.target))
        node.replace_all_uses_with(placeholder, delete_user_cb=lambda user: user.op != "output")
    signature.input_specs[position:position] = specs


def _first_call(nodes: Iterable[FxNode]) -> FxNode:
    return next(n for n in nodes if n.op != "placeholder")


def _unused(name: str, taken: set[str]) -> Iterator[str]:
    return (f"{name}_{count}" for count in itertools.count() if f"{name}_{count}" not in taken)
