# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

import numpy as np

from ...serialization import schema
from ...serialization.schema import BinaryKind
from ..ir import Graph, Node, Rewriter
from .affine import Affine, affine_of, parameters_of


@dataclasses.dataclass(frozen=True)
class _Convolution:
    """Of the image ``x``, with parameters in float64."""

    x: str
    attributes: schema.Conv2d
    weight: np.ndarray  #: [OC, KH, KW, IC]
    bias: np.ndarray  #: [OC]
    node: Node


def _places(kernel: int, dilation: int, padding: int, of: tuple[int, int, int]) -> list[int] | None:
    """Which tap of one axis of a convolution sees what each tap of another one, ``of``, does; None if there is none."""
    places = []
    for tap in range(of[0]):
        place, rest = divmod(tap * of[1] - of[2] + padding, dilation)
        if rest or not 0 <= place < kernel:
            return None
        places.append(place)
    return places


def _axes(conv: _Convolution) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    a = conv.attributes
    return (
        (conv.weight.shape[1], a.dilation.height, a.padding.top),
        (conv.weight.shape[2], a.dilation.width, a.padding.left),
    )


def _sum(a: _Convolution, b: _Convolution, sign: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Weight and bias of ``a + sign * b`` in the window of ``a``, or None if that of ``b`` is no part of it."""
    if (a.attributes.stride, a.attributes.groups) != (b.attributes.stride, b.attributes.groups):
        return None
    rows, columns = (_places(*axis, of) for axis, of in zip(_axes(a), _axes(b), strict=True))
    if rows is None or columns is None:
        return None
    weight = a.weight.copy()
    weight[:, np.array(rows)[:, None], columns] += sign * b.weight
    return weight, a.bias + sign * b.bias


def _with_affine(a: _Convolution, b: Affine, sign: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Weight and bias of ``a + sign * b``, or None if no tap of ``a`` sees the pixel at its place."""
    one = (1, 1, 0)
    rows, columns = (_places(*axis, one) for axis in _axes(a))
    if rows is None or columns is None or tuple(a.attributes.stride) != (1, 1):
        return None
    outputs, _, _, inputs = a.weight.shape
    if outputs != inputs * a.attributes.groups:
        return None
    weight = a.weight.copy()
    channels = np.arange(outputs)
    weight[channels, rows[0], columns[0], channels % inputs] += sign * b.scale
    return weight, a.bias + sign * b.shift


class _Merger:
    def __init__(self, graph: Graph):
        self.graph = graph
        self.r = Rewriter(graph)
        self._shared = {n for n, users in graph.users.items() if len(users) > 1}

    def merge(self, node: Node) -> bool:
        """Merges what ``node`` adds up or subtracts, if it can."""
        if not node.is_a(schema.Binary) or node.attributes.clamp is not None:
            return False
        kind, shape = node.attributes.kind, self.graph.values[node.outputs[0]].shape
        if kind not in (BinaryKind.Add, BinaryKind.Sub) or any(
            self.graph.values[i].shape != shape for i in node.inputs
        ):
            return False
        left, right = (self._term(name) for name in node.inputs)
        if left is None or right is None or left.x != right.x:
            return False
        if kind == BinaryKind.Sub:
            return self._absorb(node, left, right, -1)
        return self._absorb(node, left, right, 1) or self._absorb(node, right, left, 1)

    def _absorb(self, node: Node, conv: _Convolution | Affine, other: _Convolution | Affine, sign: int) -> bool:
        """Replaces ``node`` by ``conv``, if it is a convolution, with parameters that have ``other`` in them."""
        if not isinstance(conv, _Convolution):
            return False
        merged = (_sum if isinstance(other, _Convolution) else _with_affine)(conv, other, sign)
        return merged is not None and self._replace(node, conv, *merged)

    def _term(self, name: str) -> _Convolution | Affine | None:
        """What ``name`` of the old graph is of an image, if nothing but a sum reads it."""
        if self.graph.sole_user(name) is None:
            return None
        node = self.r.producer(self.r[name])
        if node is None:
            return None
        if not node.is_a(schema.Conv2d):
            return self._affine(name)
        parameters = parameters_of(self.r, node)
        a = node.attributes
        if parameters is None or a.clamp is not None or a.dynamic_quantization or node.inputs[1] in self._shared:
            return None
        weight, bias = (None if p is None else p.astype(np.float64) for p in parameters)
        bias = np.zeros(weight.shape[0]) if bias is None else bias
        return _Convolution(node.inputs[0], a, weight, bias, node)

    def _affine(self, name: str) -> Affine | None:
        """A batch norm: a product with a number for each channel, with or without a sum behind it."""
        values = self.r.values
        last = affine_of(values, self.r.producer(self.r[name]))
        first = None if last is None else affine_of(values, self.r.producer(values[last.x]))
        if first is not None and not last.scale.ndim:
            last = Affine(first.x, first.scale * last.scale, first.shift * last.scale + last.shift)
        return last if last is not None and last.scale.ndim else None

    def _replace(self, node: Node, conv: _Convolution, weight: np.ndarray, bias: np.ndarray) -> bool:
        with np.errstate(over="ignore"):
            weight, bias = weight.astype(np.float32), bias.astype(np.float32)
        if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
            return False
        r = self.r
        operands = r.values[conv.x], r.constant(weight, conv.node.inputs[1]), r.constant(bias, "bias")
        name = node.outputs[0]
        r.replace(name, r.node(conv.attributes, *operands, shape=self.graph.values[name].shape, name=name))
        return True


def merge_convolutions(graph: Graph) -> Graph:
    """Computes the sum of convolutions of one image as one, in the larger of their windows, and a batch norm of the
    image with them. Blocks of RepVGG, MobileOne and FastViT are such sums until they are re-parameterized::

        %a: Float32[1, 8, 8, 2] = Conv2d(%x, %v) stride=(1, 1) padding=(1, 1, 1, 1) dilation=(1, 1)
        %b: Float32[1, 8, 8, 2] = Conv2d(%x, %w) stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)
        %c: Float32[1, 8, 8, 2] = Binary(%a, %b) kind=Add
        %d: Float32[1, 8, 8, 2] = Binary(%x, %s) kind=Mul
        %y: Float32[1, 8, 8, 2] = Binary(%c, %d) kind=Add

    becomes::

        %y: Float32[1, 8, 8, 2] = Conv2d(%x, %u, %t) stride=(1, 1) padding=(1, 1, 1, 1) dilation=(1, 1)

    An image that is added as it is stays exact.
    """
    merger = _Merger(graph)
    for node in merger.r.walk():
        if not merger.merge(node):
            merger.r.copy(node)
    return merger.r.finish()
