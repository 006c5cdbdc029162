# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Edge program -> ``ir.Graph``, by the rows of ``ops``.

``Lowering`` translates nodes one by one. ``Support`` runs the same translation dry, on
shapes alone, and so tells which nodes can be taken and why the others cannot.
"""

import dataclasses
import functools
import inspect
import logging
import operator
from collections.abc import Callable

import numpy as np
import sympy
import torch
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.tensor import dim_order_from_stride
from torch.export import ExportedProgram
from torch.export.graph_signature import OutputKind
from torch.fx import Node as FxNode
from torch.utils._sympy import functions as torch_sympy
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from ..serialization import schema
from ..serialization.arrays import BFLOAT16, HALVES, NUMPY_DTYPES, convert, number
from ..serialization.schema import DType
from . import ops
from .fold import fold
from .ir import Builder, Graph, Input, Range, Value, dims
from .placeholders import Placeholders
from .size_plan import plan_sizes, widen
from .traits import traits_of
from .twins import original

logger = logging.getLogger(__name__)

_DTYPES = {
    torch.float32: DType.Float32,
    torch.int32: DType.Int32,
    torch.int64: DType.Int64,
    torch.bool: DType.Bool,
    torch.int8: DType.Int8,
    torch.uint8: DType.UInt8,
    torch.float16: DType.Float16,
    torch.bfloat16: DType.BFloat16,
}


# As PyTorch promotes them, within a category from the first to the last.
_INTEGERS = (DType.UInt8, DType.Int8, DType.Int32, DType.Int64)
_FLOATS = (DType.Float16, DType.BFloat16, DType.Float32)
_CATEGORY = {DType.Bool: 0, **dict.fromkeys(_INTEGERS, 1), **dict.fromkeys(_FLOATS, 2)}


def _highest(dtypes: list[DType | None]) -> DType | None:
    if HALVES <= set(dtypes):
        return DType.Float32
    order = (DType.Bool, *_INTEGERS, *_FLOATS)
    return max((d for d in dtypes if d is not None), key=order.index, default=None)


def _number_dtype(x) -> DType | None:
    if isinstance(x, bool):
        return DType.Bool
    if isinstance(x, float):
        return DType.Float32
    return DType.Int64 if isinstance(x, (int, sympy.Expr)) else None


def _computed(dtype: DType) -> DType:
    return DType.Float32 if dtype in HALVES else dtype


class Unsupported(Exception):
    """This node cannot be delegated; the message is the reason, for people."""


def explain(error: Exception, node: FxNode) -> str:
    """Why ``node`` stays outside. What is no refusal is a mistake of ours, which costs speed but no program."""
    if isinstance(error, Unsupported):
        return str(error)
    logger.warning("lowering %s failed, it stays outside the delegate", node.name, exc_info=error)
    return f"a mistake in et_xnnpack: {type(error).__name__}: {error}"


def aten_operator(node: FxNode) -> torch._ops.OpOverload | None:
    """The ATen operator that ``node`` calls, also through the Edge dialect."""
    target = node.target
    if isinstance(target, EdgeOpOverload):
        target = target._op
    return original(target) if isinstance(target, torch._ops.OpOverload) else None


def target_name(node: FxNode) -> str:
    """``aten.add.Tensor`` for an ATen or an Edge operator, else the name of the callable."""
    aten = aten_operator(node)
    return getattr(node.target, "__name__", str(node.target)) if aten is None else str(aten)


def _is_wide_scale(node: FxNode) -> bool:
    """Whether it makes float64 of float32 for dequantization alone, whose scales are float32 here."""
    if node.op != "call_function" or not target_name(node).endswith(
        ("._to_copy.default", "._to_dim_order_copy.default")
    ):
        return False
    source = node.args[0].meta["val"]
    is_wide = source.dtype == torch.float32 and node.meta["val"].dtype == torch.float64
    return is_wide and bool(node.users) and all("dequantize" in str(user.target) for user in node.users)


def _reason_without_row(node: FxNode) -> str:
    operator = aten_operator(node)
    if operator is not None and torch.Tag.nondeterministic_seeded in operator.tags:
        return "draws random numbers, which ExecuTorch does anew at each call"
    return "no row for this operator"


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The tensor as NumPy has it; a bfloat16 as ``arrays.BFLOAT16``."""
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        return tensor.contiguous().view(torch.int16).numpy().view(BFLOAT16)
    return tensor.numpy()


def _dtype_reason(dtype: torch.dtype) -> str:
    return f"dtype {str(dtype).removeprefix('torch.')}"


def _finite(bound) -> int | None:
    return int(bound) if isinstance(bound, int) or bound.is_Integer else None


def _remainder(a, b):
    """PyTorch rolls what has no elements without dividing by their number."""
    return sympy.Mod(a, b if b.is_Integer else sympy.Max(b, 1))


class _Sizes:
    """torch's symbolic sizes as expressions of the IR, with the range of every symbol."""

    _FUNCTIONS = {
        torch_sympy.FloorDiv: lambda a, b: sympy.floor(a / b),
        torch_sympy.CleanDiv: lambda a, b: a / b,
        torch_sympy.Mod: _remainder,
        torch_sympy.PythonMod: _remainder,
        torch_sympy.Max: sympy.Max,
        torch_sympy.Min: sympy.Min,
    }

    def __init__(self, program: ExportedProgram):
        self._constraints = program.range_constraints
        self._cache: dict[object, dims.Dim] = {}
        self._environments: dict[int, object] = {}
        self._bounds: dict[sympy.Symbol, ValueRanges] = {}
        self.ranges: dict[str, Range] = {}
        self.assumed: dict[str, int] = {}  #: the least size that export assumed where we take less

    def convert(self, size) -> dims.Dim:
        if isinstance(size, int) and not isinstance(size, torch.SymInt):
            return size
        expr = size.node.expr
        self._environments[id(size.node.shape_env)] = size.node.shape_env
        if expr not in self._cache:
            for symbol in expr.free_symbols:
                self._add_range(symbol, size.node.shape_env)
            self._cache[expr] = dims.simplify(self._rebuild(expr))
        return self._cache[expr]

    def conditions(self) -> list:
        """What the program checks of its sizes at a call."""
        found = {}
        for environment in self._environments.values():
            for checks in environment.deferred_runtime_asserts.values():
                for check in checks:
                    condition = check.expr.xreplace(environment.replacements)
                    if all(symbol.name in self.ranges for symbol in condition.free_symbols):
                        found[condition] = None
        return [rebuilt for condition in found if (rebuilt := self._rebuild_condition(condition)) is not None]

    def _rebuild_condition(self, condition):
        """None for one that has no form here."""
        if condition.is_Boolean and not condition.is_Relational:
            parts = [self._rebuild_condition(part) for part in condition.args]
            return None if None in parts else condition.func(*parts)
        try:
            return condition.func(*(self._rebuild(side) for side in condition.args))
        except Unsupported:
            return None

    def _rebuild(self, expr):
        if expr.is_Integer:
            return sympy.Integer(int(expr))
        if expr.is_Rational:
            return sympy.Rational(expr.p, expr.q)
        if expr.is_Symbol:
            return dims.symbol(expr.name)
        if expr.func in (torch_sympy.TruncToInt, torch_sympy.FloorToInt):
            return self._rounded_down(expr)
        args = [self._rebuild(a) for a in expr.args]
        if expr.func in self._FUNCTIONS:
            return self._FUNCTIONS[expr.func](*args)
        if expr.func in (sympy.Add, sympy.Mul, sympy.Pow):
            return expr.func(*args)
        raise Unsupported(f"a size {expr} that cannot be computed in the delegate")

    def _rounded_down(self, expr):
        """A size times a float, or divided by an integer, without its fraction."""
        factor, number = expr.args[0].as_coeff_Mul()
        if isinstance(number, (torch_sympy.ToFloat, torch_sympy.IntTrueDiv)) and factor > 0:
            size, divisor = (*number.args, 1)[:2]
            if self._is_size(size):
                if divisor == 1:
                    return sympy.sympify(dims.scale(self._rebuild(size), float(factor)))
                if factor == 1 and sympy.sympify(divisor).is_Integer and divisor > 0:
                    return sympy.floor(self._rebuild(size) / int(divisor))
        raise Unsupported(f"a size {expr} that cannot be computed in the delegate")

    def _is_size(self, expr) -> bool:
        """Whether it cannot be negative: rounded down it is then the same as without its fraction."""
        return bool(bound_sympy(expr, self._bounds).lower >= 0)

    def _add_range(self, symbol, shape_env) -> None:
        if symbol.name in self.ranges:
            return
        bounds = self._constraints.get(symbol)
        if bounds is None:
            bounds = shape_env.var_to_range[symbol]
        self._bounds[symbol] = bounds
        low, high = _finite(bounds.lower), _finite(bounds.upper)
        if shape_env.is_unbacked_symint(symbol):
            if low is None or low < 0:
                raise Unsupported("an integer from a tensor that may be negative; torch._check can say that it is not")
        elif low is None or low <= 2:  # export assumes at least 2 where the user allows 0 and 1
            self.assumed[symbol.name] = _finite(shape_env.var_to_range[symbol].lower) or 0
            low = 0
        if high is not None and high >= 2**31 - 1:
            high = None
        hint = shape_env.backed_var_to_val.get(symbol)
        hint = max(low, 1) if hint is None else int(hint)
        self.ranges[symbol.name] = Range(low, high, hint)


class Lowering(Builder):
    """Translates nodes of one program; also what a row sees as ``c``."""

    def __init__(self, program: ExportedProgram):
        super().__init__()
        self.program = program
        self.placeholders = Placeholders(program)
        self.fx_node: FxNode | None = None
        self.env: dict[FxNode, object] = {}
        self._sizes = _Sizes(program)
        self._wide = False
        self._unrounded: dict[str, Value] = {}  # numbers that ExecuTorch had rounded to 16 bits

    # What rows use -----------------------------------------------------------

    @property
    def out(self) -> Value:
        """Shape and dtype of the (first) result of the node being translated."""
        value = self.fx_node.meta["val"]
        return self._result_meta(value[0] if isinstance(value, (tuple, list)) else value)

    @property
    def outs(self) -> list[Value]:
        """Shapes and dtypes of all results."""
        return [self._result_meta(v) for v in self.fx_node.meta["val"]]

    def refuse(self, reason: str):
        raise Unsupported(reason)

    def require(self, condition: bool, reason: str) -> None:
        if not condition:
            raise Unsupported(reason)

    def require_constant(self, value: Value, what: str) -> Value:
        self.require(value.constant is not None, f"{what} that is not a constant")
        return value

    def require_static(self, dim: dims.Dim, what: str) -> int:
        self.require(isinstance(dim, int), f"{what} that depends on an input size")
        return dim

    def largest(self, dim: dims.Dim, what: str) -> int:
        """The upper bound of a size, which must be a number or one size of an input."""
        if isinstance(dim, int):
            return dim
        most = self._sizes.ranges[dim.name].max if dim.is_Symbol else None
        self.require(most is not None, f"{what} without an upper bound, or computed from input sizes")
        return most

    def axis(self, axis: int, rank: int) -> int:
        """``axis`` counted from the front."""
        return axis + rank if axis < 0 else axis

    def is_symbolic(self, x) -> bool:
        return isinstance(x, sympy.Expr)

    def used_outputs(self) -> set[int]:
        """Which results of the node anything reads."""
        return {u.args[1] for u in self.fx_node.users if u.target is operator.getitem}

    def node(self, attributes, *inputs, shape, dtype=None, name=None) -> Value:
        """As ``Builder.node``; computed at once if every input is a constant."""
        self._check_half(attributes, inputs)
        if inputs:
            constant = fold(self, attributes, inputs)
            if constant is not None:
                return constant
        name = name or (self.fx_node.name if self.fx_node else None)
        return super().node(attributes, *inputs, shape=shape, dtype=dtype, name=name)

    def multi_node(self, attributes, *inputs, outputs, name=None, **options) -> list[Value]:
        self._check_half(attributes, inputs)
        name = name or (self.fx_node.name if self.fx_node else None)
        return super().multi_node(attributes, *inputs, outputs=outputs, name=name, **options)

    def cast(self, x: Value, dtype: DType) -> Value:
        if x.dtype == dtype:
            return x
        y = self.node(schema.Cast(dtype=dtype), x, shape=x.shape, dtype=dtype)
        if x.name in self._unrounded:
            self._unrounded[y.name] = self._unrounded[x.name]
        elif x.dtype == DType.Float32 and y.dtype in HALVES and x.rank == 0 and y.constant is not None:
            self._unrounded[y.name] = x
        return y

    def widened(self, x: Value) -> Value:
        """``x``, as Float32 if it is a 16-bit float."""
        return self.cast(x, DType.Float32) if x.dtype in HALVES else x

    def operand(self, x, dtype: DType, exact: bool = False) -> Value:
        """A tensor cast to ``dtype``, or a number, perhaps one that depends on sizes, as such a tensor.

        A number for an operator of 16-bit floats is rounded to these, unless ``exact``.
        """
        if isinstance(x, Value):
            return self._unrounded.get(x.name, x) if exact and x.dtype == dtype else self.cast(x, dtype)
        if self.is_symbolic(x):
            size = self.node(schema.SizeValue(size=x), shape=(), dtype=DType.Int64)
            return self.cast(size, dtype)
        array = number(x, dtype)
        if self._wide and dtype == DType.Float32 and not exact:
            narrow = self._first_meta().dtype
            if narrow in HALVES:
                array = convert(convert(array, narrow), DType.Float32)
        return self.constant(array)

    def common_dtype(self, *operands) -> DType:
        """The type that PyTorch computes with, given tensors and at most one number."""
        tensors = [x for x in operands if isinstance(x, Value)]
        rank0 = [x.dtype for x in tensors if x.rank == 0]
        dtype = _highest([x.dtype for x in tensors if x.rank > 0])
        for other in (_highest(rank0), _highest([_number_dtype(x) for x in operands])):
            if dtype is None or (other is not None and _CATEGORY[other] > _CATEGORY[dtype]):
                dtype = other
        return dtype

    def nhwc(self, x: Value) -> Value:
        """[N, C, ..., W] -> [N, ..., W, C]."""
        return self.transpose(x, (0, *range(2, x.rank), 1))

    def nchw(self, x: Value) -> Value:
        """The inverse of ``nhwc``."""
        return self.transpose(x, (0, x.rank - 1, *range(1, x.rank - 1)))

    # The translation ---------------------------------------------------------

    def _first_meta(self) -> Value:
        value = self.fx_node.meta["val"]
        return self._meta(value[0] if isinstance(value, (tuple, list)) else value)

    def _result_meta(self, value) -> Value:
        meta = self._meta(value)
        if self._wide and meta.dtype in HALVES:
            return dataclasses.replace(meta, dtype=DType.Float32)
        return meta

    def _check_half(self, attributes, inputs) -> None:
        if any(i is not None and i.dtype in HALVES for i in inputs) and not traits_of(attributes).takes_16_bits:
            self.refuse(f"{type(attributes).__name__} of 16-bit floats")

    def _meta(self, value) -> Value:
        if not isinstance(value, torch.Tensor):
            raise Unsupported(f"a result of type {type(value).__name__}")
        if value.dtype not in _DTYPES:
            raise Unsupported(_dtype_reason(value.dtype))
        return Value("", _DTYPES[value.dtype], tuple(self.dim(s) for s in value.shape))

    def dim(self, size) -> dims.Dim:
        return self._sizes.convert(size)

    def _read(self, node: FxNode):
        if isinstance(node.meta.get("val"), (int, torch.SymInt)):
            return self.dim(node.meta["val"])
        if isinstance(node.meta.get("val"), (float, torch.SymFloat)):
            raise Unsupported("a number that is computed at run time")
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
        for position, parameter in enumerate(aten_operator(node)._schema.arguments):
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
                raise Unsupported("this result of the operator is not computed")
            return value
        if _is_wide_scale(node):
            return self._read(node.args[0])
        name = target_name(node)
        row = ops.ROWS.get(name)
        if row is None:
            raise Unsupported(_reason_without_row(node))
        self.fx_node = node
        self.debug_handle = node.meta.get("debug_handle", 0) or 0
        arguments = self._bind(row, node)
        self._check_dtypes(row, arguments, node)
        if DType.Int64 not in row.dtypes and self._has_half(arguments, node):
            return self._lower_wide(row, arguments, node)
        before = len(self.nodes), len(self.values)
        try:
            return row.lower(self, **arguments)
        except Unsupported:
            if not self._has_half(arguments, node):
                raise
        self._forget(*before)
        return self._lower_wide(row, arguments, node)

    def _has_half(self, arguments, node: FxNode) -> bool:
        results = torch.utils._pytree.tree_leaves(node.meta["val"])
        tensors = [v for v in torch.utils._pytree.tree_leaves(arguments) if isinstance(v, Value)]
        halves = (torch.float16, torch.bfloat16)
        return any(t.dtype in HALVES for t in tensors) or any(getattr(r, "dtype", None) in halves for r in results)

    def _lower_wide(self, row, arguments, node: FxNode):
        """As PyTorch computes with 16-bit floats: in float32, rounded where the operator ends."""

        def widened(x):
            if isinstance(x, list):
                return [widened(i) for i in x]
            return self.widened(x) if isinstance(x, Value) else x

        arguments = {name: widened(x) for name, x in arguments.items()}
        self._wide = True
        try:
            result = row.lower(self, **arguments)
        finally:
            self._wide = False

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
            self.values.popitem()

    def _check_dtypes(self, row, arguments, node: FxNode) -> None:
        values = list(arguments.values())
        while values:
            value = values.pop()
            if isinstance(value, list):
                values.extend(value)
            elif isinstance(value, Value):
                self.require(_computed(value.dtype) in row.dtypes, f"an operand of type {value.dtype.name}")
        result = node.meta["val"]
        if row.result_dtypes is not None:
            return
        for value in result if isinstance(result, (tuple, list)) else [result]:
            if value is not None:
                dtype = self._meta(value).dtype
                self.require(_computed(dtype) in row.dtypes, f"a result of type {dtype.name}")

    def placeholder(self, node: FxNode) -> None:
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
            self.env[node] = self._border_input(node, value)
        else:
            self.inputs.append(Input(None, expr=self.dim(value)))

    def _border_input(self, node: FxNode, tensor: torch.Tensor) -> Value:
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

    def border_output(self, node: FxNode) -> None:
        value = self.env[node]
        dtype = self._meta(node.meta["val"]).dtype
        self.require(value.dtype == dtype, f"a result {value.dtype.name} that must be {dtype.name}")
        order = tuple(dim_order_from_stride(node.meta["val"].stride()))
        if order == tuple(range(value.rank)):
            self.output(value)
        else:
            self.fx_node = None
            self.output(self.transpose(value, order), order)

    def build(self) -> Graph:
        graph = self.build_plain()
        conditions = self._sizes.conditions()
        graph = dataclasses.replace(graph, ranges=widen(graph.ranges, self._sizes.assumed, conditions))
        return dataclasses.replace(graph, ranges=plan_sizes(graph, conditions))

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
                    lowering.border_output(result)
        elif is_size(node):
            continue  # sizes are expressions of the graph's inputs
        else:
            lowering.env[node] = lowering.lower_node(node)
    return lowering.build()


class Support(Lowering):
    """Answers, node by node, whether ``lower`` would succeed. Looks at shapes only."""

    def __init__(self, program: ExportedProgram, refuse: Callable[[FxNode], str | None] = lambda node: None):
        """``refuse`` gives a reason to leave a node outside that has nothing to do with its operator."""
        super().__init__(program)
        self._refuse = refuse
        self._reasons: dict[FxNode, str | None] = {}
        self._constant: dict[FxNode, bool] = {}

    def is_constant(self, node: FxNode) -> bool:
        """Whether ``lower`` will see a constant: a weight, or computed from weights for one reader."""
        if node not in self._constant:
            if node.op == "placeholder":
                known = self.placeholders.constant_tensor(node) is not None
            else:
                known = (
                    node.op == "call_function"
                    and len(node.users) == 1
                    and bool(node.all_input_nodes)
                    and all(self.is_constant(n) for n in node.all_input_nodes)
                    and self.reason(node) is None
                    and node in self.env
                    and self.env[node].constant is not None
                )
            self._constant[node] = known
        return self._constant[node]

    def _read(self, node: FxNode):
        if isinstance(node.meta.get("val"), torch.Tensor) and node not in self.env:
            if self.is_constant(node):
                if node.op == "placeholder":
                    self.env[node] = self.stand_in(node)
            else:
                meta = self._read_meta(node)
                self.env[node] = self.value(meta.dtype, meta.shape, node.name)
        return super()._read(node)

    def _read_meta(self, node: FxNode) -> Value:
        value = node.meta["val"]
        if _is_wide_scale(node):
            return Value("", DType.Float32, tuple(self.dim(s) for s in value.shape))
        row = ops.ROWS.get(target_name(node.args[0])) if node.target is operator.getitem else None
        if row is None or row.result_dtypes is None or self._reasons.get(node.args[0]) is not None:
            return self._meta(value)
        return Value("", row.result_dtypes[node.args[1]], tuple(self.dim(s) for s in value.shape))

    def reason(self, node: FxNode) -> str | None:
        """Why ``node`` cannot be delegated; None if it can."""
        if node not in self._reasons:
            try:
                self._reasons[node] = self._try(node)
            except Exception as error:
                reason = explain(error, node)
                of_sizes = reason == _dtype_reason(torch.float64) and self._of_sizes.get(node)
                self._reasons[node] = reason + (", computed from a size that depends on an input" if of_sizes else "")
        return self._reasons[node]

    @functools.cached_property
    def _of_sizes(self) -> dict[FxNode, bool]:
        """The nodes that constants and sizes alone decide, and whether sizes do: else they could be folded."""
        found = {}
        for node in self.program.graph.nodes:
            if is_size(node):
                found[node] = True
            elif node.op == "placeholder":
                if self.placeholders.constant_tensor(node) is not None:
                    found[node] = False
            elif node.op == "call_function" and found.keys() >= set(node.all_input_nodes):
                found[node] = any(found[n] for n in node.all_input_nodes)
        return found

    def _try(self, node: FxNode) -> str | None:
        if node.op != "call_function":
            return f"a {node.op} is not an operator"
        if reason := self._refuse(node):
            return reason
        if node.target is operator.getitem:
            source = node.args[0]
            reason = self.reason(source)
            return None if reason is None else f"its operator {source.name} is not delegated"
        result = self.lower_node(node)
        if isinstance(result, (tuple, list)):
            self.fx_node = node
            for index in self.used_outputs():
                self.require(result[index] is not None, f"result {index} of the operator is used")
        elif self.is_result_constant(result, node):
            self.env[node] = result
        return None

    def is_result_constant(self, result: Value, node: FxNode) -> bool:
        return (
            result.constant is not None
            and len(node.users) == 1
            and all(self.is_constant(n) for n in node.all_input_nodes)
        )


def is_size(node: FxNode) -> bool:
    """Whether a node computes a number from sizes, which costs nothing at run time."""
    value = node.meta.get("val")
    if isinstance(value, torch.SymFloat):
        return all(symbol.is_integer for symbol in value.node.expr.free_symbols)
    return isinstance(value, (int, bool, torch.SymInt, torch.SymBool))


__all__ = ["Lowering", "Support", "Unsupported", "is_size", "lower", "target_name"]
