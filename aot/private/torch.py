# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators, values and programs of PyTorch."""

import contextlib
import copy
import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
import torch.utils._pytree as pytree
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import ExportedProgram, ModuleCallEntry
from torch.export.graph_signature import ExportGraphSignature
from torch.fx import GraphModule
from torch.fx import Node as FxNode

# Operators --------------------------------------------------------------------------------
# ``OpOverload`` is the type of ``torch.ops.aten.add.Tensor``. Its schema has no documented name; without it we could
# neither tell which argument is which nor which operators write to their operands.


def parameters(operator: OpOverload) -> list[torch.Argument]:
    """The parameters in their order, each with ``name`` and ``default_value``."""
    return operator._schema.arguments


def tensor_parameters(operator: OpOverload) -> list[str]:
    """The names of the parameters that take one tensor, never None."""
    tensor = torch._C.TensorType.get()
    return [parameter.name for parameter in operator._schema.arguments if parameter.type.isSubtypeOf(tensor)]


def is_mutable(operator: OpOverload) -> bool:
    """Whether it writes to an operand."""
    return operator._schema.is_mutable


def has_aliases(operator: OpOverload) -> bool:
    """Whether a result shares memory with an operand, or it writes to one."""
    return any(a.alias_info for a in (*operator._schema.arguments, *operator._schema.returns))


def alias_of(node: FxNode, operand: FxNode):
    """Which results of ``node`` share memory with an operand, as the schema says; ``is_write`` if it writes to it.

    None if none does, and for what is not an operator.
    """
    if not isinstance(node.target, OpOverload):
        return None
    schema = node.target._schema.arguments
    arguments = [*zip(schema, node.args, strict=False), *((p, node.kwargs.get(p.name)) for p in schema)]
    shared = (p.alias_info for p, value in arguments if operand in leaves(value) and p.alias_info is not None)
    return next(shared, None)


def decompositions() -> Mapping[OpOverload, Callable]:
    """What ``run_decompositions`` does with each operator that it decomposes by default; made anew by each call."""
    return torch.export.default_decompositions()


def qualified_name(operator: OpOverload) -> tuple[str, str]:
    """Such as ``("aten::add", "Tensor")``; the overload called ``default`` is an empty text."""
    return operator._schema.name, operator._schema.overload_name


def signature_text(operator: OpOverload) -> str:
    """What ``torch.library.Library.define`` takes, with the namespace in front, and nothing about aliases."""
    return re.sub(r"\(\w+( -> \*)?\)", "", str(operator._schema))


def functionalized(node: FxNode) -> tuple[OpOverload, dict[str, object]] | None:
    """The operator that writes to operands which ``node`` stands for, made a function by PyTorch, and its arguments.

    The results of ``node`` are that of the operator and, in their order, the new contents of what it writes to. None if
    it writes to a view of something: PyTorch passes what the view is of, and how to make it.
    """
    if node.target is not torch.ops.higher_order.auto_functionalized_v2:
        return None
    target, arguments = node.args[0], dict(node.kwargs)
    bases = arguments.pop("_all_bases")
    for parameter in target._schema.arguments:
        if parameter.alias_info is not None:
            index = arguments.pop(f"_{parameter.name}_base_index", None)
            if index is None:
                return None
            arguments[parameter.name] = bases[index]
    written = [p.name for p in target._schema.arguments if p.alias_info is not None]
    is_whole = not any(name.startswith("_") for name in arguments)
    return (target, arguments) if is_whole and [arguments[n] for n in written] == list(bases) else None


# Values -----------------------------------------------------------------------------------


def leaves(tree) -> list:
    """What nested lists, tuples and dicts hold, as ``meta["val"]`` of a node may be nested."""
    return pytree.tree_leaves(tree)


def map_leaves(function: Callable, tree):
    """``tree`` with each of its ``leaves`` replaced by what ``function`` makes of it."""
    return pytree.tree_map(function, tree)


def is_fake(value) -> bool:
    """Whether it is a tensor without content, which must not be computed with."""
    return isinstance(value, FakeTensor)


def fake_of(tensor: torch.Tensor, beside: FakeTensor) -> FakeTensor:
    """What a new constant has as ``meta["val"]`` in the program of ``beside``.

    A fake tensor of another mode does not go together with those of the program, and sizes must not become symbols.
    """
    return beside.fake_mode.from_tensor(tensor, static_shapes=True)


def fake_empty(shape: Sequence, dtype: torch.dtype, beside: FakeTensor) -> FakeTensor:
    """A tensor without content, of sizes that may be those of the program that ``beside`` is in."""
    mode = beside.fake_mode
    without_guards = contextlib.nullcontext() if mode.shape_env is None else mode.shape_env.suppress_guards()
    with mode, without_guards:
        return torch.empty(tuple(shape), dtype=dtype)


# Programs ---------------------------------------------------------------------------------


def copied(module: GraphModule) -> GraphModule:
    """A copy whose nodes have the same names, which the signature of the program has, too.

    FX gives a node another one if it is called like a builtin, such as ``input``.
    """
    own = copy.deepcopy(module)
    for old, new in zip(nodes(module), nodes(own), strict=True):
        new.name = old.name
    own.recompile()
    return own


def nodes(module: GraphModule) -> Iterator[FxNode]:
    """Those of control flow, too."""
    for part in module.modules():
        if isinstance(part, GraphModule):
            yield from part.graph.nodes


def with_module(
    program: ExportedProgram,
    module: GraphModule,
    signature: ExportGraphSignature,
    state: Mapping[str, torch.Tensor],
    constants: Mapping[str, object],
) -> ExportedProgram:
    """``program`` with another module.

    The constructor of ExportedProgram would do, but its parameters change between versions of PyTorch; this is
    what PyTorch's own passes call.
    """
    return program._update(module, signature, state_dict=state, constants=constants)


def return_tuples(program: ExportedProgram) -> None:
    """Results of ``torch.median`` and its kin, returned as they are, become tuples.

    ExecuTorch cannot write the names of their types into a program.
    """
    program._module_call_graph = [_with_tuples(entry) for entry in program.module_call_graph]


def _with_tuples(entry: ModuleCallEntry) -> ModuleCallEntry:
    if entry.signature is None:
        return entry
    signature = dataclasses.replace(entry.signature, out_spec=_plain(entry.signature.out_spec))
    return dataclasses.replace(entry, signature=signature)


def _plain(spec: pytree.TreeSpec) -> pytree.TreeSpec:
    if spec.is_leaf():
        return spec
    children = [_plain(child) for child in spec.children()]
    if getattr(spec.type, "__module__", None) == torch.return_types.__name__:
        return pytree.TreeSpec(tuple, None, children)
    return pytree.TreeSpec(spec.type, spec.context, children)


def sources(node: FxNode) -> Iterator[str]:
    """The names of the nodes that ``node`` was decomposed from, and of what those called.

    What users block by name may be called otherwise in the program that we get.
    """
    waiting = list(node.meta.get("from_node", ()))
    while waiting:
        source = waiting.pop()
        yield source.target
        waiting += source.from_node


def keep_output_last(module: GraphModule) -> None:
    """The result of a program stays its last node, in graphs that ``module`` is given from now on.

    ExecuTorch sorts the nodes of a program anew for each delegate call that it makes, without regard to
    what has no readers, such as the check of an integer that was read off a tensor. The fewer nodes are
    left between the delegate and the output, the more of these end up behind it, where no code expects them.
    """

    def set_graph(self, graph) -> None:
        *_, last = graph.nodes
        output = next(node for node in reversed(graph.nodes) if node.op == "output")
        if output is not last:
            last.append(output)
        GraphModule.graph.fset(self, graph)

    # Every GraphModule has a class of its own, and copies of it do not share that.
    type(module).graph = property(lambda self: self._graph, set_graph)


__all__ = [
    "OpOverload",
    "copied",
    "decompositions",
    "fake_of",
    "functionalized",
    "has_aliases",
    "is_fake",
    "is_mutable",
    "keep_output_last",
    "leaves",
    "map_leaves",
    "nodes",
    "parameters",
    "qualified_name",
    "return_tuples",
    "signature_text",
    "sources",
    "tensor_parameters",
    "with_module",
]
