# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The text form of a graph, for people and for tests::

    range s0 1..128 hint 16
    in %x: Float32[s0, 3]
    const %w: Float32[2, 3] = [1, 2, 3, 4, 5, 6]
    %y: Float32[s0, 2] = Linear(%x, %w) clamp=(0, inf)
    out %y

An argument that is an integer reads ``in s0``; a channels_last one
``in %x: Float32[1, 8, 8, 3] order (0, 2, 3, 1)``. A state is ``state %x: Float32[2] of cache = [0, 0]``
where it begins and ``set cache %y`` where it ends. A value that is stored as integers reads
``%x: Float32[2, 3] as Int8(0.5 from -1)``, with a scale and zero point for each row
``%x: Float32[2, 3] as Int8[2, 1]([0.5, 0.25] from [0, 0])``. Large constants print as their hash and
parse back as zeros, scales as ones.
"""

import ast
import dataclasses
import enum
import hashlib
import math
import re

import numpy as np
import sympy

from ...serialization import schema
from ...serialization.arrays import DTYPES, NUMPY_DTYPES, REDUCED_FLOATS, convert
from ...serialization.schema import DType
from . import dims
from .graph import Constant, Graph, Input, Node, Output, State, Value
from .quantization import Quantization

_INLINE_ELEMENTS = 16


def _number(x) -> str:
    if isinstance(x, bool):
        return str(x)
    if isinstance(x, float):
        short = x.is_integer() and abs(x) < 1e15 and (x or math.copysign(1, x) > 0)
        return repr(int(x)) if short else repr(x)
    return str(x)


def _attribute(x) -> str:
    if isinstance(x, enum.IntEnum):
        return x.name
    if isinstance(x, tuple):
        return "(" + ", ".join(_number(i) for i in x) + ")"
    return _number(x)


def _attributes(attributes) -> str:
    fields = ((f, getattr(attributes, f.name)) for f in dataclasses.fields(attributes))
    return "".join(f" {f.name}={_attribute(v)}" for f, v in fields if v != f.default)


def _type(value: Value) -> str:
    text = f"%{value.name}: {value.dtype.name}[{', '.join(str(d) for d in value.shape)}]"
    q = value.quantization
    if q is None:
        return text
    blocks = f"{list(q.scale.shape)}" if q.scale.shape else ""
    return f"{text} as {q.dtype.name}{blocks}({_parameter(q.scale)} from {_parameter(q.zero_point)})"


def _parameter(array: np.ndarray) -> str:
    return _array(array) if array.shape else _number(array.item())


def _array(array: np.ndarray) -> str:
    if DTYPES[array.dtype] in REDUCED_FLOATS:
        array = convert(array, DType.Float32)
    if array.size <= _INLINE_ELEMENTS:
        return "[" + ", ".join(_number(x) for x in array.ravel().tolist()) + "]"
    return "#" + hashlib.sha256(np.ascontiguousarray(array)).hexdigest()[:8]


def _order(dim_order) -> str:
    return f" order {_attribute(tuple(dim_order))}" if dim_order else ""


def to_text(graph: Graph) -> str:
    lines = []
    for name, r in graph.ranges.items():
        plan = "" if r.plan is None else f" plan {r.plan}"
        lines.append(f"range {name} {r.min}..{'' if r.max is None else r.max} hint {r.hint}{plan}")
    for i in graph.inputs:
        if i.value is None:
            lines.append(f"in {i.expr}")
        elif i.state is not None:
            head = f"state {_type(graph.values[i.value])} of {i.state.name}"
            lines.append(f"{head} = {_array(i.state.initial.array)}")
        else:
            lines.append(f"in {_type(graph.values[i.value])}{_order(i.dim_order)}")
    for value in graph.values.values():
        if value.constant is not None:
            lines.append(f"const {_type(value)} = {_array(value.constant.array)}")
    for node in graph.nodes:
        outputs = ", ".join(_type(graph.values[o]) for o in node.outputs)
        inputs = ", ".join("none" if i is None else "%" + i for i in node.inputs)
        lines.append(f"{outputs} = {node.op}({inputs}){_attributes(node.attributes)}")
    for o in graph.outputs:
        word = "out" if o.state is None else f"set {o.state}"
        lines.append(f"{word} %{o.value}{_order(o.dim_order)}")
    return "\n".join(lines) + "\n"


_VALUE = re.compile(r"%(\w+): (\w+)\[([^\]]*)\](?: as (\w+)(?:\[([^\]]*)\])?\((\S.*?) from (.*?)\))?")


def _parse_dim(text: str) -> dims.Dim:
    names = set(re.findall(r"[a-z]\w*", text)) - {"floor"}
    known = {n: dims.symbol(n) for n in names if n[0] in "su"} | {"Scaled": dims.Scaled}
    expr = sympy.parse_expr(text, local_dict=known)
    return dims.simplify(expr)


def _split(text: str) -> list[str]:
    """Splits at commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [p.strip() for p in parts if p.strip()]


def _parse_value(text: str) -> Value:
    name, dtype, shape, stored, blocks, scale, zero_point = _VALUE.fullmatch(text.strip()).groups()
    value = Value(name, DType[dtype], tuple(_parse_dim(d) for d in _split(shape)))
    if stored is None:
        return value
    blocks = tuple(int(b) for b in _split(blocks or ""))
    zero_dtype = np.float32 if "." in zero_point else np.int32
    parameters = _parse_parameter(scale, np.float32, blocks, 1), _parse_parameter(zero_point, zero_dtype, blocks, 0)
    return dataclasses.replace(value, quantization=Quantization(DType[stored], *parameters))


def _parse_parameter(text: str, dtype, shape: tuple[int, ...], unknown: int) -> np.ndarray:
    if text.startswith("#"):
        return np.full(shape, unknown, dtype)
    return np.array([_parse_number(t) for t in _split(text.strip("[]"))], dtype).reshape(shape)


def _parse_constant(value: Value, text: str) -> Constant:
    dtype = NUMPY_DTYPES[value.quantization.dtype if value.quantization is not None else value.dtype]
    if text.startswith("#"):
        return Constant(np.zeros(value.shape, dtype))
    items = [_parse_number(t) for t in _split(text.strip()[1:-1])]
    if value.dtype in REDUCED_FLOATS:
        return Constant(convert(np.array(items, np.float32), value.dtype).reshape(value.shape))
    return Constant(np.array(items, dtype).reshape(value.shape))


def _parse_number(text: str):
    if text in ("inf", "-inf", "nan"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except ValueError:
        return _parse_dim(text)


def _parse_attribute(field: dataclasses.Field, text: str):
    if isinstance(field.default, enum.IntEnum):
        return type(field.default)[text]
    if text.startswith("("):
        items = tuple(_parse_number(t) for t in _split(text[1:-1]))
        type_ = schema.field_type(field)
        return items if type_.is_vector else schema.STRUCTS[type_.name](*items)
    return _parse_number(text)


def _parse_node(outputs: str, text: str) -> tuple[list[Value], Node]:
    values = [_parse_value(m.group(0)) for m in _VALUE.finditer(outputs)]
    op, inputs, rest = re.fullmatch(r"(\w+)\(([^)]*)\)(.*)", text.strip()).groups()
    cls = schema.ATTRIBUTES[op]
    fields = {f.name: f for f in dataclasses.fields(cls)}
    found = re.findall(r"(\w+)=(.*?)(?=\s+\w+=|\s*$)", rest)
    attributes = {name: _parse_attribute(fields[name], value) for name, value in found}
    names = tuple(None if i == "none" else i.lstrip("%") for i in _split(inputs))
    return values, Node(cls(**attributes), names, tuple(v.name for v in values))


def _parse_order(text: str) -> tuple[str, tuple[int, ...] | None]:
    head, _, order = text.partition(" order ")
    return head, ast.literal_eval(order) if order else None


def parse(text: str) -> Graph:
    """The graph that ``text`` describes. Raises ValueError with the line that it cannot read."""
    values: dict[str, Value] = {}
    nodes, inputs, outputs, ranges = [], [], [], {}
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("//"):
            continue
        try:
            word, _, rest = line.partition(" ")
            if word == "range":
                pattern = r"(\w+) (\d+)\.\.(\d*) hint (\d+)(?: plan (\d+))?"
                name, lo, hi, hint, plan = re.fullmatch(pattern, rest).groups()
                ranges[name] = dims.Range(int(lo), int(hi) if hi else None, int(hint), int(plan) if plan else None)
            elif word == "in" and not rest.startswith("%"):
                inputs.append(Input(None, expr=_parse_dim(rest)))
            elif word == "in":
                rest, order = _parse_order(rest)
                value = _parse_value(rest)
                values[value.name] = value
                inputs.append(Input(value.name, order))
            elif word == "const":
                head, _, data = rest.partition(" = ")
                value = _parse_value(head)
                values[value.name] = dataclasses.replace(value, constant=_parse_constant(value, data))
            elif word == "state":
                head, _, data = rest.partition(" = ")
                head, _, name = head.partition(" of ")
                value = _parse_value(head)
                values[value.name] = value
                inputs.append(Input(value.name, state=State(name, _parse_constant(value, data))))
            elif word == "set":
                state, _, name = rest.rpartition(" ")
                outputs.append(Output(name.lstrip("%"), state=state))
            elif word == "out":
                name, order = _parse_order(rest)
                outputs.append(Output(name.lstrip("%"), order))
            else:
                head, _, body = line.partition(" = ")
                produced, node = _parse_node(head, body)
                values.update((v.name, v) for v in produced)
                nodes.append(node)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"cannot read {line!r}: {error}") from error
    return Graph(values, tuple(nodes), tuple(inputs), tuple(outputs), ranges)
