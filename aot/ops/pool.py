# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Pooling. One-dimensional pools are images of height 1; volumes are pooled as images, then in depth."""

import dataclasses

from ...serialization import schema
from ...serialization.schema import AdaptivePoolKind, DType, Padding2D, ReduceKind, Size2D
from .nhwc import from_nhwc, sizes_of, to_nhwc, volume_to_columns, volume_to_images
from .registry import Int8, op
from .shape import expand_to


def _apply(c, attributes, x, spatial, out):
    """``attributes`` on [C, ...] or [N, C, ...], whose result has the shape ``out``."""
    batched = x.rank == spatial + 2
    c.require(batched or x.rank == spatial + 1, f"the input has rank {x.rank}, not {spatial + 1} or {spatial + 2}")
    if not batched:
        x, out = c.reshape(x, (1, *x.shape)), (1, *out)
    batch, channels, *size = out
    image = (batch, *[1] * (2 - spatial), *size, channels)
    y = from_nhwc(c, c.node(attributes, to_nhwc(c, x), shape=image), spatial)
    return y if batched else c.reshape(y, y.shape[1:])


@dataclasses.dataclass(frozen=True)
class _Window:
    """Windows along one axis."""

    kernel: int = 1
    stride: int = 1
    before: int = 0
    after: int = 0
    counted_before: int = 0  #: of an average
    counted_after: int = 0
    dilation: int = 1

    @property
    def is_copy(self) -> bool:
        return self == _Window()


def _windows(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode, counts_padding=False):
    """The windows along each axis; whether ``ceil_mode`` is left to be done: in static images it is padding behind."""
    kernels = sizes_of(kernel_size, spatial)
    strides = sizes_of(stride, spatial) if stride else kernels
    dynamic = ceil_mode and not all(isinstance(size, int) for size in x.shape[-spatial:])
    result = []
    axes = zip(kernels, strides, sizes_of(padding, spatial), sizes_of(dilation, spatial), strict=True)
    for axis, (kernel, stride, before, dilation) in enumerate(axes, -spatial):
        after = before
        if ceil_mode and not dynamic:
            window = dilation * (kernel - 1) + 1
            last = (c.out.shape[axis] - 1) * stride + window
            after = max(0, last - x.shape[axis] - before)
        counted = (before, min(after, before)) if counts_padding else (0, 0)
        result.append(_Window(kernel, stride, before, after, *counted, dilation))
    return result, dynamic


def _averages(height, width, ceil_mode, divisor=0):
    return schema.AvgPool2d(
        kernel=Size2D(height.kernel, width.kernel),
        stride=Size2D(height.stride, width.stride),
        padding=Padding2D(height.before, width.after, height.after, width.before),
        padding_counted=Padding2D(
            height.counted_before, width.counted_after, height.counted_after, width.counted_before
        ),
        divisor_override=divisor,
        ceil_mode=ceil_mode,
    )


def _maxima(height, width, ceil_mode):
    return schema.MaxPool2d(
        kernel=Size2D(height.kernel, width.kernel),
        stride=Size2D(height.stride, width.stride),
        padding=Padding2D(height.before, width.after, height.after, width.before),
        dilation=Size2D(height.dilation, width.dilation),
        ceil_mode=ceil_mode,
    )


def _apply_to_volume(c, images, columns, x, out):
    """``images`` on height and width, then ``columns`` on the depth of [C, D, H, W] or [N, C, D, H, W]."""
    batched = x.rank == 5
    c.require(batched or x.rank == 4, f"the input has rank {x.rank}, not 4 or 5")
    if not batched:
        x, out = c.reshape(x, (1, *x.shape)), (1, *out)
    batch, channels, depth, height, width = out
    x = c.nhwc(x)
    inner = x.shape[1]
    x = volume_to_images(c, x)
    x = c.node(images, x, shape=(x.shape[0], height, width, channels))
    if columns is not None:
        x = volume_to_columns(c, x, batch, inner)
        x = c.node(columns, x, shape=(batch, depth, height * width, channels))
    y = c.nchw(c.reshape(x, (batch, depth, height, width, channels)))
    return y if batched else c.reshape(y, y.shape[1:])


def _avg_pool(c, x, spatial, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    c.require(divisor_override is None or divisor_override > 0, "divisor_override must be positive")
    divisor = divisor_override or 0
    windows, ceil = _windows(c, x, spatial, kernel_size, stride, padding, 1, ceil_mode, bool(count_include_pad))
    if spatial < 3:
        height, width = [_Window()] * (2 - spatial) + windows
        return _apply(c, _averages(height, width, ceil, divisor), x, spatial, c.out.shape)
    depth, height, width = windows
    if depth.is_copy:
        return _apply_to_volume(c, _averages(height, width, ceil, divisor), None, x, c.out.shape)
    images = _averages(height, width, ceil, 1 if divisor else 0)
    return _apply_to_volume(c, images, _averages(depth, _Window(), ceil, divisor), x, c.out.shape)


@op("aten.avg_pool2d.default", int8=Int8.OWN)
def avg_pool2d(c, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return _avg_pool(c, self, 2, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op("aten.avg_pool3d.default")
def avg_pool3d(c, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    return _avg_pool(c, self, 3, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op("aten.avg_pool1d.default", preserve=True, int8=Int8.OWN)
def avg_pool1d(c, self, kernel_size, stride, padding, ceil_mode, count_include_pad):
    return _avg_pool(c, self, 1, kernel_size, stride, padding, ceil_mode, count_include_pad)


def _max_pool(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode):
    windows, ceil = _windows(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode)
    if spatial < 3:
        height, width = [_Window()] * (2 - spatial) + windows
        return _apply(c, _maxima(height, width, ceil), x, spatial, c.out.shape)
    depth, height, width = windows
    columns = None if depth.is_copy else _maxima(depth, _Window(), ceil)
    return _apply_to_volume(c, _maxima(height, width, ceil), columns, x, c.out.shape)


def _with_indices(c, attributes, x, spatial):
    """[values, indices] of ``attributes`` on [C, ...] or [N, C, ...]."""
    batched = x.rank == spatial + 2
    c.require(batched or x.rank == spatial + 1, f"the input has rank {x.rank}, not {spatial + 1} or {spatial + 2}")
    shape = x.shape if batched else (1, *x.shape)
    one = [1] * (3 - spatial)
    x = c.nhwc(c.reshape(x, (*shape[:2], *one, *shape[2:])))
    out = c.out.shape if batched else (1, *c.out.shape)
    volume = (out[0], *one, *out[2:], out[1])
    results = c.multi_node(attributes, x, outputs=[(DType.Float32, volume), (DType.Int64, volume)])
    return [c.reshape(c.nchw(y), c.out.shape) for y in results]


def _max_pool_with_indices(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode):
    c.require(x.dtype == DType.Float32, f"the operand has type {x.dtype.name}, not Float32")
    if 1 not in c.used_outputs():
        return _max_pool(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode), None
    windows, ceil = _windows(c, x, spatial, kernel_size, stride, padding, dilation, ceil_mode)
    windows = [_Window()] * (3 - spatial) + windows
    attributes = schema.MaxPoolIndices(
        kernel=tuple(w.kernel for w in windows),
        stride=tuple(w.stride for w in windows),
        before=tuple(w.before for w in windows),
        after=tuple(w.after for w in windows),
        dilation=tuple(w.dilation for w in windows),
        ceil_mode=ceil,
    )
    return _with_indices(c, attributes, x, spatial)


@op("aten.max_pool2d.default", preserve=True, int8=Int8.SAME)
def max_pool2d(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    return _max_pool(c, self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@op("aten.max_pool1d.default", preserve=True, int8=Int8.SAME)
def max_pool1d(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    return _max_pool(c, self, 1, kernel_size, stride, padding, dilation, ceil_mode)


_INDICES = (DType.Float32, DType.Int64)


@op("aten.max_pool2d_with_indices.default", dtypes=_INDICES)
def max_pool2d_with_indices(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    return _max_pool_with_indices(c, self, 2, kernel_size, stride, padding, dilation, ceil_mode)


@op("aten.max_pool3d_with_indices.default", dtypes=_INDICES)
def max_pool3d_with_indices(c, self, kernel_size, stride, padding, dilation, ceil_mode):
    return _max_pool_with_indices(c, self, 3, kernel_size, stride, padding, dilation, ceil_mode)


def _adaptive(kind, sizes, output):
    """The operator that gives an image of ``sizes`` the size ``output``."""
    if not all(isinstance(o, int) for o in output):
        return schema.AdaptivePool2d(kind=kind, shape=output)
    if all(isinstance(i, int) and o > 0 and i % o == 0 for i, o in zip(sizes, output, strict=True)):
        windows = [_Window(kernel=i // o, stride=i // o) for i, o in zip(sizes, output, strict=True)]
        if all(w.kernel > 0 for w in windows):
            return (_averages if kind == AdaptivePoolKind.Average else _maxima)(*windows, ceil_mode=False)
    return schema.AdaptivePool2d(kind=kind, output=Size2D(*output))


def _adaptive_pool(c, x, spatial, kind, output_size, out):
    if spatial == 3:  # whose second step takes no image without elements, which sizes that are not known may be
        for size in output_size:
            c.require_static(size, "the output size of a volume")
    output = tuple(out[-spatial:])
    if 0 in output:  # AdaptivePool2d takes no image without elements, as the second step of a volume would have
        return expand_to(c, c.operand(0, x.dtype), out)
    if kind == AdaptivePoolKind.Average and all(size == 1 for size in output):
        axes = tuple(range(x.rank - spatial, x.rank))
        attributes = schema.Reduce(kind=ReduceKind.Mean, axes=axes, keep_dims=True)
        return c.node(attributes, x, shape=out)
    sizes = list(x.shape[-spatial:])
    if spatial < 3:
        one = [1] * (2 - spatial)
        return _apply(c, _adaptive(kind, one + sizes, (*one, *output)), x, spatial, out)
    images = _adaptive(kind, sizes[1:], output[1:])
    area = output[1] * output[2]
    columns = None
    if sizes[0] != output[0]:
        columns = _adaptive(kind, (sizes[0], area), (output[0], area))
    return _apply_to_volume(c, images, columns, x, out)


def _adaptive_max_pool(c, x, spatial, output_size):
    c.require(x.dtype == DType.Float32, f"the operand has type {x.dtype.name}, not Float32")
    if 1 not in c.used_outputs():
        return _adaptive_pool(c, x, spatial, AdaptivePoolKind.Max, output_size, c.out.shape), None
    for size in output_size:
        c.require_static(size, "the output size")
    output = (*[1] * (3 - spatial), *sizes_of(output_size, spatial))
    return _with_indices(c, schema.MaxPoolIndices(output=output), x, spatial)


@op("aten.adaptive_avg_pool2d.default", "aten._adaptive_avg_pool2d.default", preserve=True, int8=Int8.OWN)
def adaptive_avg_pool2d(c, self, output_size):
    return _adaptive_pool(c, self, 2, AdaptivePoolKind.Average, output_size, c.out.shape)


@op("aten.adaptive_avg_pool3d.default", "aten._adaptive_avg_pool3d.default", preserve=True)
def adaptive_avg_pool3d(c, self, output_size):
    return _adaptive_pool(c, self, 3, AdaptivePoolKind.Average, output_size, c.out.shape)


@op("aten.adaptive_avg_pool1d.default", preserve=True, int8=Int8.OWN)
def adaptive_avg_pool1d(c, self, output_size):
    return _adaptive_pool(c, self, 1, AdaptivePoolKind.Average, output_size, c.out.shape)


@op("aten.adaptive_max_pool1d.default", dtypes=_INDICES)
def adaptive_max_pool1d(c, self, output_size):
    return _adaptive_max_pool(c, self, 1, output_size)


@op("aten.adaptive_max_pool2d.default", dtypes=_INDICES)
def adaptive_max_pool2d(c, self, output_size):
    return _adaptive_max_pool(c, self, 2, output_size)


@op("aten.adaptive_max_pool3d.default", dtypes=_INDICES)
def adaptive_max_pool3d(c, self, output_size):
    return _adaptive_max_pool(c, self, 3, output_size)
