# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ATen program -> ATen program, before ExecuTorch decomposes it."""

import copy
import operator
import sys
from collections.abc import Mapping, Set

import torch
from executorch.exir.tensor import dim_order_from_stride
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputKind, OutputSpec, TensorArgument
from torch.fx import Graph
from torch.fx import Node as FxNode

from .caches import add_sizes, check_positions, write_out_cache_updates
from .complex_numbers import take_complex_apart
from .graph_edit import add_call
from .integers import drop_checks_of_data, find_integers, merge_integers
from .private.shape_env import own_sizes
from .private.sizes import is_read_off_tensor
from .private.torch import OpOverload, alias_of, copied, is_mutable, return_tuples, with_module
from .signed import compute_on_tensors

_aten = torch.ops.aten
_SPLITS = (_aten.split.Tensor, _aten.split_with_sizes.default, _aten.chunk.default)
#: With `unbiased`, a bool, instead of `correction`, a number.
_UNBIASED = {
    _aten.std_mean.dim: _aten.std_mean.correction,
    _aten.var_mean.dim: _aten.var_mean.correction,
}
#: What is not among the operators of the Edge dialect, and the same that is.
_SAME = {_aten._is_all_true.default: _aten.all.default, _aten._is_any_true.default: _aten.any.default}
#: Whose operands the Edge dialect wants to be of one type.
_JOINS = (_aten.cat.default, _aten.stack.default)
#: What has the axis of steps first in memory, also of batches that are the first axis.
_RECURRENT = (_aten.lstm.input, _aten.gru.input, _aten.rnn_tanh.input, _aten.rnn_relu.input)
#: With the argument that says the sizes.
_EMPTY = {_aten.empty.memory_format: 0, _aten.new_empty.default: 1}


def prepare(program: ExportedProgram) -> ExportedProgram:
    """A program with the same results; ``program`` itself stays as it is."""
    module = copied(program.graph_module)
    own_sizes(module)
    graph = module.graph
    signature = copy.deepcopy(program.graph_signature)
    # ExecuTorch takes out of these what delegates consume; the caller's program keeps them.
    state, constants = map(_resolved, (program.state_dict, program.constants))
    _resolve_placeholders(graph)
    _clone_sources(graph, signature)
    _clone_lifted(graph, signature)
    _clone_steps(graph)
    check_positions(graph)
    merge_integers(graph, signature)
    write_out_cache_updates(graph)
    compute_on_tensors(graph)
    drop_checks_of_data(graph)
    find_integers(graph, program)
    _name_results(graph, signature)
    for node in list(graph.nodes):
        if node.target in _SPLITS:
            _split_to_slices(graph, node)
        elif node.target in _UNBIASED:
            _to_correction(node)
        elif node.target is torch.sym_float:
            _to_quotient(node)
        elif node.target in _EMPTY:
            _to_zeros(node)
        elif node.target is _aten.argsort.stable:
            _to_sort(graph, node)
        elif node.target in _JOINS:
            _promote_operands(graph, node)
        elif node.target in _SAME:
            node.target = _SAME[node.target]
    module.recompile()
    prepared = take_complex_apart(with_module(program, module, signature, state, constants))
    return_tuples(prepared)
    return prepared


def _resolved(tensors: Mapping[str, object]) -> dict[str, object]:
    """``tensors`` with those computed that are marked as a conjugate or a negative, such as ``x.conj()``."""
    return {name: _resolved_tensor(x) if isinstance(x, torch.Tensor) else x for name, x in tensors.items()}


def _resolved_tensor(x: torch.Tensor) -> torch.Tensor:
    if not x.is_conj() and not x.is_neg():
        return x
    resolved = x.detach().resolve_conj().resolve_neg()
    return torch.nn.Parameter(resolved, x.requires_grad) if isinstance(x, torch.nn.Parameter) else resolved


def _resolve_placeholders(graph: Graph) -> None:
    for node in graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            node.meta["val"] = _resolved_tensor(value)


def _to_zeros(node: FxNode) -> None:
    """Memory of dynamic sizes: ExecuTorch's own operator takes the sizes of the example for it, for every call."""
    sizes, layout = node.args[_EMPTY[node.target]], node.kwargs.get("memory_format")
    if all(isinstance(size, int) for size in sizes) or layout not in (None, torch.contiguous_format):
        return
    dtype = node.meta["val"].dtype
    node.target, node.args, node.kwargs = _aten.full.default, (sizes, 0), {"dtype": dtype}


def _name_results(graph: Graph, signature: ExportGraphSignature) -> None:
    """Has the signature name the results as they are now."""
    for i, (spec, result) in enumerate(zip(signature.output_specs, graph.output_node().args[0], strict=True)):
        if isinstance(spec.arg, TensorArgument) and isinstance(result, FxNode) and spec.arg.name != result.name:
            signature.output_specs[i] = OutputSpec(spec.kind, TensorArgument(name=result.name), spec.target)


def _clone_sources(graph: Graph, signature: ExportGraphSignature) -> None:
    """``buffer.copy_(x)`` -> ``buffer.copy_(clone(x.to(buffer.dtype).expand(buffer.shape)))``.

    ExecuTorch makes ``x`` itself the new content, which no operator of the delegate makes, and which is of another type
    or shape where ``copy_`` converts or broadcasts.
    """
    buffers = signature.inputs_to_buffers
    for node in list(graph.nodes):
        if node.target is _aten.copy_.default and _origin(node.args[0]).name in buffers:
            content = node.args[0].meta["val"]
            with graph.inserting_before(node):
                source = _expanded(graph, _converted(graph, node.args[1], content.dtype, node), content.shape)
                clone = _clone(graph, source)
            clone.meta = {**node.meta, "val": clone.meta["val"]}
            node.update_arg(1, clone)


def _origin(x: FxNode) -> FxNode:
    """What ``x`` is the whole of: under another name, or after something was written to it."""
    while x.args and isinstance(x.args[0], FxNode) and alias_of(x, x.args[0]) is not None:
        a, b = x.args[0].meta["val"], x.meta["val"]
        if not isinstance(b, torch.Tensor) or (a.shape, a.stride(), a.dtype) != (b.shape, b.stride(), b.dtype):
            break
        x = x.args[0]
    return x


def _converted(graph: Graph, x: FxNode, dtype: torch.dtype, reader: FxNode) -> FxNode:
    """``x.to(dtype)`` for ``reader``, ``x`` itself if it has that type."""
    value = x.meta["val"]
    if value.dtype == dtype:
        return x
    converted = graph.call_function(_aten._to_copy.default, (x,), {"dtype": dtype})
    converted.meta = {**reader.meta, "val": value.to(dtype)}
    return converted


def _expanded(graph: Graph, x: FxNode, shape: torch.Size) -> FxNode:
    """``x.expand(shape)``, ``x`` itself if it has that shape, as it has with sizes that depend on an input."""
    value = x.meta["val"]
    if not all(isinstance(size, int) for size in value.shape) or value.shape == shape:
        return x
    return add_call(graph, _aten.expand.default, value.expand(shape), x, list(shape))


def _has_memory_format(value: torch.Tensor) -> bool:
    """Whether ExecuTorch has one of this order of axes."""
    if not all(isinstance(stride, int) for stride in value.stride()):
        return True
    if 0 in value.stride():  # expanded
        return False
    axes = range(value.dim())
    return tuple(dim_order_from_stride(value.stride())) in (tuple(axes), (*axes[:1], *axes[2:], *axes[1:2]))


def _clone(graph: Graph, source: FxNode) -> FxNode:
    """A copy of ``source``, contiguous if ExecuTorch has no memory format of its order of axes."""
    value, kwargs = source.meta["val"], {}
    if not _has_memory_format(value):
        value, kwargs = value.contiguous(), {"memory_format": torch.contiguous_format}
    clone = graph.call_function(_aten.clone.default, (source,), kwargs)
    clone.meta = {**source.meta, "val": value}
    return clone


def _clone_lifted(graph: Graph, signature: ExportGraphSignature) -> None:
    """``return buffer`` -> ``return clone(buffer)``, and the same of parameters and constants.

    A result that is also the new content of a buffer would keep the buffer out of the delegate, and ExecuTorch gives
    what a delegate takes along to no one else.
    """
    output = graph.output_node()
    results = list(output.args[0])
    constants = signature.inputs_to_lifted_tensor_constants
    lifted = {*signature.inputs_to_buffers, *signature.inputs_to_parameters, *constants}
    for i, spec in enumerate(signature.output_specs):
        result = results[i]
        if spec.kind == OutputKind.USER_OUTPUT and _may_be_lifted(result, lifted):
            with graph.inserting_before(output):
                results[i] = _clone(graph, result)
            signature.output_specs[i] = OutputSpec(spec.kind, TensorArgument(name=results[i].name), spec.target)
    output.args = (tuple(results),)


def _may_be_lifted(node, lifted: Set[str]) -> bool:
    if not isinstance(node, FxNode):
        return False
    if node.op == "placeholder":
        return node.name in lifted
    return isinstance(node.target, OpOverload) and is_mutable(node.target)


def _clone_steps(graph: Graph) -> None:
    """``lstm(x, ...)[0]`` -> ``clone(lstm(x, ...)[0])``, contiguous.

    ExecuTorch's operators refuse tensors whose order of axes is no memory format, and it takes that of ``lstm`` for the
    one that a delegate gives.
    """
    for node in list(graph.nodes):
        if node.target is not operator.getitem or node.args[0].target not in _RECURRENT or node.args[1] != 0:
            continue
        with graph.inserting_after(node):
            clone = graph.call_function(_aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
        value = torch.empty_like(node.meta["val"], memory_format=torch.contiguous_format)
        clone.meta = {**node.meta, "val": value}
        node.replace_all_uses_with(clone, delete_user_cb=lambda reader, clone=clone: reader is not clone)


def _split_to_slices(graph: Graph, node: FxNode) -> None:
    """``split(x, [a, b])[1]`` -> ``slice(x, a, a + b)``.

    The checks of the Edge dialect run ``split_with_sizes_copy`` on symbolic shapes, and that
    turns every dynamic size of its operand into a constant.
    """
    if any(user.target is not operator.getitem for user in node.users):
        return
    x = node.args[0]
    dim = node.args[2] if len(node.args) > 2 else node.kwargs.get("dim", 0)
    parts = node.meta["val"]
    sizes = node.args[1]
    starts = [0]
    with graph.inserting_before(node):
        if not isinstance(sizes, (list, tuple)):
            sizes = [part.shape[dim] for part in parts]
            if any(isinstance(size, torch.SymInt) for size in sizes):
                sizes = [_part_size(graph, node, x, dim)] * (len(parts) - 1)
        for size in sizes:
            starts.append(add_sizes(graph, starts[-1], size))
            _check_end(graph, starts[-1], x.meta["val"].shape[dim])
        starts.append(sys.maxsize)  # where the last part ends if it has what is left
    for user in list(node.users):
        index = user.args[1]
        user.target = _aten.slice.Tensor
        user.args = (x, dim, starts[index], starts[index + 1])
        user.meta = {**node.meta, "val": parts[index]}
    graph.erase_node(node)


def _part_size(graph: Graph, node: FxNode, x: FxNode, dim: int):
    """The size of each part of a ``split`` or ``chunk`` but the last one, which may be smaller."""
    if node.target is _aten.split.Tensor:
        return node.args[1]
    chunks, size = node.args[1], x.meta["val"].shape[dim]
    rounded = add_sizes(graph, add_call(graph, _aten.sym_size.int, size, x, dim), chunks - 1)
    return add_call(graph, operator.floordiv, rounded.meta["val"] // chunks, rounded, chunks)


def _check_end(graph: Graph, end, size) -> None:
    """A slice compares its end with the size of what it is of; the sum of sizes read off a tensor needs a check."""
    if isinstance(end, FxNode) and is_read_off_tensor(end.meta["val"]) and isinstance(size, int):
        check = add_call(graph, operator.le, end.meta["val"] <= size, end, size)
        graph.call_function(_aten._assert_scalar.default, (check, "parts are larger than what was split"))


def _to_correction(node: FxNode) -> None:
    """``var_mean(x, 1, True)`` -> ``var_mean(x, 1, correction=1)``.

    What PyTorch decomposes the first one into does not pass the checks of the Edge dialect.
    """
    x, dim, unbiased, keepdim = (*node.args, *(None, True, False)[len(node.args) - 1 :])
    node.target = _UNBIASED[node.target]
    node.args = (x, dim)
    node.kwargs = {
        "correction": int(node.kwargs.get("unbiased", unbiased)),
        "keepdim": node.kwargs.get("keepdim", keepdim),
    }


def _to_sort(graph: Graph, node: FxNode) -> None:
    """``argsort(x, stable=True)`` -> ``sort(x, stable=True)[1]``.

    PyTorch decomposes the first one into the second, which is none of the Edge dialect, but which we take.
    """
    values = node.args[0].meta["val"], node.meta["val"]
    with graph.inserting_before(node):
        ordered = add_call(graph, _aten.sort.stable, values, *node.args, **node.kwargs)
    node.target, node.args, node.kwargs = operator.getitem, (ordered, 1), {}


def _promote_operands(graph: Graph, node: FxNode) -> None:
    """``cat([int32, int64])`` -> ``cat([int32.to(int64), int64])``."""
    dtype = node.meta["val"].dtype
    if dtype.is_complex:
        return  # take_complex_apart promotes these
    with graph.inserting_before(node):
        node.update_arg(0, [_converted(graph, operand, dtype, node) for operand in node.args[0]])


def _to_quotient(node: FxNode) -> None:
    """``sym_float(s)`` -> ``s / 1``, which the Edge dialect has."""
    if isinstance(node.args[0].meta["val"], torch.SymInt):
        node.target = operator.truediv
        node.args = (node.args[0], 1)
        node.meta["val"] = node.args[0].meta["val"] / 1
