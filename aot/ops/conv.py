# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Convolutions. One-dimensional ones are images of height 1."""

from ...serialization import schema
from ...serialization.schema import BinaryKind, Padding2D, Size2D
from .image import from_nhwc, size2d, to_nhwc
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


@op("aten.convolution.default")
def convolution(
    c, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    c.require(weight.rank in (3, 4), f"a {weight.rank - 2}-D convolution")
    c.require(input.rank == weight.rank, "a convolution of a single image without batch axis")
    c.require_constant(weight, "a weight")
    spatial = weight.rank - 2
    pad = size2d(padding, spatial, 0)
    attributes = {
        "stride": size2d(stride, spatial, 1),
        "padding": Padding2D(pad.height, pad.width, pad.height, pad.width),
        "dilation": size2d(dilation, spatial, 1),
        "groups": groups,
    }
    if transposed:
        extra = size2d(output_padding, spatial, 0)
        attributes = schema.ConvTranspose2d(output_padding=extra, **attributes)
        weight = _transposed_weight(c, weight, groups)
    else:
        attributes = schema.Conv2d(**attributes)
        weight = _forward_weight(c, weight, groups)
    if spatial == 1:
        weight = c.reshape(weight, (weight.shape[0], 1, *weight.shape[1:]))
    fused = bias if bias is not None and bias.constant is not None else None
    batch, channels, *size = c.out.shape
    image = (batch, *[1] * (2 - spatial), *size, channels)
    y = from_nhwc(c, c.node(attributes, to_nhwc(c, input), weight, fused, shape=image), spatial)
    if bias is None or fused is not None:
        return y
    bias = c.reshape(bias, (*bias.shape, *[1] * spatial))
    return c.node(schema.Binary(kind=BinaryKind.Add), y, bias, shape=y.shape)
