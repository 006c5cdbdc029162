# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of dynamic quantization and of integer weights. Folding rounds rows as finely or finer than eager PyTorch."""

import torch
import torch.nn.functional as F
from executorch.exir.passes import _quant_patterns_and_replacements  # noqa: F401 (registers the operators)
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)
from torchao.quantization import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    MappingType,
    PerAxis,
    PerGroup,
    quantize_,
)

from . import ANY_OPERATOR, BATCH, HEIGHT, LENGTH, WIDTH, Argument, Sample, integers, new, rand

_q = torch.ops.quantized_decomposed
_ao = torch.ops.torchao
INT8 = (-128, 127, torch.int8)


def _quantized(config, *sizes, bias=True):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(inputs, outputs, bias=bias), nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).eval()
    quantize_(model, config)
    return model


def _intx(granularity, dtype=torch.int4, dynamic=True, mapping=MappingType.SYMMETRIC):
    if dynamic:
        return Int8DynamicActivationIntxWeightConfig(
            weight_dtype=dtype, weight_granularity=granularity, weight_mapping_type=mapping
        )
    return IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity)


def _per_tensor(x):
    scale, zero_point = _q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8)
    q = _q.quantize_per_tensor.tensor(x, scale, zero_point, *INT8)
    return _q.dequantize_per_tensor.tensor(q, scale, zero_point, *INT8)


def _per_tensor_symmetric(x):
    scale, zero_point = _q.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8)
    q = _q.quantize_per_tensor.tensor(x, scale, zero_point, -127, 127, torch.int8)
    return _q.dequantize_per_tensor.tensor(q, scale, zero_point, -127, 127, torch.int8)


def _per_token(x):
    scale, zero_point = _q.choose_qparams_per_token_asymmetric(x, torch.int8)
    q = _q.quantize_per_token(x, scale, zero_point, *INT8)
    return _q.dequantize_per_token(q, scale, zero_point, *INT8, torch.float32)


def _affine(kind):
    def program(x):
        block = [1] * (x.dim() - 1) + [x.shape[-1]]
        scale, zero_point = _ao.choose_qparams_affine(
            x, kind, block, torch.int8, -128, 127, 1e-6, torch.float32, torch.int8
        )
        q = _ao.quantize_affine(x, block, scale, zero_point, torch.int8, -128, 127)
        return _ao.dequantize_affine(q, block, scale, zero_point, torch.int8, -128, 127)

    return program


class Grouped(nn.Module):
    """A product with weights as older programs write them, groups with zero points."""

    def __init__(self, inputs, outputs, group, low=-8, high=8):
        super().__init__()
        groups = inputs // group
        self.group = group
        self.register_buffer("weight", torch.randint(low, high, (outputs, inputs), dtype=torch.int8))
        self.register_buffer("scales", torch.rand(outputs, groups) * 0.1 + 0.01)
        self.register_buffer("zeros", torch.randint(-3, 4, (outputs, groups), dtype=torch.int32).float())

    def forward(self, x):
        weight = _q.dequantize_per_channel_group(
            self.weight, self.scales, self.zeros, -8, 7, torch.int8, self.group, torch.float32
        )
        return torch.nn.functional.linear(x, weight)


class Convolution(nn.Module):
    """A convolution of ``cls`` whose weights, and perhaps images, are rounded to 8 bits."""

    def __init__(self, cls, *sizes, axis=0, per_tensor=False, images=True, zero_points=False, **options):
        super().__init__()
        self.layer, self.axis, self.images = cls(*sizes, **options), axis, images
        count = 1 if per_tensor else self.layer.weight.shape[axis]
        self.per_tensor = per_tensor
        self.register_buffer("weight", torch.randint(-127, 128, self.layer.weight.shape, dtype=torch.int8))
        self.register_buffer("scales", torch.rand(count) * 0.002 + 0.001)
        self.register_buffer("zeros", torch.randint(-9, 9, (count,)) * zero_points)
        self.layer.weight = None

    def forward(self, x):
        if self.per_tensor:
            weight = _q.dequantize_per_tensor.default(self.weight, 0.002, 0, -127, 127, torch.int8)
        else:
            weight = _q.dequantize_per_channel(self.weight, self.scales, self.zeros, self.axis, -127, 127, torch.int8)
        layer, x = self.layer, _per_tensor(x) if self.images else x
        common = (layer.stride, layer.padding)
        if isinstance(layer, nn.ConvTranspose2d):
            rest = (layer.output_padding, layer.groups, layer.dilation)
            return torch.nn.functional.conv_transpose2d(x, weight, layer.bias, *common, *rest)
        convolve = torch.nn.functional.conv1d if weight.dim() == 3 else torch.nn.functional.conv2d
        return convolve(x, weight, layer.bias, *common, layer.dilation, layer.groups)


class Products(nn.Module):
    """A product of each matrix of the input with one of 8 bits."""

    def __init__(self, *shape, axis=-1, rows=False, zero_points=False):
        super().__init__()
        self.axis, self.rows = axis % len(shape), rows
        self.register_buffer("weight", torch.randint(-127, 128, shape, dtype=torch.int8))
        self.register_buffer("scales", torch.rand(shape[axis]) * 0.002 + 0.001)
        self.register_buffer("zeros", torch.randint(-9, 9, (shape[axis],)) * zero_points)

    def forward(self, x):
        weight = _q.dequantize_per_channel(self.weight, self.scales, self.zeros, self.axis, -127, 127, torch.int8)
        return (_per_tensor(x) if self.rows else x) @ weight


class Embedding(nn.Module):
    """A table of so many bits."""

    def __init__(self, bits, groups, has_zero_points=False, **options):
        super().__init__()
        columns = 24 * bits // 8
        low, high, dtype = (-128, 128, torch.int8) if bits == 8 else (0, 256, torch.uint8)
        self.bits, self.options = bits, options
        self.register_buffer("table", torch.randint(low, high, (19, columns), dtype=dtype))
        self.register_buffer("scales", torch.rand(19, groups).squeeze(1) * 0.1 + 0.01)
        zero_points = torch.randint(-2, 2, self.scales.shape).float() if has_zero_points else None
        self.register_buffer("zero_points", zero_points)

    def forward(self, indices):
        name = "embedding_byte" if self.bits == 8 else f"embedding_{self.bits}bit"
        row = getattr(_q, name)
        row = row.dtype if self.options else row.default
        high = 2 ** (self.bits - 1)
        return row(self.table, self.scales, self.zero_points, -high, high - 1, indices, **self.options)


def _indices(*shape):
    return integers(*shape, low=0, high=19)


ROUGH = dict(rtol=0.03, atol=0.03)  # a quantum here and there
MIXED = dict(config=ANY_OPERATOR)
FLOAT = dict(dtype=torch.float32)
NEAR = dict(rtol=1e-4, atol=1e-4, **MIXED)


def _rows_apart(*shape):
    """Numbers of another magnitude at each index of the first axis."""

    def fill(sizes, generator):
        magnitude = 5.0 ** torch.arange(sizes[0]).reshape(-1, *[1] * (len(sizes) - 1)) / 10
        return (torch.rand(sizes, generator=generator) * 4 - 2) * magnitude

    return Argument(shape, fill)


def _bytes(*shape):
    return nn.Buffer(torch.randint(-127, 128, shape, dtype=torch.int8))


def _chosen(x, block, mapping="ASYMMETRIC"):
    options = (-128, 127, None, torch.float32, torch.int32)
    return _ao.choose_qparams_affine(x, mapping, block, torch.int8, *options)


def _weight(m):
    return _q.dequantize_per_channel(m.weight, m.scales, None, 0, -127, 127, torch.int8)


class OtherRows(nn.Module):
    """A product of integers in other rows, or scaled by columns."""

    def __init__(self, depth, columns, scale_shape):
        super().__init__()
        self.weight = _bytes(depth, columns)
        self.columns = nn.Buffer(torch.rand(columns))
        self.scale_shape = scale_shape

    def forward(self, x):
        scale, zero_point = _chosen(x, [1, x.shape[1]], "SYMMETRIC")
        q = _ao.quantize_affine(x, [1, x.shape[1]], scale, zero_point, torch.int8)
        product = torch._int_mm(q.reshape(-1, self.weight.shape[0]), self.weight)
        return product.float() * scale.reshape(self.scale_shape) * self.columns


class OtherAxis(nn.Module):
    """Parameters of rows, for columns."""

    def __init__(self, depth, columns):
        super().__init__()
        self.weight, self.scales = _bytes(columns, depth), nn.Buffer(torch.full((columns,), 0.01))

    def forward(self, x):
        block = [x.shape[0], 1]
        parameters = [p.reshape(x.shape[0]) for p in _chosen(x, [1, x.shape[1]])]
        q = _ao.quantize_affine(x, block, *parameters, torch.int8)
        return F.linear(_ao.dequantize_affine(q, block, *parameters, torch.int8), _weight(self))


class OtherRange(OtherAxis):
    """Parameters for few integers."""

    def forward(self, x):
        scale, zero_point = _q.choose_qparams(x, -2, 1, 1e-5, torch.int8)
        q = _q.quantize_per_tensor(x, scale, zero_point, *INT8)
        return F.linear(_q.dequantize_per_tensor(q, scale, zero_point, *INT8), _weight(self))


class MergedImages(nn.Module):
    """Images that are rounded apart become channels of one."""

    def __init__(self):
        super().__init__()
        self.weight, self.scales = _bytes(4, 2, 3, 3), nn.Buffer(torch.full((4,), 0.01))

    def forward(self, x):
        block = [1, *x.shape[1:]]
        parameters = _chosen(x, block)
        q = _ao.quantize_affine(x, block, *parameters, torch.int8)
        x = _ao.dequantize_affine(q, block, *parameters, torch.int8)
        return F.conv2d(x.reshape(1, 4, 4, 4), _weight(self), groups=2)


class Blocks(nn.Module):
    """An operator on a constant of integers with a scale for each block."""

    def __init__(self, function, shape, block):
        super().__init__()
        self.function, self.block = function, list(block)
        self.weight = _bytes(*shape)
        self.scales = nn.Buffer(torch.rand([n // b for n, b in zip(shape, block, strict=True)]))

    def forward(self, x):
        return self.function(x, _ao.dequantize_affine(self.weight, self.block, self.scales, None, torch.int8))


SAMPLES = [
    Sample("choose_per_tensor", _per_tensor, rand(BATCH, 7, 5, low=-3, high=5), rtol=0.02, atol=0.02, **MIXED),
    Sample("choose_per_tensor_symmetric", _per_tensor_symmetric, rand(3, 17), rtol=0.02, atol=0.02, **MIXED),
    Sample("choose_per_token", _per_token, rand(BATCH, 7, 33, low=-3, high=5), rtol=0.02, atol=0.02, **MIXED),
    Sample("choose_per_token_positive", _per_token, rand(4, 8, low=1, high=5), rtol=0.02, atol=0.02, **MIXED),
    Sample("choose_affine", _affine("ASYMMETRIC"), rand(3, 5, 16), rtol=0.02, atol=0.02, **MIXED),
    Sample("choose_affine_symmetric", _affine("SYMMETRIC"), rand(LENGTH, 16), rtol=0.02, atol=0.02, **MIXED),
    Sample(
        "linear_dynamic_int8",
        new(_quantized, Int8DynamicActivationInt8WeightConfig(), 33, 24, 7),
        rand(BATCH, 33),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "linear_dynamic_int8_rank3",
        new(_quantized, Int8DynamicActivationInt8WeightConfig(), 32, 24, bias=False),
        rand(2, LENGTH, 32),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "linear_8da4w_group32", new(_quantized, _intx(PerGroup(32)), 128, 64, 40), rand(BATCH, 128), **ROUGH, **MIXED
    ),
    Sample("linear_8da4w_group16", new(_quantized, _intx(PerGroup(16)), 64, 40), rand(BATCH, 3, 64), **ROUGH, **MIXED),
    Sample(
        "linear_8da4w_channel",
        new(_quantized, _intx(PerAxis(0)), 66, 20, bias=False),
        rand(LENGTH, 66),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "linear_weight_int8",
        new(_quantized, Int8WeightOnlyConfig(), 33, 17, 5),
        rand(BATCH, 33),
        rtol=1e-4,
        atol=1e-4,
        **MIXED,
    ),
    Sample(
        "linear_weight_int8_rank3",
        new(_quantized, Int8WeightOnlyConfig(), 32, 70),
        rand(2, LENGTH, 32),
        rtol=1e-4,
        atol=1e-4,
        **MIXED,
    ),
    Sample(
        "linear_weight_intx_int8",
        new(_quantized, _intx(PerAxis(0), torch.int8, False), 40, 17),
        rand(1, 40),
        rtol=1e-4,
        atol=1e-4,
        **MIXED,
    ),
    Sample(
        "linear_weight_int4_group",
        new(_quantized, _intx(PerGroup(32), torch.int4, False), 96, 130),
        rand(LENGTH, 96),
        rtol=1e-4,
        atol=1e-4,
        **MIXED,
    ),
    Sample(
        "linear_weight_int4_channel",
        new(_quantized, _intx(PerAxis(0), torch.int4, False), 34, 9),
        rand(LENGTH, 34),
        rtol=1e-4,
        atol=1e-4,
        **MIXED,
    ),
    Sample("linear_grouped", new(Grouped, 64, 70, 32), rand(LENGTH, 64), rtol=1e-4, atol=1e-4, **MIXED),
    Sample("linear_grouped_many_rows", new(Grouped, 48, 130, 16), rand(40, 48), rtol=1e-4, atol=1e-4, **MIXED),
    Sample("linear_grouped_8_bits", new(Grouped, 36, 9, 12, -128, 128), rand(3, 36), rtol=1e-4, atol=1e-4, **MIXED),
    Sample("linear_grouped_odd", new(Grouped, 33, 9, 11), rand(LENGTH, 33), rtol=1e-4, atol=1e-4, **MIXED),
    Sample(
        "linear_8da4w_zero_points",
        new(_quantized, _intx(PerGroup(32), mapping=MappingType.ASYMMETRIC), 96, 33, bias=False),
        rand(BATCH, 3, 96),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "linear_8da4w_zero_points_relu",
        new(_quantized, _intx(PerGroup(64), mapping=MappingType.ASYMMETRIC), 64, 64, 7),
        rand(64),
        **ROUGH,
        **MIXED,
    ),
    Sample("choose_conv2d", new(Convolution, nn.Conv2d, 6, 9, 3, padding=1), rand(1, 6, 9, 8), **ROUGH, **MIXED),
    Sample(
        "choose_conv2d_dynamic",
        new(Convolution, nn.Conv2d, 8, 6, 3, stride=2, padding=2, dilation=(1, 2), bias=False),
        rand(BATCH, 8, HEIGHT, WIDTH, low=-1, high=4),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "choose_conv2d_groups",
        new(Convolution, nn.Conv2d, 8, 12, (1, 3), padding=(0, 1), groups=2),
        rand(2, 8, 5, 6),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "choose_conv2d_per_tensor",
        new(Convolution, nn.Conv2d, 4, 5, 1, per_tensor=True),
        rand(BATCH, 4, 7, 6),
        **ROUGH,
        **MIXED,
    ),
    Sample("choose_conv2d_one_channel", new(Convolution, nn.Conv2d, 4, 1, 3), rand(1, 4, 5, 6), **ROUGH, **MIXED),
    Sample(
        "choose_conv2d_depthwise",
        new(Convolution, nn.Conv2d, 6, 6, 3, groups=6, padding=1),
        rand(1, 6, 5, 6),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "choose_conv2d_large_depthwise",
        new(Convolution, nn.Conv2d, 20, 20, 7, groups=20, padding=3, stride=2),
        rand(BATCH, 20, HEIGHT, 9),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "choose_conv1d_depthwise",
        new(Convolution, nn.Conv1d, 6, 6, 5, groups=6, padding=2, per_tensor=True),
        rand(2, 6, LENGTH),
        **ROUGH,
        **MIXED,
    ),
    *(
        Sample(
            f"quantized_weights_{name}", new(Convolution, *a, images=False, **o), shape, rtol=1e-4, atol=1e-4, **MIXED
        )
        for name, a, o, shape in (
            ("conv2d", (nn.Conv2d, 6, 9, 3), dict(padding=1, zero_points=True), rand(BATCH, 6, 9, 8)),
            ("conv2d_per_tensor", (nn.Conv2d, 6, 9, 1), dict(per_tensor=True), rand(1, 6, HEIGHT, WIDTH)),
            ("conv2d_groups", (nn.Conv2d, 8, 12, 3), dict(groups=4, stride=2), rand(1, 8, 9, 8)),
            ("conv2d_depthwise", (nn.Conv2d, 20, 20, 3), dict(groups=20, zero_points=True), rand(BATCH, 20, 9, 8)),
            ("conv1d", (nn.Conv1d, 6, 8, 5), dict(padding=2, dilation=2), rand(BATCH, 6, 11)),
            ("conv_transpose2d", (nn.ConvTranspose2d, 6, 5, 3), dict(axis=1, stride=2), rand(BATCH, 6, 7, 6)),
        )
    ),
    Sample("choose_conv1d", new(Convolution, nn.Conv1d, 6, 8, 5, padding=2), rand(BATCH, 6, LENGTH), **ROUGH, **MIXED),
    Sample(
        "choose_conv_transpose2d",
        new(Convolution, nn.ConvTranspose2d, 6, 5, 3, axis=1, stride=2, padding=1, output_padding=1),
        rand(BATCH, 6, 7, 6),
        **ROUGH,
        **MIXED,
    ),
    Sample(
        "choose_bmm_weights", new(Products, 3, 33, 20, rows=True), rand(3, LENGTH, 33, low=-1, high=4), **ROUGH, **MIXED
    ),
    Sample("choose_bmm_one", new(Products, 1, 32, 9, rows=True), rand(1, LENGTH, 32), **ROUGH, **MIXED),
    Sample(
        "quantized_weights_bmm",
        new(Products, 2, 3, 17, 8, zero_points=True),
        rand(2, 3, LENGTH, 17),
        rtol=1e-4,
        atol=1e-4,
        **MIXED,
    ),
    Sample(
        "quantized_weights_bmm_batches", new(Products, 5, 16, 8, axis=0), rand(5, 4, 16), rtol=1e-4, atol=1e-4, **MIXED
    ),
    # A scale for each index that is summed over: in float32.
    Sample(
        "quantized_weights_bmm_rows", new(Products, 5, 16, 8, axis=1), rand(5, 4, 16), rtol=1e-4, atol=1e-4, **MIXED
    ),
    Sample("embedding_byte", new(Embedding, 8, 1), _indices(BATCH, 3), **MIXED),
    Sample("embedding_byte_groups", new(Embedding, 8, 3, True, **FLOAT), _indices(LENGTH), **MIXED),
    Sample("embedding_4bit", new(Embedding, 4, 1), _indices(BATCH, 3), **MIXED),
    Sample("embedding_4bit_groups", new(Embedding, 4, 2, True, **FLOAT), _indices(2, LENGTH), **MIXED),
    Sample("embedding_2bit", new(Embedding, 2, 1, **FLOAT), _indices(BATCH), **MIXED),
    Sample("embedding_2bit_groups", new(Embedding, 2, 2, True), _indices(BATCH), **MIXED),
    # Rounded by other rows or images than those of the product.
    Sample("choose_by_row_scaled_by_column", new(OtherRows, 4, 4, (1, 4)), _rows_apart(4, 4), **NEAR),
    Sample("choose_by_row_of_merged_rows", new(OtherRows, 8, 2, (2, 2)), _rows_apart(4, 4), **NEAR),
    Sample("choose_by_row_used_by_column", new(OtherAxis, 4, 6), _rows_apart(4, 4), **NEAR),
    Sample("choose_by_image_of_merged_images", new(MergedImages), _rows_apart(2, 2, 4, 4), **NEAR),
    Sample("choose_for_another_range", new(OtherRange, 4, 6), rand(4, 4), **NEAR),
    # A scale for several indices of an axis.
    Sample("weights_of_blocks_linear", new(Blocks, F.linear, (6, 8), (3, 8)), rand(4, 8), **NEAR),
    Sample("weights_of_blocks_add", new(Blocks, torch.add, (6, 8), (2, 8)), rand(6, 8), **NEAR),
    Sample("weights_of_blocks_mul", new(Blocks, torch.mul, (6, 8), (6, 4)), rand(6, 8), **NEAR),
    Sample("weights_of_blocks_embedding", new(Blocks, F.embedding, (6, 8), (2, 8)), integers(3, low=0, high=6), **NEAR),
    Sample("weights_of_blocks_bmm", new(Blocks, torch.bmm, (4, 8, 6), (2, 8, 1)), rand(4, 3, 8), **NEAR),
]
