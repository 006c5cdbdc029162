# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a program computes in float64 of numbers alone, computed ahead of time by PyTorch itself."""

import operator
from collections.abc import Mapping

import torch
import torch.utils._pytree as pytree
from torch.export.graph_signature import ExportGraphSignature, InputKind, InputSpec, TensorArgument
from torch.fx import Graph
from torch.fx import Node as FxNode

_aten = torch.ops.aten
_MOST_BYTES = 1 << 26  # of one constant; what is larger stays a computation
_UNDEFINED = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided", "empty_permuted")


def fold_float64(graph: Graph, signature: ExportGraphSignature, constants: dict[str, object]) -> None:
    """Makes constants of ``graph`` out of what it computes in float64 and no input or weight takes part in.

    ::

        %a = arange(4, dtype=float64)        %c = placeholder: constants["float64_0"]
        %b = pow(10000, %a)            ->    %y = mul(%x, %c)
        %c = to(%b, float32)
        %y = mul(%x, %c)

    No delegate holds float64, and in the middle of a model such positions would cut it in two.
    """
    folding = _Folding(graph, signature, constants)
    for node, value in [(node, folding.compute(node)) for node in folding.results()]:
        with graph.inserting_before(_first_input(graph, signature)):
            name = _unused("float64", graph, constants)
            placeholder = graph.placeholder(name)
        placeholder.meta = {key: node.meta[key] for key in ("val", "tensor_meta") if key in node.meta}
        constants[name] = value.detach().clone()
        _add_input(graph, signature, placeholder)
        node.replace_all_uses_with(placeholder)
    if folding.computed:
        graph.eliminate_dead_code()


class _Folding:
    def __init__(self, graph: Graph, signature: ExportGraphSignature, constants: Mapping[str, object]):
        self._graph = graph
        self._tensors = {
            name: constants[target]
            for name, target in signature.inputs_to_lifted_tensor_constants.items()
            if isinstance(constants.get(target), torch.Tensor)
        }
        self._written = _written(graph)
        self._known: dict[FxNode, bool] = {}
        self.computed: dict[FxNode, object] = {}
        for node in graph.nodes:
            self._known[node] = self._is_known(node)

    def _is_known(self, node: FxNode) -> bool:
        """Whether numbers alone decide what ``node`` gives, every time the same."""
        if node in self._written:
            return False
        if node.op == "placeholder":
            return node.name in self._tensors
        if node.op != "call_function" or not all(self._known[n] for n in node.all_input_nodes):
            return False
        if not _has_fixed_sizes(node):
            return False
        if node.target is operator.getitem:
            return True
        return (
            isinstance(node.target, torch._ops.OpOverload)
            and node.target.namespace == "aten"
            and torch.Tag.nondeterministic_seeded not in node.target.tags
            and node.target._schema.name.removeprefix("aten::") not in _UNDEFINED
        )

    def _is_wide(self, node: FxNode) -> bool:
        """Whether it is known, and float64 takes part."""
        if not self._known[node] or node.op != "call_function" or any(u.op == "output" for u in node.users):
            return False
        return any(_is_float64(n) for n in (node, *node.all_input_nodes))

    def results(self) -> list[FxNode]:
        """The known tensors that float64 takes part in and something else reads."""
        wide = {node for node in self._graph.nodes if self._is_wide(node)}
        found = []
        for node in self._graph.nodes:
            value = node.meta.get("val")
            if node in wide and isinstance(value, torch.Tensor) and any(u not in wide for u in node.users):
                if value.numel() * value.element_size() <= _MOST_BYTES:
                    found.append(node)
        return found

    def compute(self, node: FxNode):
        """What ``node`` gives."""
        if node.op == "placeholder":
            return self._tensors[node.name]
        if node not in self.computed:
            waiting = [node]
            while waiting:
                missing = [n for n in waiting[-1].all_input_nodes if n.op != "placeholder" and n not in self.computed]
                if missing:
                    waiting += missing
                    continue
                last = waiting.pop()
                args, kwargs = torch.fx.map_arg((last.args, last.kwargs), self.compute)
                with torch.no_grad():
                    self.computed[last] = last.target(*args, **kwargs)
        return self.computed[node]


def _is_float64(node: FxNode) -> bool:
    values = pytree.tree_leaves(node.meta.get("val"))
    return any(isinstance(value, torch.Tensor) and value.dtype == torch.float64 for value in values)


def _has_fixed_sizes(node: FxNode) -> bool:
    """Whether it gives tensors alone, none of which has a size that depends on an input."""
    values = pytree.tree_leaves(node.meta.get("val"))
    sizes = [size for value in values if isinstance(value, torch.Tensor) for size in value.shape]
    return (
        bool(values)
        and all(isinstance(value, torch.Tensor) for value in values)
        and not any(isinstance(size, torch.SymInt) for size in sizes)
    )


def _written(graph: Graph) -> set[FxNode]:
    """The nodes whose tensors may share memory with one that an operator writes to."""
    group: dict[FxNode, FxNode] = {}

    def root(node: FxNode) -> FxNode:
        while group.get(node, node) is not node:
            group[node] = node = group.get(group[node], group[node])
        return node

    written = []
    for node in graph.nodes:
        if node.target is operator.getitem:
            group[root(node)] = root(node.args[0])
        if not isinstance(node.target, torch._ops.OpOverload):
            continue
        for position, argument in enumerate(node.target._schema.arguments):
            value = node.args[position] if position < len(node.args) else node.kwargs.get(argument.name)
            if argument.alias_info is None:
                continue
            for operand in (v for v in pytree.tree_leaves(value) if isinstance(v, FxNode)):
                group[root(node)] = root(operand)
                if argument.alias_info.is_write and node.target is not _aten.detach_.default:
                    written.append(operand)
    roots = {root(node) for node in written}
    return {node for node in graph.nodes if root(node) in roots}


def _first_input(graph: Graph, signature: ExportGraphSignature) -> FxNode:
    """Where constants end: the first placeholder of an input, or what comes after all placeholders."""
    placeholders = [n for n in graph.nodes if n.op == "placeholder"]
    for node, spec in zip(placeholders, signature.input_specs, strict=True):
        if spec.kind == InputKind.USER_INPUT:
            return node
    return next(n for n in graph.nodes if n.op != "placeholder")


def _add_input(graph: Graph, signature: ExportGraphSignature, placeholder: FxNode) -> None:
    position = [n for n in graph.nodes if n.op == "placeholder"].index(placeholder)
    spec = InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(placeholder.name), placeholder.target)
    signature.input_specs.insert(position, spec)


def _unused(name: str, graph: Graph, constants: Mapping[str, object]) -> str:
    taken = {n.name for n in graph.nodes} | constants.keys()
    count = 0
    while f"{name}_{count}" in taken:
        count += 1
    return f"{name}_{count}"
