# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Edge program -> ``ir.Graph``, node by node, by the rows of ``ops``."""

import dataclasses
import inspect
import operator

import numpy as np
import torch
from executorch.exir.tensor import dim_order_from_stride
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node as FxNode

from ...serialization import schema
from ...serialization.arrays import NUMPY_DTYPES, REDUCED_FLOATS
from ...serialization.schema import DType
from .. import ops
from ..complex_borders import READERS, has_rule, touches_complex
from ..ir import Graph, Input, Source, Value, dims
from ..placeholders import Placeholders
from ..private.executorch import debug_handle
from ..private.torch import leaves, parameters
from .dtypes import DTYPES, array_of, computed
from .nodes import aten_operator, is_check, is_size, is_wide_scale, target_name
from .row_context import RowContext
from .size_plan import plan_sizes, widen
from .unsupported import Unsupported

_COMPLEX_LEAVE = (
    "complex numbers leave the program or are read by an operator that has no rule for them; "
    "return torch.view_as_real of them"
)
_COMPLEX_ENTER = (
    "complex numbers enter the program or come from an operator that stays outside; take torch.view_as_real of them"
)


def _reason_of_complex(operator) -> str:
    """Of what ``take_complex_apart`` leaves."""
    if operator in READERS:
        return _COMPLEX_ENTER
    if operator is not None and has_rule(operator):
        return _COMPLEX_LEAVE
    return "et_xnnpack has no rule for this operator on complex numbers"


def _reason_without_row(node: FxNode) -> str:
    operator = aten_operator(node)
    if operator is not None and torch.Tag.nondeterministic_seeded in operator.tags:
        return "the operator draws random numbers, which ExecuTorch does anew at each call"
    if touches_complex(node):
        return _reason_of_complex(operator)
    if operator is not None and torch.Tag.dynamic_output_shape in operator.tags:
        return "how large its result is is known at run time only, and et_xnnpack does not find such sizes of it"
    return "et_xnnpack does not support this operator"


class Lowering(RowContext):
    """Translates the nodes of one program in their order."""

    def __init__(self, program: ExportedProgram):
        super().__init__(program)
        self.program = program
        self.placeholders = Placeholders(program)
        self.env: dict[FxNode, object] = {}  #: what each node became: a value or several

    def _read(self, node: FxNode):
        if isinstance(node.meta.get("val"), (int, torch.SymInt)):
            return self.dim(node.meta["val"])
        if isinstance(node.meta.get("val"), (float, torch.SymFloat)):
            raise Unsupported("an argument is a float that is computed at run time")
        return self.env[node]

    def _argument(self, argument):
        if isinstance(argument, FxNode):
            return self._read(argument)
        if isinstance(argument, (list, tuple)):
            return [self._argument(a) for a in argument]
        return argument

    def _bind(self, row, node: FxNode) -> dict[str, object]:
        """The arguments that the row names, defaults filled in."""
        bound = {}
        for position, parameter in enumerate(parameters(aten_operator(node))):
            if position < len(node.args):
                bound[parameter.name] = node.args[position]
            elif parameter.name in node.kwargs:
                bound[parameter.name] = node.kwargs[parameter.name]
            else:
                bound[parameter.name] = parameter.default_value
        names = inspect.signature(row.lower).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in names.values())
        return {k: self._argument(v) for k, v in bound.items() if takes_all or k in names}

    def lower_node(self, node: FxNode):
        """The value (or tuple of values) that ``node`` becomes. Raises Unsupported."""
        if node.target is operator.getitem:
            value = self.env[node.args[0]][node.args[1]]
            if value is None:
                raise Unsupported("the delegate does not compute this result of the operator")
            return value
        if is_wide_scale(node):
            return self._read(node.args[0])
        name = target_name(node)
        row = ops.ROWS.get(name)
        if row is None or touches_complex(node):
            raise Unsupported(_reason_without_row(node))
        arguments = self._bind(row, node)  # may lower what they are computed from
        self.fx_node = node
        self.debug_handle = debug_handle(node)
        self._check_dtypes(row, arguments, node)
        if DType.Int64 not in row.dtypes and self._has_reduced_floats(arguments, node):
            return self._lower_wide(row, arguments, node)
        before = len(self.nodes), len(self.values)
        try:
            result = row.lower(self, **arguments)
            self._check_result(row, result, node)
            return result
        except Unsupported:
            if not self._has_reduced_floats(arguments, node):
                raise
        self._forget(*before)
        return self._lower_wide(row, arguments, node)

    def _check_result(self, row, result, node: FxNode) -> None:
        """No row may give a result of another type or shape than the program unawares."""
        if row.result_dtypes is not None:
            return
        pairs = zip(result, node.meta["val"], strict=False) if isinstance(result, (tuple, list)) else ()
        for value, tensor in pairs or [(result, node.meta["val"])]:
            if value is not None and tensor is not None:
                meta = self._meta(tensor)
                given, due = value.dtype.name, meta.dtype.name
                self.require(given == due, f"it would give {given} instead of {due}")
                self.require(value.shape == meta.shape, f"it would give {value.shape} instead of {meta.shape}")

    def with_source(self, node: FxNode, result):
        """``result``, which knows that it is that of ``node`` if that has just one and computes something."""
        handle = debug_handle(node)
        if not handle or not isinstance(result, Value) or self.producer(result) is None:
            return result
        return self.set_source(result, Source(handle, tuple(range(result.rank))))

    def _has_reduced_floats(self, arguments, node: FxNode) -> bool:
        results = leaves(node.meta["val"])
        tensors = [v for v in leaves(arguments) if isinstance(v, Value)]
        torch_types = (torch.float16, torch.bfloat16)
        return any(t.dtype in REDUCED_FLOATS for t in tensors) or any(
            getattr(r, "dtype", None) in torch_types for r in results
        )

    def _lower_wide(self, row, arguments, node: FxNode):
        """As PyTorch computes with 16-bit floats: in float32, rounded where the operator ends."""

        narrow = next((DTYPES.get(getattr(r, "dtype", None)) for r in leaves(node.meta["val"])), None)
        others = set()

        def widened(x):
            if isinstance(x, list):
                return [widened(i) for i in x]
            if not isinstance(x, Value):
                return x
            y = self.widened(x)
            if narrow in REDUCED_FLOATS and x.dtype != narrow:
                others.add(y.name)
            return y

        arguments = {name: widened(x) for name, x in arguments.items()}
        self._wide, self._others = True, others
        try:
            result = row.lower(self, **arguments)
        finally:
            self._wide, self._others = False, set()

        def narrowed(value, tensor):
            return (
                value if value is None or row.result_dtypes is not None else self.cast(value, self._meta(tensor).dtype)
            )

        if not isinstance(result, (tuple, list)):
            return narrowed(result, self.fx_node.meta["val"])
        return [narrowed(v, t) for v, t in zip(result, node.meta["val"], strict=False)]

    def _forget(self, nodes: int, values: int) -> None:
        """Takes back what was added after there were so many of them."""
        for node in self.nodes[nodes:]:
            for name in node.outputs:
                del self._producers[name]
        del self.nodes[nodes:]
        while len(self.values) > values:
            name, _ = self.values.popitem()
            self._unrounded.pop(name, None)

    def _check_dtypes(self, row, arguments, node: FxNode) -> None:
        values = list(arguments.values())
        while values:
            value = values.pop()
            if isinstance(value, list):
                values.extend(value)
            elif isinstance(value, Value):
                self.require(
                    computed(value.dtype) in row.dtypes,
                    f"it does not take operands of type {value.dtype.name}",
                )
        result = node.meta["val"]
        if row.result_dtypes is not None:
            return
        for value in result if isinstance(result, (tuple, list)) else [result]:
            if value is not None:
                dtype = self._meta(value).dtype
                self.require(computed(dtype) in row.dtypes, f"it does not give results of type {dtype.name}")

    def placeholder(self, node: FxNode) -> None:
        """Makes it a state, a constant, an input, or a number that is an argument of the call."""
        tensor = self.placeholders.constant_tensor(node)
        value = node.meta["val"]
        state = self.placeholders.mutated_buffer(node)
        if state is not None:  # the delegate owns it
            self._meta(value)
            self.env[node] = self.state(state, array_of(self.placeholders.tensor(state)))
        elif tensor is not None:
            self._meta(tensor)
            self.env[node] = self.constant(array_of(tensor), node.name)
        elif isinstance(value, torch.Tensor):
            self.env[node] = self._graph_input(node, value)
        else:
            self.inputs.append(Input(None, expr=self.dim(value)))

    def _graph_input(self, node: FxNode, tensor: torch.Tensor) -> Value:
        """The input with its axes in the order of the program, in whatever order they are in memory."""
        meta = self._meta(tensor)
        order = tuple(dim_order_from_stride(tensor.stride()))
        if order == tuple(range(meta.rank)):
            value = self.value(meta.dtype, meta.shape, node.name)
            self.input(value)
            return value
        physical = self.value(meta.dtype, [meta.shape[a] for a in order], node.name)
        self.input(physical, order)
        self.fx_node = None
        return self.transpose(physical, [order.index(a) for a in range(meta.rank)])

    def stand_in(self, node: FxNode) -> Value:
        """A constant of the right type without its data, which partitioners do not get."""
        meta = self._meta(node.meta["val"])
        zero = np.zeros((), NUMPY_DTYPES[meta.dtype])
        return self.constant(np.broadcast_to(zero, meta.shape), node.name)

    def graph_output(self, node: FxNode) -> None:
        """Makes what ``node`` became an output, with its axes in the order in memory that the program says."""
        value = self.env[node]
        dtype = self._meta(node.meta["val"]).dtype
        self.require(value.dtype == dtype, f"a result is {value.dtype.name}, but must be {dtype.name}")
        self._require_bounds(value)
        order = tuple(dim_order_from_stride(node.meta["val"].stride()))
        if order == tuple(range(value.rank)):
            self.output(value)
        else:
            self.fx_node = None
            self.output(self.transpose(value, order), order)

    def _require_bounds(self, value: Value) -> None:
        """ExecuTorch plans memory for results whose sizes are found in data as for any other."""
        found = {node.found for node in self.nodes} - {None}
        for dim in value.shape:
            unbounded = [
                s for s in found & getattr(dim, "free_symbols", set()) if self._sizes.ranges[s.name].max is None
            ]
            self.require(
                not unbounded,
                "how large a result is is known at run time only, and without a bound ExecuTorch cannot hold it; "
                "torch._check(size <= bound) says one",
            )

    def build(self) -> Graph:
        graph = self.build_plain()
        conditions = self._sizes.conditions()
        ranges = widen(graph.ranges, self._sizes.assumed, conditions, self._most_found(graph))
        graph = dataclasses.replace(graph, ranges=ranges)
        return dataclasses.replace(graph, ranges=plan_sizes(graph, conditions))

    @staticmethod
    def _most_found(graph: Graph) -> dict[str, int]:
        """By symbol, one less than the elements among which it is found: all of them stand for a number out of range
        (``find_integers``)."""
        nodes = ((n, dims.numel(graph.values[n.inputs[0]].shape)) for n in graph.nodes if n.is_a(schema.Nonzero))
        return {n.found.name: elements - 1 for n, elements in nodes if n.found and isinstance(elements, int)}

    def build_plain(self) -> Graph:
        """The graph, planned for the bounds of its sizes, whether or not that is possible."""
        self.ranges = dict(self._sizes.ranges)
        return super().build()


def lower(program: ExportedProgram) -> Graph:
    """The graph of a program that the partitioner has taken whole. Raises Unsupported."""
    lowering = Lowering(program)
    for node in program.graph.nodes:
        if node.op == "placeholder":
            lowering.placeholder(node)
        elif node.op == "output":
            for spec, result in zip(program.graph_signature.output_specs, node.args[0], strict=True):
                if spec.kind == OutputKind.BUFFER_MUTATION:
                    lowering.update(spec.target, lowering.env[result])
                else:
                    lowering.graph_output(result)
        elif is_size(node) or is_check(node):
            continue  # sizes are expressions of the graph's inputs, and the runtime checks their ranges
        else:
            lowering.env[node] = lowering.with_source(node, lowering.lower_node(node))
    return lowering.build()
