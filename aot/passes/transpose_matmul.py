# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

import numpy as np

from ...serialization import schema
from ..ir import Graph, Node, Rewriter, Value, rewrite


def _transposed_operand(r: Rewriter, node: Node) -> Value | None:
    """Flips ``transpose_b`` where the second operand gets a cheaper or no transpose by it."""
    a, b = (r[i] for i in node.inputs)
    transpose = r.producer(b, schema.Transpose)
    if transpose is None:
        return None
    *leading, rows, columns = transpose.attributes.perm
    if rows != b.rank - 1:  # rows of contiguous elements are cheap to move
        return None
    perm = (*leading, columns, rows)
    x = r.values[transpose.inputs[0]]
    if perm != tuple(range(b.rank)):
        x = r.transpose(x, perm)
    flipped = dataclasses.replace(node.attributes, transpose_b=not node.attributes.transpose_b)
    return r.node(flipped, a, x, shape=r.graph.values[node.outputs[0]].shape)


def _one_matrix(array: np.ndarray) -> np.ndarray | None:
    """The matrix that every batch of a constant holds."""
    if array.ndim < 2 or array.size == 0:
        return None
    batches = array.reshape(-1, *array.shape[-2:])
    if len(batches) > 1 and array.strides[:-2].count(0) < array.ndim - 2:
        if not (batches == batches[:1]).all():
            return None
    return batches[0]


def _weight(r: Rewriter, node: Node) -> Value | None:
    """A Linear where the second operand is one constant matrix."""
    a, b = (r[i] for i in node.inputs)
    expand = r.producer(b, schema.Expand)
    if expand is not None and r.values[expand.inputs[0]].shape[-2:] == b.shape[-2:]:  # only repeats the matrix
        b = r.values[expand.inputs[0]]
    matrix = None if b.constant is None or b.quantization is not None else _one_matrix(b.array)
    if matrix is None or a.rank < 2:
        return None
    weight = r.constant(matrix if node.attributes.transpose_b else matrix.T, b.name)
    return r.node(schema.Linear(), a, weight, shape=r.graph.values[node.outputs[0]].shape)


def _product(r: Rewriter, node: Node) -> Value | None:
    if not node.is_a(schema.BatchMatMul):
        return None
    return _weight(r, node) or _transposed_operand(r, node)


def transpose_matmul(graph: Graph) -> Graph:
    """Takes transposes and constants into matrix products.

    ::

        %t: Float32[2, 4, 5] = Transpose(%b) perm=(0, 2, 1)
        %y: Float32[2, 3, 5] = BatchMatMul(%a, %t)
        %z: Float32[2, 3, 7] = BatchMatMul(%y, %c)            // const %c: Float32[1, 5, 7]

    becomes::

        %y: Float32[2, 3, 5] = BatchMatMul(%a, %b) transpose_b=True
        %z: Float32[2, 3, 7] = Linear(%y, %w)                 // const %w: Float32[7, 5]
    """
    return rewrite(graph, _product)
