# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions. One-dimensional ones are images of height 1; volumes become images with more channels."""

from ...serialization import schema
from ...serialization.schema import BinaryKind, Padding2D
from ..ir import dims
from .nhwc import from_nhwc, size2d, sizes_of, to_nhwc
from .registry import op


def _forward_weight(c, weight, groups):
    """[O, I / groups, KH, KW] -> [O, KH, KW, I / groups]."""
    return c.nhwc(weight)


def _transposed_weight(c, weight, groups):
    """[groups * I, O, KH, KW] -> [groups * O, KH, KW, I]."""
    inputs, outputs, *kernel = weight.shape
    grouped = c.reshape(weight, (groups, inputs // groups, outputs, *kernel))
    moved = c.transpose(grouped, (0, 2, *range(3, grouped.rank), 1))
    return c.reshape(moved, (groups * outputs, *kernel, inputs // groups))


def _with_zeros_between(c, x, stride):
    """[N, D, ...] -> [N, D * stride, ...], every step of the depth followed by zeros."""
    if stride == 1:
        return x
    batch, depth, *rest = x.shape
    x = c.reshape(x, (batch, depth, 1, *rest))
    after = (0, 0, stride - 1, *[0] * len(rest))
    shape = (batch, depth, stride, *rest)
    x = c.node(schema.Pad(before=(0,) * len(after), after=after), x, shape=shape)
    return c.reshape(x, (batch, depth * stride, *rest))


def _depth_as_channels(c, x, starts, stride, depth, after, groups):
    """[N, D, H, W, groups * I] -> [N * depth, H, W, groups * taps * I].

    The slice of depth ``d`` has, for each tap, what lies at starts[tap] + d * stride, which may be
    up to ``after`` zeros behind the end.
    """
    batch, size, height, width, channels = x.shape
    before = max(0, -min(starts))
    if before or after:
        attributes = schema.Pad(before=(0, before, 0, 0, 0), after=(0, after, 0, 0, 0))
        x = c.node(attributes, x, shape=(batch, size + before + after, height, width, channels))
    parts = []
    shape = (batch, depth, height, width, channels)
    for start in starts:
        attributes = schema.Slice(axis=1, start=start + before, size=depth, step=stride)
        part = c.node(attributes, x, shape=shape)
        image = (batch * depth, height, width)
        parts.append(c.reshape(part, (*image, groups, channels // groups)))
    if len(parts) > 1:
        taken = (*image, groups, len(parts) * (channels // groups))
        parts = [c.node(schema.Concat(axis=4), *parts, shape=taken)]
    return c.reshape(parts[0], (*image, len(starts) * channels))


def _convolve_volume(c, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """A 2-D convolution whose channels are those of all taps along the depth."""
    batch, _, depth, *size = c.out.shape
    taps, x = weight.shape[2], c.nhwc(x)
    if transposed:
        x = _with_zeros_between(c, x, stride[0])
        starts = [padding[0] - tap * dilation[0] for tap in range(taps)]
        inputs, outputs, _, *kernel = weight.shape
        inputs //= groups
        weight = c.reshape(weight, (groups, inputs, outputs, taps, *kernel))
        weight = c.transpose(weight, (0, 2, 4, 5, 3, 1))
        weight = c.reshape(weight, (groups * outputs, *kernel, taps * inputs))
        step = 1
        after = dims.simplify(max(starts) + depth - x.shape[1])
        after = max(0, c.require_static(after, "the depth of a transposed convolution of volumes"))
    else:
        starts = [tap * dilation[0] - padding[0] for tap in range(taps)]
        outputs, inputs, _, *kernel = weight.shape
        weight = c.transpose(weight, (0, 3, 4, 2, 1))
        weight = c.reshape(weight, (outputs, *kernel, taps * inputs))
        step, after = stride[0], padding[0]
    x = _depth_as_channels(c, x, starts, step, depth, after, groups)
    attributes = _attributes(2, stride[1:], padding[1:], dilation[1:], transposed, output_padding[1:], groups)
    y = c.node(attributes, x, weight, bias, shape=(batch * depth, *size, weight.shape[0]))
    return c.nchw(c.reshape(y, (batch, depth, *size, weight.shape[0])))


def _convolve_image(c, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    spatial = weight.rank - 2
    attributes = _attributes(spatial, stride, padding, dilation, transposed, output_padding, groups)
    weight = (_transposed_weight if transposed else _forward_weight)(c, weight, groups)
    if spatial == 1:
        weight = c.reshape(weight, (weight.shape[0], 1, *weight.shape[1:]))
    batch, channels, *size = c.out.shape
    image = (batch, *[1] * (2 - spatial), *size, channels)
    return from_nhwc(c, c.node(attributes, to_nhwc(c, x), weight, bias, shape=image), spatial)


def _attributes(spatial, stride, padding, dilation, transposed, output_padding, groups):
    pad = size2d(padding, spatial, 0)
    attributes = {
        "stride": size2d(stride, spatial, 1),
        "padding": Padding2D(pad.height, pad.width, pad.height, pad.width),
        "dilation": size2d(dilation, spatial, 1),
        "groups": groups,
    }
    if transposed:
        extra = size2d(output_padding, spatial, 0)
        return schema.ConvTranspose2d(output_padding=extra, **attributes)
    return schema.Conv2d(**attributes)


@op("aten.convolution.default", operator=schema.Conv2d)
def convolution(c, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    c.require(weight.rank in (3, 4, 5), f"a {weight.rank - 2}-D convolution is not supported")
    c.require(input.rank == weight.rank, "the input of a convolution needs a batch axis")
    for size in weight.shape:
        c.require_static(size, "each size of the weight")
    spatial = weight.rank - 2
    options = [sizes_of(o, spatial) for o in (stride, padding, dilation, output_padding)]
    stride, padding, dilation, output_padding = options
    fused = bias if bias is not None and bias.constant is not None else None
    convolve = _convolve_volume if spatial == 3 else _convolve_image
    y = convolve(c, input, weight, fused, stride, padding, dilation, transposed, output_padding, groups)
    if bias is None or fused is not None:
        return y
    bias = c.reshape(bias, (*bias.shape, *[1] * spatial))
    return c.node(schema.Binary(kind=BinaryKind.Add), y, bias, shape=y.shape)
