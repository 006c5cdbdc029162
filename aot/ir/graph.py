# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``Graph`` and its parts are immutable; ``Builder`` makes one, ``Rewriter`` and ``rewrite`` make one from another."""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import sympy

from ...serialization import schema
from ...serialization.arrays import DTYPES
from ...serialization.schema import DType
from . import dims
from .dims import Dim, Range
from .quantization import Quantization


class Constant:
    """Bytes known ahead of time. Equal by content; shares the memory of the array given."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __eq__(self, other):
        if not isinstance(other, Constant):
            return NotImplemented
        a, b = self.array, other.array
        return a is b or (a.shape == b.shape and a.dtype == b.dtype and self.digest == other.digest)

    def __hash__(self):
        return hash((self.array.shape, self.array.dtype.str))

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the elements in row-major order."""
        return hashlib.sha256(np.ascontiguousarray(self.array).view(np.uint8)).hexdigest()

    def __repr__(self):
        return f"Constant({self.array.dtype}{list(self.array.shape)})"


@dataclasses.dataclass(frozen=True)
class Source:
    """The result of an Edge node that a value is: its axis ``order[i]`` is axis ``i`` of the value."""

    debug_handle: int
    order: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Value:
    """A tensor: physical ``shape``, slowest-varying axis first.

    With ``quantization`` it counts as Float32, but integers are stored, those of ``constant`` too. ``source`` is for
    those who compare what a program computes inside with eager PyTorch.
    """

    name: str
    dtype: DType
    shape: tuple[Dim, ...]
    constant: Constant | None = None
    quantization: Quantization | None = None
    source: Source | None = dataclasses.field(default=None, compare=False)

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def array(self) -> np.ndarray:
        """The numbers of a constant."""
        array = self.constant.array
        return array if self.quantization is None else self.quantization.dequantize(array)


@dataclasses.dataclass(frozen=True)
class Node:
    """One operation. ``inputs`` are value names, None for an absent optional operand."""

    attributes: object
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    debug_handle: int = 0

    @property
    def op(self) -> str:
        """The name of the operator in the schema, for texts; ``is_a`` compares."""
        return type(self.attributes).__name__

    @property
    def found(self) -> sympy.Symbol | None:
        """The size that the node finds in data, if it is known nowhere else."""
        size = self.attributes.size if self.is_a(*schema.FINDERS) else None
        return size if isinstance(size, sympy.Symbol) else None

    @property
    def attribute_symbols(self) -> set[sympy.Symbol]:
        """The symbols in its attributes."""
        items = [i for v in vars(self.attributes).values() for i in (v if isinstance(v, tuple) else (v,))]
        return set().union(*(i.free_symbols for i in items if isinstance(i, sympy.Expr)))

    def is_a(self, *operators: type) -> bool:
        """Whether it is one of these operators, given by the classes of their attributes."""
        return isinstance(self.attributes, operators)


def _chosen(node: Node | None, operators: tuple[type, ...]) -> Node | None:
    return node if node is not None and (not operators or node.is_a(*operators)) else None


@dataclasses.dataclass(frozen=True)
class State:
    """A tensor that lives as long as the loaded delegate."""

    name: str
    initial: Constant


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument of the delegate: a tensor, or (``value`` None) the integer ``expr``.

    ``dim_order[i]`` is the axis of the caller's tensor that is axis ``i`` of the value. With
    ``state`` it is no argument but the content of a state when a call begins.
    """

    value: str | None
    dim_order: tuple[int, ...] | None = None
    expr: Dim | None = None
    state: State | None = None


@dataclasses.dataclass(frozen=True)
class Output:
    """A result of the delegate; with ``state`` the content of that state after the call."""

    value: str
    dim_order: tuple[int, ...] | None = None
    state: str | None = None


@dataclasses.dataclass(frozen=True)
class Graph:
    """Nodes in topological order over named values; ``ranges`` by symbol name.

    States are among the inputs and, with their updates, among the outputs, so that passes
    see nothing special in them; ``arguments`` and ``results`` are what the caller has.
    """

    values: Mapping[str, Value]
    nodes: tuple[Node, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    ranges: Mapping[str, Range] = dataclasses.field(default_factory=dict)

    @property
    def arguments(self) -> list[Input]:
        return [i for i in self.inputs if i.state is None]

    @property
    def results(self) -> list[Output]:
        return [o for o in self.outputs if o.state is None]

    @functools.cached_property
    def producers(self) -> dict[str, Node]:
        """The node that computes each value; graph inputs and constants have none."""
        return {output: node for node in self.nodes for output in node.outputs}

    @functools.cached_property
    def users(self) -> dict[str, list[Node]]:
        """The nodes that read each value, once for each operand; outputs do not count."""
        result: dict[str, list[Node]] = {name: [] for name in self.values}
        for node in self.nodes:
            for name in node.inputs:
                if name is not None:
                    result[name].append(node)
        return result

    @functools.cached_property
    def output_names(self) -> frozenset[str]:
        return frozenset(output.value for output in self.outputs)

    def producer(self, name: str | None, *operators: type) -> Node | None:
        """The node that computes ``name`` if there is one, and if it is one of ``operators`` where they are given."""
        return _chosen(self.producers.get(name), operators)

    def sole_user(self, name: str) -> Node | None:
        """The only reader of a value that is not an output, else None."""
        users = self.users[name]
        return users[0] if len(users) == 1 and name not in self.output_names else None

    def __str__(self) -> str:
        from .text import to_text

        return to_text(self)


class Builder:
    """Collects values and nodes; names are made unique."""

    def __init__(self, ranges: Mapping[str, Range] | None = None):
        self.values: dict[str, Value] = {}
        self.nodes: list[Node] = []
        self.inputs: list[Input] = []
        self.outputs: list[Output] = []
        self.ranges = dict(ranges or {})
        self.debug_handle = 0
        self._names: dict[str, int] = {}
        self._producers: dict[str, Node] = {}

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        if not count:
            return name
        return self._unique(f"{name}_{count}")

    def value(
        self, dtype: DType, shape: Iterable[Dim], name: str = "v", quantization: Quantization | None = None
    ) -> Value:
        shape = tuple(dims.simplify(d) for d in shape)
        return self._add(Value(self._unique(name), dtype, shape, quantization=quantization))

    def constant(self, array: np.ndarray, name: str = "c", quantization: Quantization | None = None) -> Value:
        """A constant that holds ``array``, which ``quantization`` may give a meaning."""
        array = np.asarray(array)
        dtype = DTYPES[array.dtype] if quantization is None else DType.Float32
        value = Value(self._unique(name), dtype, array.shape, Constant(array), quantization)
        return self._add(value)

    def set_source(self, value: Value, source: Source | None) -> Value:
        """``value`` as the result of an Edge node, unless it is a constant or that of another one."""
        if source is None or value.source is not None or value.constant is not None:
            return value
        return self._add(dataclasses.replace(value, source=source))

    def scalar(self, value: float) -> Value:
        return self.constant(np.float32(value).reshape(()))

    def _add(self, value: Value) -> Value:
        self.values[value.name] = value
        return value

    def _append(self, node: Node) -> None:
        self.nodes.append(node)
        self._producers.update((name, node) for name in node.outputs)

    def producer(self, value: Value | None, *operators: type) -> Node | None:
        """The node added so far that computes ``value``; inputs and constants have none. None, too, if it is none
        of ``operators`` where they are given."""
        return None if value is None else _chosen(self._producers.get(value.name), operators)

    def input(self, value: Value, dim_order: tuple[int, ...] | None = None) -> None:
        self.inputs.append(Input(value.name, dim_order))

    def state(self, name: str, initial: np.ndarray) -> Value:
        """The content of a new state when a call begins."""
        value = self.value(DTYPES[initial.dtype], initial.shape, name.replace(".", "_"))
        self.inputs.append(Input(value.name, state=State(name, Constant(initial))))
        return value

    def output(self, value: Value, dim_order: tuple[int, ...] | None = None) -> None:
        self.outputs.append(Output(value.name, dim_order))

    def update(self, state: str, value: Value) -> None:
        """The content of a state after the call."""
        self.outputs.append(Output(value.name, state=state))

    def node(
        self,
        attributes,
        *inputs: Value | None,
        shape: Iterable[Dim],
        dtype: DType | None = None,
        name: str | None = None,
        quantization: Quantization | None = None,
    ) -> Value:
        """Adds a node with one output and returns that; ``dtype`` is that of the first input."""
        dtype = inputs[0].dtype if dtype is None else dtype
        outputs = ((dtype, shape),)
        return self.multi_node(attributes, *inputs, outputs=outputs, name=name, quantization=quantization)[0]

    def multi_node(
        self,
        attributes,
        *inputs: Value | None,
        outputs: Iterable[tuple[DType, Iterable[Dim]]],
        name: str | None = None,
        quantization: Quantization | None = None,
    ) -> list[Value]:
        """Adds a node with an output of each of these types and returns them."""
        name = name or type(attributes).__name__.lower()
        results = [self.value(dtype, shape, name, quantization) for dtype, shape in outputs]
        names = tuple(None if i is None else i.name for i in inputs)
        self._append(Node(attributes, names, tuple(r.name for r in results), self.debug_handle))
        return results

    def transpose(self, x: Value, perm: Iterable[int]) -> Value:
        perm = tuple(perm)
        return self.node(schema.Transpose(perm=perm), x, shape=[x.shape[p] for p in perm])

    def reshape(self, x: Value, shape: Iterable[Dim]) -> Value:
        shape = tuple(dims.simplify(d) for d in shape)
        return self.node(schema.Reshape(shape=shape), x, shape=shape)

    def build(self) -> Graph:
        return Graph(dict(self.values), tuple(self.nodes), tuple(self.inputs), tuple(self.outputs), self.ranges)


class _Needed:
    """Sizes that nodes read and others find, of a graph that is gone through backwards."""

    def __init__(self, builder: Builder):
        self._builder = builder
        self._are_found = any(node.found is not None for node in builder.nodes)
        self._symbols: set[sympy.Symbol] = set()

    def add(self, node: Node) -> None:
        if self._are_found:
            sizes = [dim for name in node.outputs for dim in self._builder.values[name].shape]
            self._symbols |= node.attribute_symbols.union(*(getattr(dim, "free_symbols", ()) for dim in sizes))

    def has(self, node: Node) -> bool:
        return node.found is not None and node.found in self._symbols


class Rewriter(Builder):
    """Builds a new version of ``graph``: copy what stays, ``replace`` what does not.

    Use::

        r = Rewriter(graph)
        for node in r.walk():
            if ...:
                r.replace(node.outputs[0], r.node(..., r[node.inputs[0]], ...))
            else:
                r.copy(node)
        return r.finish()

    ``replace`` may leave the nodes before it without a reader; ``finish`` drops them.
    """

    def __init__(self, graph: Graph):
        super().__init__(graph.ranges)
        self.graph = graph
        self._new: dict[str, Value] = {}
        for value in graph.values.values():
            if value.name not in graph.producers:
                self._adopt(value)
        self.inputs = list(graph.inputs)

    def _adopt(self, value: Value) -> Value:
        self._names.setdefault(value.name, 1)
        self._new[value.name] = value
        return self._add(value)

    def _unique(self, name: str) -> str:
        unique = super()._unique(name)
        return self._unique(name) if unique in self.graph.values else unique

    def walk(self) -> Iterator[Node]:
        """The old nodes in order; what is added meanwhile gets the debug handle of the current one."""
        for node in self.graph.nodes:
            self.debug_handle = node.debug_handle
            yield node

    def __getitem__(self, name: str | None) -> Value | None:
        """The new value that stands for ``name`` of the old graph."""
        return None if name is None else self._new[name]

    def replace(self, name: str, value: Value) -> None:
        old = self.graph.values[name]
        if (old.dtype, old.shape, old.quantization) == (value.dtype, value.shape, value.quantization):
            value = self.set_source(value, old.source)
        self._new[name] = value

    def copy(self, node: Node, attributes=None) -> Node:
        """Adds ``node`` reading the new values, with other ``attributes`` if given."""
        for name in node.outputs:
            self._adopt(self.graph.values[name])
        inputs = tuple(None if i is None else self._new[i].name for i in node.inputs)
        new = dataclasses.replace(node, inputs=inputs, attributes=attributes or node.attributes)
        self._append(new)
        return new

    def finish(self, outputs: Iterable[Value] | None = None) -> Graph:
        """The new graph, without nodes and constants that nothing reads any more.

        Its outputs are ``outputs``, or the values that stand for the old ones.
        """
        outputs = [self[o.value] for o in self.graph.outputs] if outputs is None else outputs
        self.outputs = [
            dataclasses.replace(old, value=new.name) for old, new in zip(self.graph.outputs, outputs, strict=True)
        ]
        used = {o.value for o in self.outputs}
        needed = _Needed(self)
        for node in reversed(self.nodes):
            if used.intersection(node.outputs) or needed.has(node):
                used.update(i for i in node.inputs if i is not None)
                used.update(node.outputs)
                needed.add(node)
        used.update(o for node in self.nodes for o in node.outputs if used.intersection(node.outputs))
        self.nodes = [node for node in self.nodes if used.intersection(node.outputs)]
        used.update(i.value for i in self.inputs)
        self.values = {n: v for n, v in self.values.items() if n in used}
        return self.build()


def rewrite(graph: Graph, rule: Callable[[Rewriter, Node], Value | None]) -> Graph:
    """A new version of ``graph`` by a rule for single nodes.

    ``rule`` gets the Rewriter and each old node, in order; its operands are new values (``r[node.inputs[0]]``). It
    returns the value that takes the place of the first output, or None for a node that stays, as one with several
    outputs must. What it adds before it returns None is dropped.
    """
    r = Rewriter(graph)
    for node in r.walk():
        new = rule(r, node)
        if new is None:
            r.copy(node)
        else:
            r.replace(node.outputs[0], new)
    return r.finish()
