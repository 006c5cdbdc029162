# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import numpy as np

from ...serialization import schema
from ..ir import Graph, Node, Rewriter, Value
from .affine import Affine, affine_of, parameters_of

_LARGEST_SHIFT = 256  # in front: of more, the bias would lose digits that the difference has, as of x - 101325


def _scaled(weight: np.ndarray, scale: np.ndarray) -> np.ndarray | None:
    """The product in float64; in float32 where that is its rounding, which is half the memory.

    None if float32 loses digits of what is too small for it, which the result of the product may not be.
    """
    with np.errstate(over="ignore", under="ignore"):
        narrow = scale.astype(np.float32)
        scaled = weight * (narrow if np.array_equal(narrow, scale) else scale)
    tiny = np.finfo(np.float32).tiny
    magnitude = np.abs(scaled)
    if magnitude.size and magnitude.min() < tiny:  # zeros, mostly
        if ((magnitude < tiny) & (np.abs(weight) >= tiny) & (scale != 0)).any():
            return None
    return scaled


def _behind(node: Node, weight, bias, affine: Affine):
    """Weight and bias of the product followed by the affine map; None where the weight would be too small."""
    channels = weight.shape[0]
    scale = np.broadcast_to(affine.scale, channels)
    bias = np.zeros(channels) if bias is None else bias.astype(np.float64)
    if (scale != 1).any():
        weight = _scaled(weight, scale.reshape(-1, *[1] * (weight.ndim - 1)))
        if weight is None:
            return None
    return weight, bias * scale + affine.shift


def _in_front(node: Node, weight, bias, affine: Affine):
    """The same of the product after the affine map; None, too, where padding must stay zero, or a shift is large."""
    groups = getattr(node.attributes, "groups", 1)
    shifts = affine.shift.any()
    if not (np.abs(affine.shift) <= _LARGEST_SHIFT).all():
        return None
    if shifts and node.is_a(schema.ConvTranspose2d):
        return None
    if shifts and node.is_a(schema.Conv2d) and any(node.attributes.padding):
        return None
    outputs, *window, inputs = weight.shape
    grouped = weight.reshape(groups, outputs // groups, *window, inputs)

    def per_input(vector):
        vector = np.broadcast_to(vector, groups * inputs)
        return vector.reshape(groups, *[1] * (weight.ndim - 1), inputs)

    if shifts:
        added = grouped * per_input(affine.shift)
        added = added.sum(axis=tuple(range(2, added.ndim)), dtype=np.float64).reshape(outputs)
        bias = added if bias is None else bias + added
    scaled = _scaled(grouped, per_input(affine.scale))
    return None if scaled is None else (scaled.reshape(weight.shape), bias)


class _Folder:
    def __init__(self, graph: Graph):
        self.graph = graph
        self.r = Rewriter(graph)
        self._shared = {n for n, users in graph.users.items() if len(users) > 1}

    def _fold(self, side, node: Node, affine: Affine, x: Value, name: str) -> Value | None:
        """A new product named ``name`` of ``x``, or None."""
        r = self.r
        parameters = parameters_of(r, node)
        if parameters is None:
            return None
        if node.inputs[1] in self._shared and ((affine.scale != 1).any() or side is _in_front):
            return None  # the program would hold the weight twice
        folded = side(node, *parameters, affine)
        if folded is None:
            return None
        with np.errstate(over="ignore"):
            weight, bias = (None if p is None else p.astype(np.float32, copy=False) for p in folded)
        if not all(p is None or np.isfinite(p).all() for p in (weight, bias)):
            return None
        if weight is parameters[0]:
            weight = r.values[node.inputs[1]]
        else:
            weight = r.constant(weight, node.inputs[1])
        bias = None if bias is None else r.constant(bias, "bias")
        operands = [x, weight] if bias is None else [x, weight, bias]
        r.debug_handle = node.debug_handle
        return r.node(node.attributes, *operands, shape=self.graph.values[name].shape, name=name)

    def behind(self, node: Node) -> bool:
        """Folds ``node``, an affine map of a product that nothing else reads."""
        affine = affine_of(self.graph.values, node)
        if affine is None or self.graph.sole_user(affine.x) is None:
            return False
        product = self.r.producer(self.r[affine.x])
        if product is None or getattr(product.attributes, "clamp", None) is not None:
            return False
        value = self._fold(_behind, product, affine, self.r.values[product.inputs[0]], node.outputs[0])
        if value is not None:
            self.r.replace(node.outputs[0], value)
        return value is not None

    def in_front(self, node: Node) -> None:
        """Folds the affine maps before ``node``, a product that was just added."""
        name = node.outputs[0]
        while True:
            product = self.r.producer(self.r[name])
            affine = affine_of(self.r.values, self.r.producer(self.r.values[product.inputs[0]]))
            if affine is None:
                return
            value = self._fold(_in_front, product, affine, self.r.values[affine.x], name)
            if value is None:
                return
            self.r.replace(name, value)


def fold_batch_norm(graph: Graph) -> Graph:
    """Folds products and sums with constants of one number a channel into weights.

    Behind a product if nothing else reads that; in front of it if the product has no
    padding, which stays zero (a factor passes through padding, too), and the sum is with
    numbers of the size of pixels. The arithmetic is done in float64::

        const %w: Float32[2, 1] = [1, 2]              const %w: Float32[2, 1] = [3, 8]
        const %s: Float32[2] = [3, 4]                 const %b: Float32[2] = [5, 6]
        const %t: Float32[2] = [5, 6]                 %b: Float32[8, 2] = Linear(%x, %w, %b)
        %y: Float32[8, 2] = Linear(%x, %w)
        %a: Float32[8, 2] = Binary(%y, %s) kind=Mul
        %b: Float32[8, 2] = Binary(%a, %t) kind=Add

    The channels are the last axis, so this runs after ``choose_layout``.
    """
    folder = _Folder(graph)
    for node in folder.r.walk():
        if not folder.behind(node):
            new = folder.r.copy(node)
            if parameters_of(folder.r, new) is not None:
                folder.in_front(node)
    return folder.r.finish()
