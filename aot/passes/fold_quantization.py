# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import math

import numpy as np

from ...serialization import schema
from ...serialization.schema import DType, ReduceKind, UnaryKind
from ..ir import Graph, Node, Quantization, Rewriter, Value
from ..traits import traits_of

#: A bias is rounded to a multiple of the product of the scales of operand and weight, the unit of the sums that it is
#: added to. It is kept as it is if that moves it by more than so many integers of the result. (What XNNPACK can compute
#: is no business of this pass, but of runtime/ops/common/choose.cpp.)
_MOST_MOVED = 0.5
_LARGEST_PRODUCT = 255 * 128

_LIMITS = {DType.Int8: (-128, 127), DType.UInt8: (0, 255), DType.Int32: (0, 0)}

#: Operators that take no quantized operand; others with one result do (``takes_quantized`` in runtime/ops/op.h).
_TAKE_FLOATS = (
    schema.IndexPut,
    schema.NonMaxSuppression,
    schema.Nonzero,
    schema.RepeatIndices,
    schema.Scatter,
    schema.SliceScatter,
)


class _Refused(Exception):
    """This operator stays in float; the message is the reason, for people."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _Refused(reason)


def _require_possible(quantization: Quantization, shape: tuple) -> None:
    problem = problem_of(quantization, shape)
    _require(problem is None, f"{problem}")


def _require_quantized(operands: list[Value], target: Quantization | None) -> None:
    _require(target is not None, "its result is not quantized")
    for x in operands:
        _require(x.quantization is not None, "an operand is not quantized")
        if x.constant is not None:
            _require_possible(x.quantization, x.shape)


def _is_normal(scale: float) -> bool:
    return math.isfinite(scale) and scale >= np.finfo(np.float32).tiny


def has_blocks(parameters: np.ndarray, shape: tuple) -> bool:
    """Whether scales or zero points of such a tensor each belong to several indices of an axis, but not to all."""
    return parameters.ndim > 0 and any(n not in (1, size) for n, size in zip(parameters.shape, shape, strict=True))


def problem_of(quantization: Quantization, shape: tuple) -> str | None:
    """Why a program cannot hold such integers of this shape as numbers, as a sentence; None if it can."""
    low, high = _LIMITS[quantization.dtype]
    if sum(count != 1 for count in quantization.scale.shape) > 1:
        return "the scales belong to blocks along several axes"
    if has_blocks(quantization.scale, shape):
        return "the scales belong to blocks along an axis"
    if not all(_is_normal(float(s)) for s in quantization.scale.ravel()):
        return "a scale is not a positive, finite and normal number"
    if not ((quantization.zero_point >= low) & (quantization.zero_point <= high)).all():
        return f"a zero point is outside the range of {quantization.dtype.name}"
    return None


def _stored_as(graph: Graph, node: Node) -> Quantization:
    """What a Quantize or Dequantize does, if that is known and one for the tensor. Raises _Refused."""
    a = node.attributes
    dtype = a.dtype if node.is_a(schema.Quantize) else graph.values[node.inputs[0]].dtype
    scale, zero_point = (graph.values[i] for i in node.inputs[1:])
    is_known = scale.constant is not None and zero_point.constant is not None
    _require(is_known, "the scale or zero point is computed at run time")
    _require(scale.array.size == zero_point.array.size == 1, "an activation has more than one scale")
    _require(dtype in (DType.Int8, DType.UInt8), f"the integers are {dtype.name}, not Int8 or UInt8")
    if node.is_a(schema.Quantize):
        whole = (a.min, a.max) == _LIMITS[dtype]
        _require(whole, f"the range is {a.min} to {a.max}, not all of {dtype.name}")
    quantization = Quantization.per_tensor(dtype, scale.array.item(), zero_point.array.item())
    _require_possible(quantization, ())
    return quantization


def _quantizes(graph: Graph, node: Node) -> Quantization | None:
    try:
        return _stored_as(graph, node) if node.is_a(schema.Quantize) else None
    except _Refused:
        return None


def _number(quantization: Quantization, value: float) -> float:
    """What is left of ``value`` when it is stored."""
    low, high = _LIMITS[quantization.dtype]
    scale, zero_point = np.float32(quantization.scale.item()), quantization.zero_point.item()
    q = min(max(np.round(np.float32(value) / scale) + zero_point, low), high)
    return float((np.float32(q) - zero_point) * scale)


def _picks(node: Node) -> bool:
    """Whether it moves elements of one operand, whatever these stand for."""
    return len(node.inputs) == 1 and traits_of(node.attributes).picks


def _passes(node: Node) -> bool:
    """Whether it does with integers that stand for numbers what it does with the numbers."""
    return len(node.inputs) == 1 and traits_of(node.attributes).passes is not None


def _takes_quantized(node: Node) -> bool:
    return len(node.outputs) == 1 and not node.is_a(*_TAKE_FLOATS)


def _quantizes_itself(node: Node) -> bool:
    """Whether it is a convolution that may quantize its images when it runs, and multiply integers."""
    return node.is_a(schema.Conv2d, schema.ConvTranspose2d) and node.attributes.dynamic_quantization


class _Folder:
    """Decides for one node after the other whether its result is stored as integers."""

    def __init__(self, graph: Graph, refused: list[tuple[str, str, str]]):
        self.graph = graph
        self.r = Rewriter(graph)
        self._refused = refused
        self._numbers: dict[str, Value] = {}  # by integers of the old graph: what they stand for
        self._floats: dict[str, Value] = {}  # by name of a stored value
        self._targets: dict[str, Quantization | None] = {}
        for node in reversed(graph.nodes):
            for name in node.outputs:
                self._targets[name] = self._target(name)

    def _target(self, name: str) -> Quantization | None:
        """How all that read a value want it stored; None if they differ or want it as it is."""
        users = self.graph.users[name]
        if not users or name in self.graph.output_names:
            return None
        wanted = {self._wanted(user, name) for user in users}
        return wanted.pop() if len(wanted) == 1 else None

    def _wanted(self, user: Node, name: str) -> Quantization | None:
        if user.is_a(schema.Quantize):
            return _quantizes(self.graph, user) if user.inputs[0] == name else None
        if _passes(user) and traits_of(user.attributes).passes == ():
            return self._targets[user.outputs[0]]
        return None

    # Values ------------------------------------------------------------------

    def _copy(self, x: Value, quantization: Quantization | None) -> Value:
        attributes = schema.Unary(kind=UnaryKind.Copy)
        return self.r.node(attributes, x, shape=x.shape, name=x.name, quantization=quantization)

    def _as_float(self, x: Value | None) -> Value | None:
        if x is None or x.quantization is None or (x.constant is not None and not problem_of(x.quantization, x.shape)):
            return x
        if x.name not in self._floats:
            self._floats[x.name] = self._dequantized(x) if x.constant is not None else self._copy(x, None)
        return self._floats[x.name]

    def _dequantized(self, x: Value) -> Value:
        """A constant that the runtime cannot have as it is."""
        q, scale, zero_point = (
            self.r.constant(a, f"{x.name}_{n}")
            for a, n in (
                (x.constant.array, "q"),
                (x.quantization.scale, "scale"),
                (x.quantization.zero_point, "zero_point"),
            )
        )
        return self.r.node(schema.Dequantize(), q, scale, zero_point, shape=x.shape, dtype=DType.Float32)

    def _stored(self, x: Value, quantization: Quantization) -> Value:
        if x.quantization == quantization:
            return x
        return self._copy(self._as_float(x) if x.constant is not None else x, quantization)

    # Nodes -------------------------------------------------------------------

    def run(self) -> Graph:
        for node in self.r.walk():
            self._visit(node)
        self.r.debug_handle = 0
        return self.r.finish([self._as_float(self.r[o.value]) for o in self.graph.outputs])

    def _visit(self, node: Node) -> None:
        r, name = self.r, node.outputs[0]
        if node.is_a(schema.Quantize):
            try:
                quantization = _stored_as(self.graph, node)
                self._numbers[name] = self._stored(r[node.inputs[0]], quantization)
            except _Refused as refusal:
                self._refuse(node, str(refusal))
                r.replace(node.inputs[0], self._as_float(r[node.inputs[0]]))
            r.copy(node)
            return
        if node.is_a(schema.Dequantize):
            known = self._numbers.get(node.inputs[0])
            try:
                quantization = _stored_as(self.graph, node)
            except _Refused as refusal:
                self._refuse(node, str(refusal))
                r.copy(node)
                return
            if known is not None and known.quantization == quantization:
                r.replace(name, known)
            else:
                inputs = [r[i] for i in node.inputs]
                shape = self.graph.values[name].shape
                value = r.node(
                    node.attributes, *inputs, shape=shape, dtype=DType.Float32, name=name, quantization=quantization
                )
                r.replace(name, value)
            return
        if _picks(node) and node.inputs[0] in self._numbers:
            self._numbers[name] = self._moved(node, self._numbers[node.inputs[0]])
            r.copy(node)
            return
        inputs = [r[i] for i in node.inputs]
        if len(node.outputs) == 1 and self.graph.values[name].dtype == DType.Float32:
            touched = any(i is not None and i.quantization is not None and i.constant is None for i in inputs)
            if touched or (node.is_a(schema.Concat) and self._targets[name] is not None):
                try:
                    r.replace(name, self._fold(node, inputs, self._targets[name]))
                    return
                except _Refused as refusal:
                    self._refuse(node, str(refusal))
            elif any(i is not None and i.quantization is not None for i in inputs) and not _quantizes_itself(node):
                self._refuse(node, "only a constant operand is quantized")
        elif any(i is not None and i.quantization is not None for i in inputs):
            self._refuse(node, "its result is not one tensor of Float32")
        self._keep(node, inputs)

    def _keep(self, node: Node, inputs: list[Value | None]) -> None:
        for name, x in zip(node.inputs, inputs, strict=True):
            if x is not None:
                value = self._as_float(x)
                if value.quantization is not None and not _takes_quantized(node):
                    value = self._copy(value, None)
                self.r.replace(name, value)
        self.r.copy(node)
        for name, x in zip(node.inputs, inputs, strict=True):
            if x is not None:
                self.r.replace(name, x)

    def _refuse(self, node: Node, reason: str) -> None:
        self._refused.append((node.outputs[0], node.op, reason))

    def _moved(self, node: Node, x: Value) -> Value:
        old = self.graph.values[node.outputs[0]]
        return self.r.node(node.attributes, x, shape=old.shape, name=old.name, quantization=x.quantization)

    def _fold(self, node: Node, inputs: list[Value | None], target: Quantization | None) -> Value:
        """The result of the node on integers. Raises _Refused."""
        rule = _RULES.get(type(node.attributes))
        if rule is not None:
            return rule(self, node, inputs, target)
        _require(_passes(node), "it has no form that reads integers")
        return self._passed(node, inputs, target)

    def _node(self, node: Node, inputs, quantization: Quantization | None, attributes=None) -> Value:
        old = self.graph.values[node.outputs[0]]
        return self.r.node(
            attributes or node.attributes, *inputs, shape=old.shape, name=old.name, quantization=quantization
        )

    def _concat(self, node, inputs, target):
        if target is None:
            target = inputs[0].quantization
            _require(
                target is not None and all(i.quantization == target for i in inputs),
                "its operands and result are not all quantized with one scale and zero point",
            )
        _require(target.is_per_tensor, "its operand has more than one scale")
        return self._node(node, [self._stored(i, target) for i in inputs], target)

    def _passed(self, node, inputs, target):
        """The operator on integers as they are. The numbers among its attributes must be such integers, or the
        result is stored again anyway."""
        (x,) = inputs
        others = [v for v in traits_of(node.attributes).passes if _number(x.quantization, v) != v]
        if others and target is not None and target != x.quantization:
            return self._node(node, [self._stored(x, target)], target)
        _require(not others or target is not None, f"it pads with {others}, which its quantized operand cannot hold")
        return self._node(node, inputs, x.quantization)

    def _unary(self, node, inputs, target):
        _require(inputs[0].quantization.is_per_tensor, "its operand has more than one scale")
        a = node.attributes
        (x,) = inputs
        if a.kind == UnaryKind.Clamp and target in (None, x.quantization) and self._is_wide(x.quantization, a.clamp):
            return x
        return self._node(node, inputs, target)

    def _is_wide(self, quantization: Quantization, clamp) -> bool:
        """Whether the clamp lets every integer through."""
        if clamp is None:
            return True
        lowest, highest = (_number(quantization, s * math.inf) for s in (-1, 1))
        return clamp.min <= lowest and highest <= clamp.max

    def _clamped(self, x: Value, clamp) -> Value:
        """``x`` clamped as integers, which gives what clamping its numbers before they were rounded gives: rounding
        keeps their order. A clamp of its own maps 256 integers, whoever makes them."""
        if self._is_wide(x.quantization, clamp):
            return x
        attributes = schema.Unary(kind=UnaryKind.Clamp, clamp=clamp)
        return self.r.node(attributes, x, shape=x.shape, quantization=x.quantization)

    def _binary(self, node, inputs, target):
        _require_quantized(inputs, target)
        attributes = dataclasses.replace(node.attributes, clamp=None)
        return self._clamped(self._node(node, inputs, target, attributes), node.attributes.clamp)

    def _product(self, node, inputs, target):
        x, weight, bias = (*inputs, None)[:3]
        _require_quantized([x], target)
        _require(weight.constant is not None and weight.quantization is not None, "the weight is not quantized")
        _require_possible(weight.quantization, weight.shape)
        operands = [x, weight]
        if bias is not None:
            depth = math.prod(weight.shape[1:])
            operands.append(self._bias(bias, x.quantization, weight.quantization, target, depth))
        return self._node(node, operands, target)

    def _bias(self, bias: Value, x: Quantization, weight: Quantization, target: Quantization, depth: int) -> Value:
        """The bias in Int32 with the scale of the products of x and weight; as it is where that is no sensible scale
        for the result, or has no room for it and for the sum of ``depth`` products."""
        by_output = all(count == 1 for count in weight.scale.shape[1:])
        scale = weight.scale.ravel() * np.float32(x.scale.item())
        if bias.constant is None or not by_output or not all(_is_normal(float(s)) for s in scale):
            return self._as_float(bias)
        with np.errstate(over="ignore", invalid="ignore"):
            q = np.round(bias.array.astype(np.float64) / scale)
            moved = np.abs(q * scale - bias.array) / target.scale.item()
        has_room = (np.abs(q) < 2**31 - depth * _LARGEST_PRODUCT).all()
        if not has_room or not (moved <= _MOST_MOVED).all():  # also for NaN
            return self._as_float(bias)
        quantization = Quantization(DType.Int32, scale, np.zeros(scale.shape, np.int32))
        return self.r.constant(q.astype(np.int32), bias.name, quantization)

    def _computed_in_float(self, node, inputs, target):
        """Operands and result are integers in memory; the runtime computes with the numbers that they stand for."""
        if target is None and _passes(node):
            return self._passed(node, inputs, target)
        _require_quantized([x for x in inputs if x is not None], target)
        return self._node(node, inputs, target)

    def _reduce(self, node, inputs, target):
        is_sum = node.attributes.kind in (ReduceKind.Mean, ReduceKind.Sum)
        _require(is_sum or _passes(node), f"{node.attributes.kind.name} has no form that reads integers")
        return self._computed_in_float(node, inputs, target)


#: What becomes of an operator that reads integers; those that pass them on need no rule.
_RULES = {
    schema.Unary: _Folder._unary,
    schema.Binary: _Folder._binary,
    schema.Conv2d: _Folder._product,
    schema.ConvTranspose2d: _Folder._product,
    schema.Linear: _Folder._product,
    schema.Concat: _Folder._concat,
    schema.AvgPool2d: _Folder._computed_in_float,
    schema.AdaptivePool2d: _Folder._computed_in_float,
    schema.Resize2d: _Folder._computed_in_float,
    schema.Reduce: _Folder._reduce,
}


def fold_quantization(graph: Graph, refused: list[tuple[str, str, str]] | None = None) -> Graph:
    """Takes quantize and dequantize into the operators between them, which then compute with integers.

    A value that is quantized and dequantized again counts as Float32 as before, but is stored as
    integers. The operator that makes it, and those that read it, work on these where the runtime can.
    Elsewhere the conversion is an operator as before, and ``refused`` gets name, operator and reason::

        %q: Int8[2, 4] = Quantize(%x, %sx, %zx) dtype=Int8 min=-128 max=127
        %f: Float32[2, 4] = Dequantize(%q, %sx, %zx)
        %y: Float32[2, 3] = Linear(%f, %w)
        %p: Int8[2, 3] = Quantize(%y, %sy, %zy) dtype=Int8 min=-128 max=127
        %o: Float32[2, 3] = Dequantize(%p, %sy, %zy)
        out %o

    becomes::

        %c: Float32[2, 4] as Int8(0.5 from 3) = Unary(%x) kind=Copy
        %y: Float32[2, 3] as Int8(0.25 from 0) = Linear(%c, %w)
        %o: Float32[2, 3] = Unary(%y) kind=Copy
        out %o
    """
    refused = [] if refused is None else refused
    touched = any(node.is_a(schema.Quantize, schema.Dequantize) for node in graph.nodes)
    if not touched and all(value.quantization is None for value in graph.values.values()):
        return graph
    return _Folder(graph, refused).run()
