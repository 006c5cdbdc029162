# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A delegate of et_xnnpack: its graph, weights and costs from the blob, its plan from the runtime."""

import dataclasses
import functools
import hashlib
import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from ...serialization import schema
from ...serialization import schema_generated as generated
from ...serialization.arrays import NUMPY_DTYPES
from ..cost import Cost
from ..traits.table import TRAITS
from .errors import runtime_log

#: Options of the runtime that a plan depends on.
PLAN_OPTIONS = ("fuse_elementwise", "force_fp16", "force_bf16", "winograd_tile")
#: Sizes that come with a call.
_LEAVES = ("InputDim", "InputInt", "FoundSize")
#: Operators that read no more of their first operand than they write.
_PICKS = (schema.Slice, schema.Index, schema.Gather)
_PLAN = "plan for this CPU:"
_FUSED = "row of a pass with the others of this step"
_STEP = re.compile(r"step (\d+)(?:: to \w+)?$")
_CHOICE = re.compile(r"(?:  )?node (\d+) (\w+): ([^.]*)\. ?(.*)$")


@dataclasses.dataclass(frozen=True)
class Value:
    id: int
    dtype: str
    sizes: tuple[int, ...]  #: those of a call, else those that the runtime plans for: of dynamic ones the largest
    is_dynamic: bool
    bytes: int  #: in memory
    key: str | None = None  #: of a weight in the named data
    stored_bytes: int | None = None  #: of a constant, in the program
    quantized: bool = False
    digest: str | None = None  #: of the content of a constant

    @property
    def is_constant(self) -> bool:
        return self.stored_bytes is not None

    @property
    def type(self) -> str:
        return f"{self.dtype}{list(self.sizes)}{' quantized' if self.quantized else ''}"


@dataclasses.dataclass(frozen=True)
class Choice:
    """Who computes a node, and why."""

    step: int | None  #: None for a view, which runs no code
    by: str  #: "XNNPACK", "kernel", "row", "fused pass", "view", ...
    reason: str


@dataclasses.dataclass(frozen=True)
class Node:
    index: int
    op: str
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    debug_handle: int
    attributes: str  #: as text, of long ones the beginning; empty without the runtime
    exact: str  #: all of the attributes
    cost: Cost
    choice: Choice | None

    @property
    def name(self) -> str:
        """As in events and messages."""
        return f"{self.index} {self.op}"


@dataclasses.dataclass(frozen=True)
class Blob:
    values: tuple[Value, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]
    states: tuple[tuple[str, int], ...]  #: name and value
    updates: tuple[int, ...]  #: of the states
    text: str | None  #: the graph, as ``et_xnnpack.inspect`` prints it
    plan: str | None
    #: By value scales, zero points and axis; empty of what is not quantized.
    quantizations: tuple[str, ...]
    #: By value how its sizes are computed, of dynamic ones a hash.
    formulas: tuple[tuple[int | str, ...], ...]
    #: What else a program depends on, by what it is.
    others: Mapping[str, object]

    @property
    def constants(self) -> list[Value]:
        return [value for value in self.values if value.is_constant]

    def cost_together(self, nodes: Sequence[int]) -> Cost:
        """Of nodes that one pass computes: what one of them makes for another costs no traffic."""
        if len(nodes) == 1:
            return self.nodes[nodes[0]].cost
        made = {value for i in nodes for value in self.nodes[i].outputs}
        read = {value for i in nodes for value in self.nodes[i].inputs if value is not None}
        others = {value for node in self.nodes if node.index not in nodes for value in node.inputs}
        kept = {value for value in made if value in others or value in self.outputs}
        moved = sum(self.values[v].stored_bytes or self.values[v].bytes for v in read - made)
        return Cost(
            sum(self.nodes[i].cost.flop for i in nodes),
            moved + sum(self.values[value].bytes for value in kept or list(made)[-1:]),
        )

    @functools.cached_property
    def live_bytes(self) -> list[int]:
        """While each node runs, the bytes of the values inside the delegate that have been or are being made and that
        it or a later node reads. Without scratch memory and padding."""
        border = {*self.inputs, *self.outputs, *(value for _, value in self.states)}
        root = list(range(len(self.values)))  # a view lies where its operand is
        for node in self.nodes:
            if node.choice is not None and node.choice.by == "view" and node.inputs and node.inputs[0] is not None:
                for output in node.outputs:
                    root[output] = root[node.inputs[0]]
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for node in self.nodes:
            for value in node.outputs:
                first.setdefault(root[value], node.index)
                last[root[value]] = node.index
            for value in node.inputs:
                if value is not None:
                    last[root[value]] = node.index
        change = [0] * (len(self.nodes) + 1)
        outside = {root[value] for value in border if value is not None}
        for value, begin in first.items():
            if value not in outside and not self.values[value].is_constant:
                change[begin] += self.values[value].bytes
                change[last[value] + 1] -= self.values[value].bytes
        found, now = [], 0
        for step in change[:-1]:
            now += step
            found.append(now)
        return found


def read_blob(
    data: bytes,
    named: Mapping[str, int],
    given: Mapping[int, tuple[int, ...]] | None = None,
    options: Mapping[str, bool | int | str] | None = None,
) -> Blob:
    """Where there is no runtime the plan is left out.

    given: the sizes of inputs in a call, by index, in the order that the caller has their axes in.
    options: of the plan, beyond those of the process.
    Raises ValueError unless the runtime takes the blob.
    """
    from ... import inspect, is_available

    text = None
    if is_available():
        with runtime_log():  # it writes there what it raises
            text = inspect(data, options)
    graph = generated.GraphT.InitFromObj(generated.Graph.GetRootAs(data))
    sizes = _Sizes(graph, given or {})
    values = tuple(_value(i, value, sizes, named) for i, value in enumerate(graph.values or []))
    lines = [] if text is None else text.splitlines()
    plan_at = lines.index(_PLAN) if _PLAN in lines else len(lines)
    written = [line for line in lines[:plan_at] if line.startswith("%")]
    choices = _choices(lines[plan_at + 1 :])
    nodes, ranges = [], graph.ranges or []
    for i, node in enumerate(graph.nodes or []):
        op = schema.AttributesType(node.attributesType).name
        inputs = tuple(None if j == schema.NONE else int(j) for j in _list(node.inputs))
        outputs = tuple(int(j) for j in _list(node.outputs))
        attributes, exact = _attributes(written[i]) if written else "", _exact(node.attributes, sizes)
        choice = choices.get(i)
        is_view = choice is not None and choice.by == "view"
        cost = Cost() if is_view else _cost(op, node.attributes, inputs, outputs, values)
        nodes.append(Node(i, op, inputs, outputs, node.debugHandle, attributes, exact, cost, choice))
    return Blob(
        values,
        tuple(nodes),
        tuple(None if i.value == schema.NONE else i.value for i in graph.inputs or []),
        tuple(o.value for o in graph.outputs or []),
        tuple((s.name.decode(), s.value) for s in graph.states or []),
        tuple(s.update for s in graph.states or []),
        None if text is None else "\n".join(lines[:plan_at]).rstrip() + "\n",
        None if text is None else "\n".join(lines[plan_at + 1 :]) + "\n",
        tuple("" if v.quantization is None else _exact(v.quantization, sizes) for v in graph.values or []),
        tuple(tuple(sizes.formula(dim.value) for dim in _list(v.dims)) for v in graph.values or []),
        {
            "orders of axes of inputs and outputs": [
                [_list(one.dimOrder) for one in border or []] for border in (graph.inputs, graph.outputs)
            ],
            "ranges of sizes": sorted((sizes.formula(-1 - r.expr), r.min, r.max, r.planned) for r in ranges),
            "initial states": [None if s.initial is None else _digest(s.initial) for s in graph.states or []],
        },
    )


def _list(vector) -> list:
    return [] if vector is None else list(vector)


class _Sizes:
    """The numbers that sizes have in a call; what does not follow from its inputs, where the runtime plans."""

    def __init__(self, graph, given: Mapping[int, tuple[int, ...]]):
        planned = {r.expr: r.planned for r in graph.ranges or []}
        values: list[int] = []
        known: set[int] = set()  # of these what the call says
        for i, expr in enumerate(graph.exprs or []):
            op = schema.DimOp(expr.op).name
            if op == "InputDim" and expr.a in given:
                order = _list(graph.inputs[expr.a].dimOrder)
                values.append(given[expr.a][order[expr.b] if order else expr.b])
                known.add(i)
                continue
            operands = {expr.a} if op == "Scale" else {expr.a, expr.b}
            if op == "Const" or (op not in _LEAVES and operands <= known):
                known.add(i)
            values.append(planned[i] if i in planned and i not in known else self._compute(graph, expr, values))
        self._values = values
        self._formulas: list[str] = []
        for expr in graph.exprs or []:
            op = schema.DimOp(expr.op).name
            operands = 0 if op in (*_LEAVES, "Const") else 1 if op == "Scale" else 2
            words = [self._formulas[x] if k < operands else x for k, x in enumerate((expr.a, expr.b))]
            self._formulas.append(hashlib.sha256(f"{op} {words}".encode()).hexdigest())

    def __call__(self, size: int) -> int:
        return size if size >= 0 else self._values[-1 - size]

    def formula(self, size: int) -> int | str:
        """A number, or what is the same in another graph that computes the same."""
        return size if size >= 0 else self._formulas[-1 - size]

    def _compute(self, graph, expr, known: list[int]) -> int:
        op, a, b = schema.DimOp(expr.op).name, expr.a, expr.b
        if op == "Const":
            return a
        if op == "InputDim":
            size = graph.values[graph.inputs[a].value].dims[b].value
            return size if size >= 0 else 1
        if op == "InputInt":
            return 0
        if op == "Scale":
            return int(float(known[a]) * float(np.int64(b).view(np.float64)))
        x, y = known[a], known[b]
        return {
            "Add": lambda: x + y,
            "Mul": lambda: x * y,
            "FloorDiv": lambda: x // y if y else 0,
            "Mod": lambda: x % y if y else 0,
            "Min": lambda: min(x, y),
            "Max": lambda: max(x, y),
        }[op]()


def _value(i: int, value, sizes: _Sizes, named: Mapping[str, int]) -> Value:
    dims = [dim.value for dim in value.dims or []]
    found = tuple(sizes(dim) for dim in dims)
    dtype = schema.DType(value.dtype)
    size = math.prod(found) * NUMPY_DTYPES[dtype].itemsize
    key, stored, digest = None, None, None
    if value.constant is not None:
        key = None if value.constant.key is None else value.constant.key.decode()
        in_blob = 0 if value.constant.data is None else len(value.constant.data)
        half = 2 if value.constant.storage else 1  # stored in 16 bits
        stored = in_blob if key is None else named.get(key, size // half)
        digest = _digest(value.constant)
    is_quantized = value.quantization is not None
    return Value(i, dtype.name, found, min(dims, default=0) < 0, size, key, stored, is_quantized, digest)


def _digest(constant) -> str:
    content = constant.key or hashlib.sha256(bytes(_list(constant.data))).hexdigest().encode()
    return f"{content.decode()} {constant.storage}"


def _exact(table, sizes: _Sizes) -> str:
    """All fields of a generated object, with all numbers of each."""
    if isinstance(table, generated.SizeT):
        return str(sizes.formula(table.value))
    if isinstance(table, (list, tuple, np.ndarray)):
        return f"({', '.join(_exact(item, sizes) for item in table)})"
    if hasattr(table, "__dict__"):
        return " ".join(f"{name}={_exact(field, sizes)}" for name, field in vars(table).items())
    return str(table)


def _attributes(line: str) -> str:
    """What stands between the operands and the debug handle."""
    return line.partition(" = ")[2].partition(")")[2].rpartition(" @")[0].strip()


def _choices(lines: list[str]) -> dict[int, Choice]:
    found, step = {}, None
    for line in lines:
        if match := _STEP.match(line):
            step = int(match[1])
        elif match := _CHOICE.match(line):
            by, reason = ("fused pass", f"A {_FUSED}.") if match[3] == _FUSED else (match[3], match[4])
            found[int(match[1])] = Choice(step if line.startswith(" ") else None, by, reason)
    return found


def _cost(op: str, attributes, inputs, outputs, values: tuple[Value, ...]) -> Cost:
    def shape(k: int) -> tuple[int, ...]:
        return values[inputs[k]].sizes

    kind = schema.ATTRIBUTES[op]
    read = [values[i].stored_bytes if values[i].is_constant else values[i].bytes for i in inputs if i is not None]
    written = sum(values[i].bytes for i in outputs)
    if kind in _PICKS:
        read[0] = min(read[0], written)
    moved = sum(read) + written
    out = math.prod(values[outputs[0]].sizes)
    if kind in (schema.Linear, schema.QuantizedLinear, schema.BatchMatMul):
        flop = 2 * out * shape(0)[-1]
    elif kind is schema.Conv2d:
        flop = 2 * out * math.prod(shape(1)[1:])
    elif kind is schema.ConvTranspose2d:
        flop = 2 * math.prod(shape(0)) * math.prod(shape(1)[:-1]) // attributes.groups
    elif kind is schema.Attention:
        positions = shape(1)[-3 if attributes.byToken else -2]
        flop = 2 * math.prod(shape(0)[:-1]) * positions * (shape(0)[-1] + shape(2)[-1])
    elif kind is schema.Recurrent:
        flop = 2 * math.prod(shape(0)[:2]) * math.prod(shape(1))
    elif TRAITS[kind].moves is True:
        flop = 0
    else:
        flop = max(math.prod(values[i].sizes) for i in (*inputs, *outputs) if i is not None)
    return Cost(flop, moved)
