# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import math
from collections.abc import Callable

import numpy as np

from ...serialization import schema
from ...serialization.arrays import convert
from ...serialization.schema import BinaryKind, DType, QParamsKind, ReduceKind
from ..ir import Graph, Node, Rewriter, Value, rewrite
from .fold_quantization import has_blocks

_OFFSET = 128  # that torchao adds to make signed integers unsigned
_MAX_BATCHES = 64


def fold_quantized_linear(graph: Graph) -> Graph:
    """Lets a product with integer weights read these as they are, and round its rows itself.

    ::

        %s: Float32[4, 1], %z: Int32[4, 1] = ChooseQParams(%x) axes=1 min=-128 max=127
        %q: Int8[4, 64] = Quantize(%x, %s, %z) dtype=Int8 min=-128 max=127
        %d: Float32[4, 64] = Dequantize(%q, %s, %z)
        %v: Float32[8, 64] = Dequantize(%w, %scale, %zero)
        %y: Float32[4, 8] = Linear(%d, %v)

    becomes::

        %y: Float32[4, 8] = QuantizedLinear(%x, %w, %scale) dynamic_quantization=True
    """
    return rewrite(graph, _folded)


def _folded(r: Rewriter, node: Node) -> Value | None:
    rule = _FOLDS.get(type(node.attributes))
    return None if rule is None else rule(r, node)


def _operands(r: Rewriter, node: Node) -> list[Value | None]:
    return [None if i is None else r.values[i] for i in node.inputs]


def _unreshaped(r: Rewriter, x: Value) -> Value:
    while (node := r.producer(x, schema.Reshape)) is not None:
        x = r.values[node.inputs[0]]
    return x


def _is_one(x: Value) -> bool:
    """Whether ``x`` has one element."""
    return all(n == 1 for n in x.shape)


def _linear(r: Rewriter, node: Node) -> Value | None:
    x, weight, *bias = (r[i] for i in node.inputs)
    found = _integers(r, weight)
    if found is None or _is_static(r, x):
        return None
    q, scale, zero_point = found
    if q.ndim != 2:
        return None
    parameters = [np.broadcast_to(p, (1, 1)) if p.ndim == 0 else p for p in (scale, zero_point)]
    columns = q.shape[0]
    if parameters[0].shape[0] not in (1, columns):
        return None
    scales, zeros = (np.broadcast_to(p, (columns, p.shape[1])) for p in parameters)
    source = dynamic_source(r, x, _whole_rows)
    clamp = node.attributes.clamp
    return _node(r, source or x, q, scales, zeros, *(bias or [None]), source is not None, clamp)


def _batch_matmul(r: Rewriter, node: Node) -> Value | None:
    """A product of each matrix of ``x`` with one of integers."""
    x, weight = (r[i] for i in node.inputs)
    found = _integers(r, weight)
    if found is None or _is_static(r, x):
        return None
    q = found[0]
    leading, columns = q.shape[:-2], q.shape[-2 if node.attributes.transpose_b else -1]
    batches = math.prod(leading)
    if not 0 < batches <= _MAX_BATCHES or not q.size or q.ndim != x.rank or x.shape[:-2] != leading:
        return None

    if any(has_blocks(p, (*leading, *p.shape[-2:])) for p in found[1:]):
        return None  # a number for several matrices

    def matrices(array):
        array = array if array.ndim else array.reshape(1, 1)
        array = np.broadcast_to(array, leading + array.shape[-2:]).reshape(batches, *array.shape[-2:])
        return array if node.attributes.transpose_b else array.swapaxes(1, 2)  # [B, N, K]

    integers, scales, zeros = (matrices(a) for a in found)
    if scales.shape[2] != 1 or scales.shape[1] not in (1, columns) or zeros.shape != scales.shape:
        return None
    source = dynamic_source(r, x, _whole_rows)
    dynamic_quantization, x = source is not None, source or x
    rows = r.reshape(x, (batches, *x.shape[-2:]))
    products = []
    for batch in range(batches):
        at = schema.Slice(axis=0, start=batch, size=1)
        row = r.node(at, rows, shape=(1, *rows.shape[1:])) if batches > 1 else rows
        by_column = [np.broadcast_to(a[batch], (columns, 1)) for a in (scales, zeros)]
        y = _node(r, row, integers[batch], *by_column, None, dynamic_quantization, None)
        if y is None:
            return None
        products.append(y)
    shape = r.graph.values[node.outputs[0]].shape
    together = (batches, *shape[-2:])
    y = r.node(schema.Concat(axis=0), *products, shape=together) if batches > 1 else products[0]
    return r.reshape(y, shape)


def _integers(r: Rewriter, weight: Value) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Signed integers, scale and zero point of a constant that is quantized to 8 bits."""
    if weight.quantization is not None and weight.constant is not None:
        q, scale, zero = weight.constant.array, weight.quantization.scale, weight.quantization.zero_point
    else:
        widened = r.producer(weight, schema.Dequantize)
        operands = [] if widened is None else _operands(r, widened)
        if not operands or any(v.constant is None for v in operands):
            return None
        q, scale, zero = (v.array for v in operands)
    if q.dtype not in (np.int8, np.uint8):
        return None
    offset = _OFFSET if q.dtype == np.uint8 else 0
    signed = (q.astype(np.int16) - offset).astype(np.int8) if offset else q
    return signed, scale.astype(np.float32), zero.astype(np.int32) - offset


def _whole_rows(axes: int, rank: int) -> bool:
    return axes >= 1


def _is_static(r: Rewriter, x: Value) -> bool:
    """Whether ``x`` has parameters that are constants: ``fold_quantization`` computes with its integers."""
    widened = r.producer(_unreshaped(r, x), schema.Dequantize)
    return widened is not None and all(r.values[i].constant is not None for i in widened.inputs[1:])


def _node(r, x, integers, scales, zeros, bias, dynamic_quantization, clamp) -> Value | None:
    """The product with weights (integers - zeros) * scales; None if there is no operator for it."""
    depth, groups = integers.shape[1], scales.shape[1]
    if not np.all(np.isfinite(scales)) or depth == 0:
        return None
    is_4bit = depth // groups % 2 == 0 and integers.size and integers.min() >= -8 and integers.max() <= 7
    if is_4bit and dynamic_quantization and groups > 1 and not _are_scales_of_groups(scales):
        is_4bit = False
    if is_4bit:
        nibbles = (integers + 8).astype(np.uint8)
        weight = r.constant(nibbles[:, ::2] | nibbles[:, 1::2] << 4)
    else:
        weight = r.constant(integers.astype(np.int8))
    offsets = (zeros * scales).astype(np.float32)
    apart = dynamic_quantization and zeros.any()  # faster, see _without_offsets
    operands = [x, weight, r.constant(np.ascontiguousarray(scales, np.float32)), bias]
    if zeros.any() and not apart:
        operands.append(r.constant(np.ascontiguousarray(zeros, np.int32)))
    attributes = schema.QuantizedLinear(
        bits=4 if is_4bit else 8, dynamic_quantization=dynamic_quantization, clamp=None if apart else clamp
    )
    shape = (*x.shape[:-1], integers.shape[0])
    y = r.node(attributes, *operands, shape=shape)
    return _without_offsets(r, y, x, offsets, clamp) if apart else y


def _are_scales_of_groups(scales: np.ndarray) -> bool:
    """Whether XNNPACK takes them for groups of weights of 4 bits, in bfloat16.

    The one limit of XNNPACK that a pass knows: the runtime decides before it reads the numbers of constants, and would
    give XNNPACK such weights. As 8 bits they get our kernel.
    """
    rounded = convert(convert(np.ascontiguousarray(scales, np.float32), DType.BFloat16), DType.Float32)
    return bool(((rounded >= np.finfo(np.float32).tiny) & np.isfinite(rounded)).all())


def _without_offsets(r: Rewriter, y: Value, x: Value, offsets: np.ndarray, clamp) -> Value:
    """y less what the zero points of the weights add to it: the sums of groups of x times ``offsets``.

    So XNNPACK computes the product of integers, which has no zero points for weights. With 1024 x 1024 weights of
    4 bits in groups of 32 that takes 17 us instead of 83 us for one row, 1.5 ms instead of 2.8 ms for 128 rows, on one
    thread with AVX-512.
    """
    groups = offsets.shape[1]
    leading = x.shape[:-1]
    x = r.reshape(x, (*leading, groups, x.shape[-1] // groups))
    sums = schema.Reduce(kind=ReduceKind.Sum, axes=(x.rank - 1,))
    sums = r.node(sums, x, shape=(*leading, groups))
    added = r.node(schema.Linear(), sums, r.constant(np.ascontiguousarray(-offsets)), None, shape=y.shape)
    return r.node(schema.Binary(kind=BinaryKind.Add, clamp=clamp), y, added, shape=y.shape)


def dynamic_source(r: Rewriter, x: Value, fits: Callable[[int, int], bool]) -> Value | None:
    """The value that was rounded to 8 bits to give ``x``, with parameters for so many last axes of so many that fit."""
    widened = r.producer(x, schema.Dequantize)
    rounded = None if widened is None else r.producer(r.values[widened.inputs[0]], schema.Quantize)
    if rounded is None or rounded.inputs[1:] != widened.inputs[1:]:
        return None
    return _source_of(r, rounded, fits)


def _source_of(r: Rewriter, rounded: Node, fits: Callable[[int, int], bool]) -> Value | None:
    """The operand of a Quantize to all of Int8 with parameters that were chosen for just what they are used for."""
    a = rounded.attributes
    source, scale, zero_point = _operands(r, rounded)
    chosen = r.producer(_unreshaped(r, scale), schema.ChooseQParams)
    if (a.dtype, a.min, a.max) != (DType.Int8, -128, 127) or chosen is None:
        return None
    zero = _unreshaped(r, zero_point)
    is_zero = zero.constant is not None and not zero.array.any() and _is_symmetric(r, scale)
    if not (is_zero or zero.name == chosen.outputs[1]) or r.values[chosen.inputs[0]].name != source.name:
        return None
    by_part = r.values[chosen.outputs[0]].shape
    placed = [scale] if is_zero else [scale, zero_point]
    if (chosen.attributes.min, chosen.attributes.max) != (a.min, a.max):
        return None
    if not all(p.shape == by_part or _is_one(p) for p in placed):
        return None
    return source if fits(chosen.attributes.axes, source.rank) else None


def _is_symmetric(r: Rewriter, scale: Value) -> bool:
    """Whether the scale was chosen for a zero point of 0; by another one that clips numbers."""
    chosen = r.producer(_unreshaped(r, scale), schema.ChooseQParams)
    return chosen is not None and chosen.attributes.kind == QParamsKind.Symmetric


# Written out ------------------------------------------------------------------------------


def _binary(r: Rewriter, node: Node) -> Value | None:
    a, b = (r[i] for i in node.inputs)
    if a.constant is not None:
        a, b = b, a
    if node.attributes.kind == BinaryKind.Mul and node.attributes.clamp is None:
        return _scaled(r, a, b)
    if node.attributes.kind == BinaryKind.Add:
        return _biased(r, node, a, b)
    return None


def _vector(b: Value, size) -> np.ndarray | None:
    """The constant that scales or shifts each column."""
    fits = b.constant is not None and b.dtype == DType.Float32 and b.array.size in (1, size)
    if not fits or any(d != 1 for d in b.shape[:-1]):
        return None
    return np.broadcast_to(b.array.reshape(-1), (size,))


def _scaled(r: Rewriter, a: Value, b: Value) -> Value | None:
    """``Linear(x, integers) * scale``, perhaps with a Reshape between, or that with rows of integers, scaled, too."""
    if a.rank == 0 or b.rank > a.rank or not isinstance(a.shape[-1], int):
        return None
    scale = _vector(b, a.shape[-1])
    if scale is None:
        return None
    before = _unreshaped(r, a)
    product = r.producer(before, schema.Linear) if before.shape[-1:] == a.shape[-1:] else None
    if product is None:
        found = _integer_product(r, a)
        if found is None:
            return None
        x, integers = found
    else:
        x, weight, *bias = _operands(r, product)
        if product.attributes.clamp is not None or any(bias) or weight.constant is None:
            return None
        integers = weight.array
    if integers.dtype != np.float32 or not integers.size or not np.array_equal(integers, np.rint(integers)):
        return None
    if integers.min() < -128 or integers.max() > 127:
        return None
    scales = scale[:, None]
    dynamic_quantization = product is None
    zeros = np.zeros(scales.shape, np.int32)
    y = _node(r, x, integers.astype(np.int32), scales, zeros, None, dynamic_quantization, None)
    return y if y is None or y.shape == a.shape else r.reshape(y, a.shape)


def _integer_product(r: Rewriter, a: Value) -> tuple[Value, np.ndarray] | None:
    """x and weights where ``a`` is their product, x rounded by rows to integers with a scale of each row.

    torchao writes int_mm(q, w) * scale, before 0.18 (int_mm(q + 128, w) - 128 * sum(w)) * scale.
    """
    scaled = r.producer(a, schema.Binary)
    if scaled is None or scaled.attributes.kind != BinaryKind.Mul:
        return None
    integer, scale = _operands(r, scaled)
    cast = r.producer(integer, schema.Cast)
    if cast is None:
        return None
    product, correction = r.values[cast.inputs[0]], None
    difference = r.producer(product, schema.Binary)
    if difference is not None and difference.attributes.kind == BinaryKind.Sub:
        product, correction = _operands(r, difference)
    found = _integer_sum(r, product)
    if found is None:
        return None
    q, weight = found
    shape = q.shape
    if correction is None:
        q = _unreshaped(r, q)
    else:
        expected = _OFFSET * weight.astype(np.int64).sum(1)
        if correction.constant is None or not np.array_equal(correction.array.reshape(-1), expected):
            return None
        q = _unshifted(r, q)
    rounded = None if q is None else r.producer(q, schema.Quantize)
    if rounded is None or q.shape[-1] != shape[-1] or not (scale.shape == (*integer.shape[:-1], 1) or _is_one(scale)):
        return None  # other rows
    if _unreshaped(r, scale).name != _unreshaped(r, r.values[rounded.inputs[1]]).name:
        return None
    if not _is_symmetric(r, scale):
        return None  # there is a zero point, which the program takes off afterwards
    source = _source_of(r, rounded, _whole_rows)
    return None if source is None else (r.reshape(source, shape), weight)


def _integer_sum(r: Rewriter, total: Value) -> tuple[Value, np.ndarray] | None:
    """Integers and weights whose product ``total`` is, a sum of products of as many columns as float32 adds exactly."""
    waiting, source, weights = [total], None, []
    while waiting:
        part = waiting.pop()
        both = r.producer(part, schema.Binary)
        if both is not None:
            if both.attributes.kind != BinaryKind.Add or both.attributes.clamp is not None:
                return None
            waiting += reversed(_operands(r, both))
            continue
        back = r.producer(part, schema.Cast)
        linear = None if back is None else r.producer(r.values[back.inputs[0]], schema.Linear)
        if linear is None or linear.attributes.clamp is not None:
            return None
        widened, weight, *bias = _operands(r, linear)
        cast = r.producer(widened, schema.Cast)
        if cast is None or any(bias) or weight.constant is None:
            return None
        x = r.values[cast.inputs[0]]
        cut = r.producer(x, schema.Slice)
        if cut is not None:
            a, begin = cut.attributes, sum(w.shape[1] for w in weights)
            if (a.axis, a.start, a.size, a.step) != (x.rank - 1, begin, weight.shape[1], 1):
                return None
            x = r.values[cut.inputs[0]]
        if source is not None and x.name != source.name:
            return None
        source = x
        weights.append(weight.array)
    weight = np.concatenate(weights, axis=1)
    return (source, weight) if weight.shape[1] == source.shape[-1] else None


def _unshifted(r: Rewriter, x: Value) -> Value | None:
    """q where x is UInt8(Int32(q) + 128), perhaps with other sizes."""
    cast = r.producer(x, schema.Cast)
    total = None if cast is None or x.dtype != DType.UInt8 else r.producer(r.values[cast.inputs[0]], schema.Binary)
    if total is None or total.attributes.kind != BinaryKind.Add:
        return None
    x, offset = _operands(r, total)
    if offset.constant is None or offset.array.size != 1 or int(offset.array.reshape(-1)[0]) != _OFFSET:
        return None
    cast = r.producer(x, schema.Cast)
    return None if cast is None else _unreshaped(r, r.values[cast.inputs[0]])


def _biased(r: Rewriter, node: Node, a: Value, b: Value) -> Value | None:
    """A product that adds the bias itself, also if there is a Reshape between."""
    product = r.producer(_unreshaped(r, a), schema.QuantizedLinear)
    if product is None or a.rank == 0 or product.attributes.clamp is not None:
        return None
    x, weight, scale, bias, *zero = _operands(r, product)
    if bias is not None or a.shape[-1] != weight.shape[0]:
        return None
    vector = _vector(b, a.shape[-1])
    if vector is None or len(b.shape) > a.rank:
        return None
    vector = r.constant(np.ascontiguousarray(vector))
    attributes = dataclasses.replace(product.attributes, clamp=node.attributes.clamp)
    shape = r.values[product.outputs[0]].shape
    y = r.node(attributes, x, weight, scale, vector, *zero, shape=shape)
    return y if y.shape == a.shape else r.reshape(y, a.shape)


_FOLDS = {schema.Linear: _linear, schema.BatchMatMul: _batch_matmul, schema.Binary: _binary}
