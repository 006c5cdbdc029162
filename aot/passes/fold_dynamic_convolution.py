# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

import numpy as np

from ...serialization import schema
from ..ir import Graph, Node, Quantization, Rewriter, Value, rewrite
from ..traits import traits_of
from .fold_quantization import problem_of
from .fold_quantized_linear import dynamic_source


def fold_dynamic_convolution(graph: Graph) -> Graph:
    """Lets a convolution with integer weights quantize its images itself, when it runs.

    ::

        %s: Float32[], %z: Int32[] = ChooseQParams(%x) axes=4 min=-128 max=127
        %q: Int8[1, 8, 8, 4] = Quantize(%x, %s, %z) dtype=Int8 min=-128 max=127
        %d: Float32[1, 8, 8, 4] = Dequantize(%q, %s, %z)
        %y: Float32[1, 8, 8, 6] = Conv2d(%d, %w)

    becomes::

        %y: Float32[1, 8, 8, 6] = Conv2d(%x, %w) dynamic_quantization=True
    """
    return rewrite(graph, _convolution)


def _convolution(r: Rewriter, node: Node) -> Value | None:
    if not node.is_a(schema.Conv2d, schema.ConvTranspose2d):
        return None
    x, weight, *bias = (r[i] for i in node.inputs)
    weight = _by_channel(r, weight)
    if weight is None or any(b is not None and (b.constant is None or b.quantization is not None) for b in bias):
        return None
    moves = []
    moved = x
    while (producer := r.producer(moved)) is not None and traits_of(producer.attributes).rearranges:
        moves.append(producer)
        moved = r.values[producer.inputs[0]]
    keeps_images = all(_keeps_images(r, move) for move in moves)
    source = dynamic_source(r, moved, lambda axes, rank: axes == rank or (axes == rank - 1 and keeps_images))
    if source is None:
        return None
    for move in reversed(moves):
        source = r.node(move.attributes, source, shape=r.values[move.outputs[0]].shape)
    attributes = dataclasses.replace(node.attributes, dynamic_quantization=True)
    return r.node(attributes, source, weight, *bias, shape=r.graph.values[node.outputs[0]].shape)


def _keeps_images(r: Rewriter, move: Node) -> bool:
    """Whether what lies at an index of the first axis lies there afterwards, too."""
    if move.is_a(schema.Transpose):
        return move.attributes.perm[0] == 0
    before, after = (r.values[name].shape for name in (move.inputs[0], move.outputs[0]))
    return move.is_a(schema.Reshape) and before[:1] == after[:1]


def _by_channel(r: Rewriter, weight: Value) -> Value | None:
    """A weight of integers, with a scale for each output channel where it has one for all; None if it is no such."""
    q = weight.quantization
    if weight.constant is None or q is None or problem_of(q, weight.shape) is not None:
        return None
    if not q.is_per_tensor or weight.shape[0] == 1:
        return weight
    shape = (weight.shape[0], 1, 1, 1)
    parameters = (np.full(shape, p.item(), p.dtype) for p in (q.scale, q.zero_point))
    return r.constant(weight.constant.array, weight.name, Quantization(q.dtype, *parameters))
