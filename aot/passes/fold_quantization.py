# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import math

import numpy as np

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, PadMode, ReduceKind, UnaryKind
from ..ir import Graph, Node, Quantization, Rewriter, Value

_LIMITS = {DType.Int8: (-128, 127), DType.UInt8: (0, 255), DType.Int32: (0, 0)}

#: Move elements, whatever these stand for.
_MOVES = ("Reshape", "Transpose", "Slice", "Expand")


class _Refused(Exception):
    """This operator stays in float; the message is the reason, for people."""


def _require(condition: bool, reason: str) -> None:
    if not condition:
        raise _Refused(reason)


def _is_normal(scale: float) -> bool:
    return math.isfinite(scale) and scale >= np.finfo(np.float32).tiny


def problem_of(quantization: Quantization) -> str | None:
    """Why the runtime would not take it; None if it does."""
    low, high = _LIMITS[quantization.dtype]
    if sum(count != 1 for count in quantization.scale.shape) > 1:
        return "a scale for each block of several axes"
    if not all(_is_normal(float(s)) for s in quantization.scale.ravel()):
        return "a scale that is not a positive, finite and normal number"
    if not ((quantization.zero_point >= low) & (quantization.zero_point <= high)).all():
        return f"a zero point that is no {quantization.dtype.name}"
    return None


def _stored_as(graph: Graph, node: Node) -> Quantization:
    """What a Quantize or Dequantize does, if that is known and one for the tensor. Raises _Refused."""
    a = node.attributes
    dtype = a.dtype if node.op == "Quantize" else graph.values[node.inputs[0]].dtype
    scale, zero_point = (graph.values[i] for i in node.inputs[1:])
    _require(scale.constant is not None and zero_point.constant is not None, "a scale that is computed at run time")
    _require(scale.array.size == zero_point.array.size == 1, "a scale for each channel")
    _require(dtype in (DType.Int8, DType.UInt8), f"numbers of {dtype.name}")
    if node.op == "Quantize":
        _require((a.min, a.max) == _LIMITS[dtype], f"a range of {a.min} to {a.max} of {dtype.name}")
    quantization = Quantization.per_tensor(dtype, scale.array.item(), zero_point.array.item())
    _require(problem_of(quantization) is None, f"{problem_of(quantization)}")
    return quantization


def _quantizes(graph: Graph, node: Node) -> Quantization | None:
    try:
        return _stored_as(graph, node) if node.op == "Quantize" else None
    except _Refused:
        return None


def _number(quantization: Quantization, value: float) -> float:
    """What is left of ``value`` when it is stored."""
    low, high = _LIMITS[quantization.dtype]
    scale, zero_point = np.float32(quantization.scale.item()), quantization.zero_point.item()
    q = min(max(np.round(np.float32(value) / scale) + zero_point, low), high)
    return float((np.float32(q) - zero_point) * scale)


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
        if user.op == "Quantize":
            return _quantizes(self.graph, user) if user.inputs[0] == name else None
        if user.op in _MOVES:
            return self._targets[user.outputs[0]]
        return None

    # Values ------------------------------------------------------------------

    def _copy(self, x: Value, quantization: Quantization | None) -> Value:
        attributes = schema.Unary(kind=UnaryKind.Copy)
        return self.r.node(attributes, x, shape=x.shape, name=x.name, quantization=quantization)

    def _as_float(self, x: Value | None) -> Value | None:
        if x is None or x.quantization is None or (x.constant is not None and not problem_of(x.quantization)):
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
        return x if x.quantization == quantization else self._copy(x, quantization)

    # Nodes -------------------------------------------------------------------

    def run(self) -> Graph:
        for node in self.r.walk():
            self._visit(node)
        self.r.debug_handle = 0
        return self.r.finish([self._as_float(self.r[o.value]) for o in self.graph.outputs])

    def _visit(self, node: Node) -> None:
        r, name = self.r, node.outputs[0]
        if node.op == "Quantize":
            try:
                quantization = _stored_as(self.graph, node)
                self._numbers[name] = self._stored(r[node.inputs[0]], quantization)
            except _Refused as refusal:
                self._refuse(node, str(refusal))
                r.replace(node.inputs[0], self._as_float(r[node.inputs[0]]))
            r.copy(node)
            return
        if node.op == "Dequantize":
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
        if node.op in _MOVES and node.inputs[0] in self._numbers:
            self._numbers[name] = self._moved(node, self._numbers[node.inputs[0]])
            r.copy(node)
            return
        inputs = [r[i] for i in node.inputs]
        if len(node.outputs) == 1 and self.graph.values[name].dtype == DType.Float32:
            touched = any(i is not None and i.quantization is not None and i.constant is None for i in inputs)
            if touched or (node.op == "Concat" and self._targets[name] is not None):
                try:
                    r.replace(name, self._fold(node, inputs, self._targets[name]))
                    return
                except _Refused as refusal:
                    self._refuse(node, str(refusal))
            elif any(i is not None and i.quantization is not None for i in inputs):
                self._refuse_unless_rounded(node, inputs)
        elif any(i is not None and i.quantization is not None for i in inputs):
            self._refuse(node, "not an operator on integers")
        self._keep(node, inputs)

    def _keep(self, node: Node, inputs: list[Value | None]) -> None:
        for name, x in zip(node.inputs, inputs, strict=True):
            if x is not None:
                self.r.replace(name, self._as_float(x))
        self.r.copy(node)
        for name, x in zip(node.inputs, inputs, strict=True):
            if x is not None:
                self.r.replace(name, x)

    def _refuse(self, node: Node, reason: str) -> None:
        self._refused.append((node.outputs[0], node.op, reason))

    def _refuse_unless_rounded(self, node: Node, inputs: list[Value | None]) -> None:
        """The images of a convolution with integer weights may be rounded when it runs."""
        if not getattr(node.attributes, "dynamic_quantization", False):
            self._refuse(node, "a constant is quantized, but no other operand")
        elif inputs[1].shape[0] == 1 or (inputs[1].shape[3] == 1 and node.attributes.groups > 1):
            self._refuse(node, "no rounded images for one channel of a group in, or one out; the weight stays integers")

    def _moved(self, node: Node, x: Value) -> Value:
        old = self.graph.values[node.outputs[0]]
        return self.r.node(node.attributes, x, shape=old.shape, name=old.name, quantization=x.quantization)

    def _fold(self, node: Node, inputs: list[Value | None], target: Quantization | None) -> Value:
        """The result of the node on integers. Raises _Refused."""
        rule = getattr(self, "_fold_" + node.op, None)
        if rule is None and node.op not in _MOVES:
            raise _Refused("no rule for this operator on integers")
        return self._moved(node, inputs[0]) if rule is None else rule(node, inputs, target)

    def _node(self, node: Node, inputs, quantization: Quantization | None, attributes=None) -> Value:
        old = self.graph.values[node.outputs[0]]
        return self.r.node(
            attributes or node.attributes, *inputs, shape=old.shape, name=old.name, quantization=quantization
        )

    def _fold_Concat(self, node, inputs, target):
        if target is None:
            target = inputs[0].quantization
            _require(
                target is not None and all(i.quantization == target for i in inputs),
                "operands and result that are not all quantized the same",
            )
        _require(target.is_per_tensor, "a scale for each channel")
        return self._node(node, [self._stored(i, target) for i in inputs], target)

    def _fold_Pad(self, node, inputs, target):
        (x,) = inputs
        a = node.attributes
        exact = a.mode != PadMode.Constant or _number(x.quantization, a.value) == a.value
        if not exact and target is not None and target != x.quantization:
            return self._node(node, [self._stored(x, target)], target)
        _require(exact or target is not None, f"a border of {a.value}, which is no integer times the scale")
        return self._node(node, inputs, x.quantization)

    def _fold_MaxPool2d(self, node, inputs, target):
        return self._node(node, inputs, inputs[0].quantization)

    def _fold_Unary(self, node, inputs, target):
        _require(inputs[0].quantization.is_per_tensor, "a scale for each channel")
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
        if self._is_wide(x.quantization, clamp):
            return x
        attributes = schema.Unary(kind=UnaryKind.Clamp, clamp=clamp)
        return self.r.node(attributes, x, shape=x.shape, quantization=x.quantization)

    def _require_result(self, target, dtype=DType.Int8):
        _require(target is not None, "a result that is not quantized")
        _require(target.dtype == dtype, f"a result of {target.dtype.name}")

    def _require_operand(self, x: Value, what: str):
        _require(x.quantization is not None, f"{what} that is not quantized")
        _require(x.quantization.dtype == DType.Int8, f"{what} of {x.quantization.dtype.name}")
        _require(x.quantization.is_per_tensor, f"{what} with a scale for each channel")

    def _fold_Binary(self, node, inputs, target):
        kind = node.attributes.kind
        _require(kind in (BinaryKind.Add, BinaryKind.Sub, BinaryKind.Mul), f"{kind.name} of integers")
        self._require_result(target)
        for x in inputs:
            self._require_operand(x, "an operand")
        a, b, y = (q.scale.item() for q in (inputs[0].quantization, inputs[1].quantization, target))
        if kind == BinaryKind.Mul:
            _require(2**-16 <= a * b / y < 2**8, "scales that differ too much")
        else:
            _require(all(2**-10 <= s / y < 2**8 for s in (a, b)), "scales that differ too much")
        attributes = dataclasses.replace(node.attributes, clamp=None)
        return self._clamped(self._node(node, inputs, target, attributes), node.attributes.clamp)

    def _product(self, node, inputs, target):
        x, weight, bias = (*inputs, None)[:3]
        self._require_result(target)
        self._require_operand(x, "an operand")
        _require(weight.constant is not None and weight.quantization is not None, "a weight that is not quantized")
        w = weight.quantization
        _require(w.dtype == DType.Int8, f"a weight of {w.dtype.name}")
        _require(problem_of(w) is None, f"{problem_of(w)}")
        _require(not w.zero_point.any(), "a weight with a zero point")
        axes = [axis for axis, count in enumerate(w.scale.shape) if count != 1]
        _require(axes in ([], [0]), "a weight with a scale for each index of an axis that is summed over")
        scale = w.scale.ravel() * np.float32(x.quantization.scale.item())
        ratio = scale / np.float32(target.scale.item())
        _require(bool(((ratio >= 2**-32) & (ratio < 256)).all()), "scales that differ too much")
        clamp = node.attributes.clamp
        if clamp is not None:
            _require(_number(target, clamp.min) < _number(target, clamp.max), "a clamp to one number")
        operands = [x, weight]
        if bias is not None:
            operands.append(self._bias(bias, scale))
        return self._node(node, operands, target)

    def _bias(self, bias: Value, scale: np.ndarray) -> Value:
        _require(bias.constant is not None, "a bias that is not constant")
        _require(all(_is_normal(float(s)) for s in scale), "scales whose product is too small")
        with np.errstate(over="ignore", invalid="ignore"):
            q = np.round(bias.array.astype(np.float64) / scale)
        _require(bool((np.abs(q) < 2**31).all()), "a bias that is too large for its scale")
        quantization = Quantization(DType.Int32, scale, np.zeros(scale.shape, np.int32))
        return self.r.constant(q.astype(np.int32), bias.name, quantization)

    _fold_Conv2d = _fold_ConvTranspose2d = _fold_Linear = _product

    def _in_float(self, node, inputs, target):
        """The runtime converts operands and result by itself."""
        _require(target is not None, "a result that is not quantized")
        _require(all(i is None or i.quantization is None or i.quantization.is_per_tensor for i in inputs), "channels")
        return self._node(node, inputs, target)

    _fold_AvgPool2d = _fold_AdaptivePool2d = _fold_Resize2d = _in_float

    def _fold_Reduce(self, node, inputs, target):
        _require(node.attributes.kind in (ReduceKind.Mean, ReduceKind.Sum), "a reduction of integers")
        return self._in_float(node, inputs, target)


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
    touched = any(node.op in ("Quantize", "Dequantize") for node in graph.nodes)
    if not touched and all(value.quantization is None for value in graph.values.values()):
        return graph
    return _Folder(graph, refused).run()
