# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``ir.Graph`` -> the bytes of a blob and the weights that go beside it."""

import dataclasses
import hashlib

import flatbuffers
import numpy as np
import sympy

from . import schema
from . import schema_generated as generated
from .arrays import pack
from .scaled import Scaled
from .schema import AdaptivePool2d, Attention, DimOp, DType, Feature

IDENTIFIER = b"ETX1"

#: Stands for "no upper bound".
UNBOUNDED = 2**31 - 1

#: Constants up to this size travel inside the blob instead of the named data.
INLINE_BYTES = 256


@dataclasses.dataclass(frozen=True)
class Serialized:
    """A blob, and the named data that it refers to by key."""

    blob: bytes
    weights: dict[str, bytes]
    debug_handles: dict[str, tuple[int, ...]]  #: of the Edge node that a node or value came from, by its name in events


class DimTable:
    """Turns symbolic sizes into entries of ``Graph.exprs``, each distinct one once."""

    def __init__(self, graph):
        self.entries: list[tuple[DimOp, int, int]] = []
        self.ranges: list[tuple[int, int, int, int]] = []
        self._ids: dict[object, int] = {}
        self._graph = graph
        self._sources = {}
        offers = []
        for position, source in enumerate(graph.arguments):
            if source.value is None:
                offers.append((source.expr, (DimOp.InputInt, position, 0)))
                continue
            for axis, dim in enumerate(graph.values[source.value].shape):
                offers.append((dim, (DimOp.InputDim, position, axis)))
        offers = [(expr, entry) for expr, entry in offers if isinstance(expr, sympy.Expr)]
        for expr, entry in offers:
            if expr.is_Symbol:
                self._sources.setdefault(expr, (None, entry))
        for position, node in enumerate(graph.nodes):
            if node.found is not None:
                self._sources.setdefault(node.found, (None, (DimOp.FoundSize, position, 0)))
        count = -1
        while count != len(self._sources):
            count = len(self._sources)
            for expr, entry in offers:
                self._offer(expr, entry)
        # What is left can only be used as it arrives: a product of which no factor is known.
        self._opaque: dict[sympy.Expr, sympy.Symbol] = {}
        for expr, _ in offers:
            if expr not in self._opaque and not expr.free_symbols <= self._sources.keys():
                self._opaque[expr] = sympy.Dummy(integer=True, nonnegative=True)
        for expr, entry in offers:
            if expr in self._opaque:
                self._sources.setdefault(self._opaque[expr], (None, entry))

    def _offer(self, expr, entry) -> None:
        """Remembers how the one symbol of ``expr`` that is not known yet can be computed at run time."""
        unknown = expr.free_symbols - self._sources.keys()
        if len(unknown) != 1:
            return
        (symbol,) = unknown
        if expr.is_polynomial(symbol) and sympy.degree(expr, symbol) == 1:
            slope, offset = sympy.Poly(expr, symbol).all_coeffs()
            if slope.is_Integer:
                self._sources[symbol] = ((slope, offset), entry)

    def _entry(self, op: DimOp, a: int, b: int = 0) -> int:
        key = (op, a, b)
        if key not in self._ids:
            self._ids[key] = len(self.entries)
            self.entries.append(key)
        return self._ids[key]

    def _symbol(self, symbol: sympy.Symbol) -> int:
        if symbol not in self._sources:
            raise ValueError(f"size {symbol} is not a size of any input of the graph")
        line, entry = self._sources[symbol]
        index = self._entry(*entry)
        if line is not None:
            slope, offset = line
            numerator = self._entry(DimOp.Add, index, self._expr(-offset))
            if slope < 0:
                slope, numerator = -slope, self._entry(DimOp.Mul, numerator, self._expr(sympy.Integer(-1)))
            index = self._entry(DimOp.FloorDiv, numerator, self._expr(slope))
        return index

    def _fold(self, op: DimOp, args) -> int:
        first, *rest = (self._expr(a) for a in args)
        for index in rest:
            first = self._entry(op, first, index)
        return first

    def _expr(self, expr) -> int:
        if expr in self._ids:
            return self._ids[expr]
        numerator, denominator = sympy.fraction(sympy.together(expr))
        if expr.is_Integer:
            index = self._entry(DimOp.Const, int(expr))
        elif expr.is_Symbol:
            index = self._symbol(expr)
        elif denominator != 1:
            index = self._entry(DimOp.FloorDiv, self._expr(numerator), self._expr(denominator))
        elif isinstance(expr, sympy.floor):
            index = self._expr(expr.args[0])  # division rounds down already
        elif expr.is_Add:
            index = self._fold(DimOp.Add, expr.args)
        elif expr.is_Mul:
            index = self._fold(DimOp.Mul, expr.args)
        elif expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
            index = self._fold(DimOp.Mul, [expr.base] * int(expr.exp))
        elif isinstance(expr, sympy.Mod):
            index = self._fold(DimOp.Mod, expr.args)
        elif isinstance(expr, Scaled):
            index = self._entry(DimOp.Scale, self._expr(expr.args[0]), expr.bits)
        elif isinstance(expr, sympy.Max):
            index = self._fold(DimOp.Max, expr.args)
        elif isinstance(expr, sympy.Min):
            index = self._fold(DimOp.Min, expr.args)
        else:
            raise ValueError(f"size {expr} has no form that the runtime can compute")
        self._ids[expr] = index
        return index

    def encode(self, dim) -> int:
        """The number of a ``Size`` that stands for ``dim``."""
        if isinstance(dim, int):
            return dim
        if not dim.free_symbols <= self._sources.keys():
            dim = dim.subs(self._opaque)
        return -1 - self._expr(dim)

    @property
    def features(self) -> int:
        """Bits of ``Feature`` that a reader of the entries needs."""
        return int(Feature.ScaledSizes) if any(op == DimOp.Scale for op, _, _ in self.entries) else 0

    def finish(self) -> None:
        """Adds the range of every symbol that is in use."""
        ranges = self._graph.ranges
        whole = {symbol: expr for expr, symbol in self._opaque.items()}
        for symbol in list(self._sources):
            if symbol not in self._ids:
                continue
            if symbol in whole:
                planned = int(whole[symbol].subs({s: ranges[s.name].planned for s in whole[symbol].free_symbols}))
                self.ranges.append((self._ids[symbol], 0, max(UNBOUNDED, planned), planned))
            else:
                r = ranges[symbol.name]
                bound = UNBOUNDED if r.max is None else r.max
                self.ranges.append((self._ids[symbol], r.min, bound, r.planned))


def _check_sizes(graph) -> None:
    """Raises ValueError where a symbol has no range."""
    for value in graph.values.values():
        for dim in value.shape:
            for symbol in getattr(dim, "free_symbols", ()):
                if symbol.name not in graph.ranges:
                    raise ValueError(f"size {symbol} of %{value.name} has no range")


def _fill(obj, **fields):
    for name, value in fields.items():
        if not hasattr(obj, name):
            raise AttributeError(f"{type(obj).__name__} has no field {name}")
        setattr(obj, name, value)
    return obj


def weight_key(data: bytes) -> str:
    """The key of a weight in the named data of a program: the hash of its content."""
    return hashlib.sha256(data).hexdigest()


def stored(array: np.ndarray) -> tuple[bytes, schema.Storage]:
    """A weight in the smallest storage that holds it exactly."""
    packed, storage = pack(array)
    return packed.tobytes(), storage


def _constant(array: np.ndarray, weights: dict[str, bytes], packed: bool = False):
    """A constant; with ``packed`` a large one in the smallest storage that holds it."""
    constant = generated.ConstantT()
    if array.nbytes <= INLINE_BYTES:
        constant.data = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
        return constant
    data, storage = stored(array) if packed else (np.ascontiguousarray(array).tobytes(), schema.Storage.Plain)
    constant.key = weight_key(data)
    constant.storage = int(storage)
    weights[constant.key] = data
    return constant


def _quantization(quantization):
    axes = [axis for axis, count in enumerate(quantization.scale.shape) if count != 1]
    if len(axes) > 1:
        raise ValueError("a scale for each block of several axes has no form in a blob")
    return _fill(
        generated.QuantizationT(),
        scale=quantization.scale.ravel(),
        zeroPoint=quantization.zero_point.ravel(),
        axis=axes[0] if axes else 0,
    )


def _results(graph) -> set[str]:
    """The values that are, as numbers, results of Edge nodes."""
    return {
        name
        for node in graph.nodes
        for name in node.outputs
        if graph.values[name].source is not None and graph.values[name].quantization is None
    }


def _features(graph) -> int:
    """Bits of ``Feature`` that a reader of the values and nodes needs."""

    def reads_cache(node) -> bool:
        a = node.attributes
        return isinstance(a, Attention) and (a.by_token or a.start != 0 or len(node.inputs) > 4)

    features = int(Feature.CachedAttention) if any(reads_cache(node) for node in graph.nodes) else 0
    if any(value.dtype == DType.Float64 for value in graph.values.values()):
        features |= int(Feature.Float64)
    if any(isinstance(node.attributes, schema.FINDERS) for node in graph.nodes):
        features |= int(Feature.FoundSizes)
    if any(isinstance(node.attributes, AdaptivePool2d) and node.attributes.shape for node in graph.nodes):
        features |= int(Feature.PooledShapes)
    return features


def serialize(graph) -> Serialized:
    """The blob of ``graph``. Raises ValueError for sizes that no input determines."""
    _check_sizes(graph)
    dims = DimTable(graph)
    index = {name: i for i, name in enumerate(graph.values)}
    weights: dict[str, bytes] = {}
    results = _results(graph)

    def operands(names):
        return [schema.NONE if n is None else index[n] for n in names]

    values = [
        _fill(
            generated.ValueT(),
            dtype=int(v.dtype if v.quantization is None else v.quantization.dtype),
            dims=[schema.size(dims.encode(d)) for d in v.shape],
            constant=None if v.constant is None else _constant(v.constant.array, weights, packed=True),
            quantization=None if v.quantization is None else _quantization(v.quantization),
            resultOrder=list(v.source.order) if v.name in results else None,
        )
        for v in graph.values.values()
    ]
    nodes = [
        _fill(
            generated.NodeT(),
            attributesType=int(schema.AttributesType[node.op]),
            attributes=schema.to_generated(node.attributes, dims.encode),
            inputs=operands(node.inputs),
            outputs=operands(node.outputs),
            debugHandle=node.debug_handle,
        )
        for node in graph.nodes
    ]
    for source in graph.inputs:
        if source.value is None and isinstance(source.expr, sympy.Symbol):
            dims._expr(source.expr)
    inputs = [
        _fill(
            generated.InputT(),
            value=operands([i.value])[0],
            dimOrder=None if i.dim_order is None else list(i.dim_order),
        )
        for i in graph.arguments
    ]
    outputs = [
        _fill(
            generated.OutputT(),
            value=index[o.value],
            dimOrder=None if o.dim_order is None else list(o.dim_order),
        )
        for o in graph.results
    ]
    updates = {o.state: o.value for o in graph.outputs if o.state is not None}
    states = [
        _fill(
            generated.StateT(),
            name=i.state.name,
            value=index[i.value],
            update=index[updates[i.state.name]],
            initial=_constant(i.state.initial.array, weights),
        )
        for i in graph.inputs
        if i.state is not None
    ]
    dims.finish()

    def expr(entry):
        return _fill(generated.DimExprT(), op=int(entry[0]), a=entry[1], b=entry[2])

    def dim_range(entry):
        index, low, high, planned = entry
        return _fill(generated.DimRangeT(), expr=index, min=low, max=high, planned=planned)

    root = _fill(
        generated.GraphT(),
        requires=int(Feature.Core | dims.features | _features(graph)),
        exprs=[expr(e) for e in dims.entries],
        ranges=[dim_range(r) for r in dims.ranges],
        values=values,
        nodes=nodes,
        inputs=inputs,
        outputs=outputs,
        states=states,
    )
    builder = flatbuffers.Builder(4096)
    builder.Finish(root.Pack(builder), IDENTIFIER)
    handles = {f"{i} {node.op}": (node.debug_handle,) for i, node in enumerate(graph.nodes) if node.debug_handle}
    handles |= {f"%{index[name]}": (graph.values[name].source.debug_handle,) for name in results}
    return Serialized(bytes(builder.Output()), weights, handles)
