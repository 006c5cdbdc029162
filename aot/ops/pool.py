# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pooling. One-dimensional pools are images of height 1."""

from ...serialization import schema
from ...serialization.schema import AdaptivePoolKind, DType, Padding2D, ReduceKind, Size2D
from .image import from_nhwc, size2d, to_nhwc
from .registry import op


def _apply(c, attributes, x, spatial, out):
    """``attributes`` on [C, ...] or [N, C, ...], whose result has the shape ``out``."""
    batched = x.rank == spatial + 2
    c.require(batched or x.rank == spatial + 1, f"a pool of rank {x.rank}")
    if not batched:
        x, out = c.reshape(x, (1, *x.shape)), (1, *out)
    batch, channels, *size = out
    image = (batch, *[1] * (2 - spatial), *size, channels)
    y = from_nhwc(c, c.node(attributes, to_nhwc(c, x), shape=image), spatial)
    return y if batched else c.reshape(y, y.shape[1:])


def _windows(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode):
    """Kernel, stride and padding; ``ceil_mode`` becomes padding at the bottom and right."""
    kernel = size2d(kernel_size, spatial, 1)
    stride = size2d(stride, spatial, 1) if stride else kernel
    before = size2d(padding, spatial, 0)
    dilation = size2d(dilation, spatial, 1)
    after = list(before)
    if ceil_mode:
        for axis in range(2 - spatial, 2):
            size = c.require_static(x.shape[axis - 2], "ceil_mode with a size")
            out = c.out.shape[axis - 2]
            window = dilation[axis] * (kernel[axis] - 1) + 1
            last = (out - 1) * stride[axis] + window
            after[axis] = max(0, last - size - before[axis])
    padding = Padding2D(before.height, after[1], after[0], before.width)
    return kernel, stride, padding, dilation


def _avg_pool(
    c, x, spatial, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None
):
    c.require(divisor_override is None or divisor_override > 0, "a negative divisor")
    kernel, stride, padded, _ = _windows(
        c, x, spatial, kernel_size, stride, padding, 1, ceil_mode
    )
    counted = Padding2D(0, 0, 0, 0)
    if count_include_pad:
        limit = size2d(padding, spatial, 0)
        counted = Padding2D(
            padded.top, min(padded.right, limit.width), min(padded.bottom, limit.height), padded.left
        )
    attributes = schema.AvgPool2d(
        kernel=kernel,
        stride=stride,
        padding=padded,
        padding_counted=counted,
        divisor_override=divisor_override or 0,
    )
    return _apply(c, attributes, x, spatial, c.out.shape)


@op("aten.avg_pool2d.default")
def avg_pool2d(
    c, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
):
    return _avg_pool(
        c, self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


@op("aten.avg_pool1d.default", preserve=True)
def avg_pool1d(c, self, kernel_size, stride, padding, ceil_mode, count_include_pad):
    return _avg_pool(c, self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _max_pool(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode):
    kernel, stride, padding, dilation = _windows(
        c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode
    )
    attributes = schema.MaxPool2d(kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    return _apply(c, attributes, x, spatial, c.out.shape)


@op("aten.max_pool2d.default", preserve=True)
def max_pool2d(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    return _max_pool(c, self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@op("aten.max_pool1d.default", preserve=True)
def max_pool1d(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    return _max_pool(c, self, 1, kernel_size, stride, padding, dilation, ceil_mode)


def _require_values_only(c, x):
    c.require(x.dtype == DType.Float32, f"an operand of type {x.dtype.name}")
    c.require(1 not in c.used_outputs(), "the indices of a max pool")


@op("aten.max_pool2d_with_indices.default", dtypes=(DType.Float32, DType.Int64))
def max_pool2d_with_indices(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    _require_values_only(c, self)
    return _max_pool(c, self, 2, kernel_size, stride, padding, dilation, ceil_mode), None


def _adaptive_pool(c, x, spatial, kind, output_size, out):
    for size in output_size:
        c.require_static(size, "an output size")
    output = size2d(output_size, spatial, 1)
    image = [1] * (2 - spatial) + list(x.shape[-spatial:])
    if kind == AdaptivePoolKind.Average and output == Size2D(1, 1):
        axes = tuple(range(x.rank - spatial, x.rank))
        attributes = schema.Reduce(kind=ReduceKind.Mean, axes=axes, keep_dims=True)
        return c.node(attributes, x, shape=out)
    if all(isinstance(i, int) and o > 0 and i % o == 0 for i, o in zip(image, output)):
        window = Size2D(*(i // o for i, o in zip(image, output)))
        none = Padding2D(0, 0, 0, 0)
        if kind == AdaptivePoolKind.Average:
            attributes = schema.AvgPool2d(
                kernel=window, stride=window, padding=none, padding_counted=none
            )
        else:
            attributes = schema.MaxPool2d(
                kernel=window, stride=window, padding=none, dilation=Size2D(1, 1)
            )
    else:
        attributes = schema.AdaptivePool2d(kind=kind, output=output)
    return _apply(c, attributes, x, spatial, out)


@op("aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default", preserve=True)
def adaptive_avg_pool2d(c, self, output_size):
    return _adaptive_pool(c, self, 2, AdaptivePoolKind.Average, output_size, c.out.shape)


@op("aten.adaptive_avg_pool1d.default", preserve=True)
def adaptive_avg_pool1d(c, self, output_size):
    return _adaptive_pool(c, self, 1, AdaptivePoolKind.Average, output_size, c.out.shape)


@op("aten.adaptive_max_pool2d.default", dtypes=(DType.Float32, DType.Int64))
def adaptive_max_pool2d(c, self, output_size):
    _require_values_only(c, self)
    return _adaptive_pool(c, self, 2, AdaptivePoolKind.Max, output_size, c.out.shape), None
