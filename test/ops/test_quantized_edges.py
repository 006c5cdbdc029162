# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Quantized programs at the edges of what integers hold: numbers that a fold must not round, move or leave out."""

import harness
import pytest
import torch
import torch.nn.functional as F
import torchao.quantization.quant_primitives as primitives
from torch import nn

_q = torch.ops.quantized_decomposed
INT8 = (-128, 127, torch.int8)

pytestmark = harness.needs_runtime


def stored(x, scale, zero_point=0):
    """``x`` as integers of 8 bits stand for it."""
    return _q.dequantize_per_tensor(_q.quantize_per_tensor(x, scale, zero_point, *INT8), scale, zero_point, *INT8)


class Program(nn.Module):
    """A function of buffers by name, and of inputs."""

    def __init__(self, function, **buffers):
        super().__init__()
        self.function = function
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *inputs):
        return self.function(self, *inputs)


def outputs(model, *inputs):
    """What the lowered program gives, as one delegate call, and eager PyTorch."""
    lowered = harness.lower_exported(torch.export.export(model.eval(), inputs))
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    return harness.load_method(lowered.buffer).execute(inputs)[0], model(*inputs)


def integers(*shape, low=-127, high=127, seed=0):
    return torch.randint(low, high + 1, shape, dtype=torch.int8, generator=torch.Generator().manual_seed(seed))


def rows(*shape, low=0.0, high=4.0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(1)) * (high - low) + low


def test_an_integer_product_whose_zero_point_the_program_takes_off():
    weight = integers(32, 16)

    def function(m, x):
        scale, zero_point = primitives.choose_qparams_affine(
            x, primitives.MappingType.ASYMMETRIC, [1, 32], torch.int8, -128, 127, None, torch.float32, torch.int32
        )
        q = primitives.quantize_affine(x, [1, 32], scale, zero_point, torch.int8, -128, 127)
        scale, zero_point = scale.reshape(-1, 1), zero_point.reshape(-1, 1)
        product = torch._int_mm(q, m.weight).float() * scale * m.scales
        return product - zero_point * scale * (m.weight.float().sum(0) * m.scales)

    model = Program(function, weight=weight, scales=torch.full((16,), 0.01))
    actual, expected = outputs(model, rows(32, 32, low=-1))
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kind", ("linear", "conv2d"))
def test_a_scale_chosen_with_a_zero_point_that_is_not_used(kind):
    """Numbers above 127 steps are clipped."""
    weight = integers(16, 32) if kind == "linear" else integers(16, 8, 3, 3)
    function = F.linear if kind == "linear" else F.conv2d

    def rounded(m, x):
        scale, _ = _q.choose_qparams(x, -128, 127, 1e-5, torch.int8)
        zero_point = torch.zeros(1, dtype=torch.int64)
        x = _q.quantize_per_tensor(x, scale, zero_point, *INT8)
        x = _q.dequantize_per_tensor(x, scale, zero_point, *INT8)
        return function(x, _q.dequantize_per_tensor(m.weight, 0.02, 0, *INT8))

    x = rows(4, 32) if kind == "linear" else rows(2, 8, 9, 9)
    actual, expected = outputs(Program(rounded, weight=weight), x)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("ratio", (4, 30, 100, 250))
def test_a_bias_below_the_unit_of_the_products(ratio):
    weight, bias = integers(8, 16, low=-1, high=1), torch.full((8,), 0.004 * ratio)

    def function(m, x):
        y = F.linear(stored(x, 0.01 * ratio), _q.dequantize_per_tensor(m.weight, 1.0, 0, *INT8), m.bias)
        return stored(y, 0.01)

    actual, expected = outputs(Program(function, weight=weight, bias=bias), torch.zeros(2, 16))
    torch.testing.assert_close(actual, expected, rtol=0, atol=0.0101)


def test_a_bias_that_leaves_no_room_for_products():
    weight = torch.full((4, 2048), 127, dtype=torch.int8)

    def function(m, x):
        y = F.linear(stored(x, 0.01), _q.dequantize_per_tensor(m.weight, 1e-7, 0, *INT8), m.bias)
        return stored(y, 0.02)

    actual, expected = outputs(Program(function, weight=weight, bias=torch.full((4,), 2.13)), torch.ones(3, 2048))
    torch.testing.assert_close(actual, expected, rtol=0, atol=0.0201)


@pytest.mark.parametrize("dynamic", (False, True), ids=("static", "dynamic"))
def test_sums_of_more_products_than_32_bits_hold(dynamic):
    weight = torch.full((4, 70000), 127, dtype=torch.int8)

    def function(m, x):
        w = _q.dequantize_per_tensor(m.weight, 1 / 127, 0, *INT8)
        if not dynamic:
            return stored(F.linear(stored(x, 1 / 255, -128), w), 1000.0)
        scale, zero_point = _q.choose_qparams_per_token_asymmetric(x, torch.int8)
        x = _q.quantize_per_token(x, scale, zero_point, *INT8)
        return F.linear(_q.dequantize_per_token(x, scale, zero_point, *INT8, torch.float32), w)

    actual, expected = outputs(Program(function, weight=weight), torch.ones(2, 70000))
    torch.testing.assert_close(actual, expected, rtol=1e-2, atol=1)


@pytest.mark.parametrize("dtype", (torch.float32, torch.float16, torch.bfloat16), ids=str)
@pytest.mark.parametrize("magnitude", (1.0, 1e-3, 1e-6))
def test_affine_parameters_of_small_numbers(dtype, magnitude):
    def function(m, x):
        scale, zero_point = primitives.choose_qparams_affine(
            x,
            primitives.MappingType.ASYMMETRIC,
            [1, x.shape[-1]],
            torch.int8,
            -128,
            127,
            None,
            torch.float32,
            torch.int8,
        )
        return primitives.quantize_affine(x, [1, x.shape[-1]], scale, zero_point, torch.int8, -128, 127)

    actual, expected = outputs(Program(function), (rows(3, 64, low=-0.7, high=1.3) * magnitude).to(dtype))
    of_eager = {
        torch.float32: 0,
        torch.float16: 2,
        torch.bfloat16: 4,
    }  # integers, as it computes the scale in this type
    assert (actual.int() - expected.int()).abs().max() <= of_eager[dtype]


@pytest.mark.parametrize("group", (16, 64))
def test_rows_of_tiny_numbers(group):
    weight = integers(24, 64, low=-8, high=7)

    def function(m, x):
        scale, zero_point = primitives.choose_qparams_affine(
            x, primitives.MappingType.ASYMMETRIC, [1, 64], torch.int8, -128, 127, None, torch.float32, torch.int8
        )
        q = primitives.quantize_affine(x, [1, 64], scale, zero_point, torch.int8, -128, 127)
        x = primitives.dequantize_affine(q, [1, 64], scale, zero_point, torch.int8, -128, 127)
        w = primitives.dequantize_affine(m.weight, [1, group], m.scales, None, torch.int8, -8, 7)
        return F.linear(x, w)

    model = Program(function, weight=weight, scales=rows(24, 64 // group, low=0.01, high=0.1))
    actual, expected = outputs(model, rows(3, 64, low=-0.7, high=1.3) * 1e-10)
    assert (actual - expected).abs().max() <= 0.03 * expected.abs().max()


def test_groups_with_a_scale_of_0():
    def function(m, x):
        scale, zero_point = _q.choose_qparams_per_token_asymmetric(x, torch.int8)
        x = _q.quantize_per_token(x, scale, zero_point, *INT8)
        x = _q.dequantize_per_token(x, scale, zero_point, *INT8, torch.float32)
        return F.linear(x, primitives.dequantize_affine(m.weight, [1, 32], m.scales, None, torch.int8, -8, 7))

    scales = rows(24, 2, low=0.01, high=0.1)
    scales[3, 1] = 0
    actual, expected = outputs(Program(function, weight=integers(24, 64, low=-8, high=7), scales=scales), rows(3, 64))
    torch.testing.assert_close(actual, expected, rtol=0.01, atol=0.05)


def _dequantized(weight):
    return _q.dequantize_per_tensor(weight, 0.05, 0, *INT8)


@pytest.mark.parametrize(
    "function",
    (
        lambda m, x: torch.slice_scatter(_dequantized(m.rows), x, 0, 1, 3),
        lambda m, x: torch.slice_scatter(x, _dequantized(m.rows[:1]), 0, 1, 2),
        lambda m, x: _dequantized(m.rows).index_put((torch.tensor([0, 2]),), x),
        lambda m, x: _dequantized(m.rows).scatter(0, torch.zeros(2, 6, dtype=torch.int64), x),
        lambda m, x: F.max_pool2d(_dequantized(m.rows)[None] + 0 * x.sum(), 2, return_indices=True)[0],
    ),
    ids=("slice_scatter_into", "slice_scatter_of", "index_put", "scatter", "max_pool2d"),
)
def test_constants_of_integers_where_operators_take_floats(function):
    actual, expected = outputs(Program(function, rows=integers(4, 6)), rows(2, 6))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", (nn.LSTM, nn.GRU))
def test_recurrent_weights_of_integers(cell):
    torch.manual_seed(0)
    layer = cell(8, 8, batch_first=True)
    names = [name for name, _ in layer.named_parameters()]
    quantized = {name: integers(*p.shape, seed=i) for i, (name, p) in enumerate(layer.named_parameters())}
    function = torch.lstm if cell is nn.LSTM else torch.gru

    def run(m, x):
        weights = [_q.dequantize_per_tensor(getattr(m, name), 0.005, 0, *INT8) for name in names]
        state = torch.zeros(1, x.shape[0], 8)
        return function(x, (state, state) if cell is nn.LSTM else state, weights, True, 1, 0.0, False, False, True)[0]

    actual, expected = outputs(Program(run, **quantized), rows(2, 5, 8, low=-1, high=1))
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scale", (-0.1, 0.0, 1e-41))
def test_concatenates_constants_that_no_program_can_hold(scale):
    def function(m, x):
        constant = _q.dequantize_per_tensor(m.rows, scale, 0, *INT8)
        return stored(torch.cat([stored(x, 0.05), constant]), 0.05)

    actual, expected = outputs(Program(function, rows=integers(3, 6)), rows(2, 6))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


def test_an_integer_bias_that_no_program_can_hold():
    def function(m, x):
        weight = _q.dequantize_per_tensor(m.weight, 1e-9, 0, *INT8)
        bias = _q.dequantize_per_tensor(m.bias, 0.5, 7, -(2**31), 2**31 - 1, torch.int32)
        return stored(F.linear(stored(x, 0.05), weight, bias), 0.5)

    bias = torch.tensor([0, 7, 9, -3], dtype=torch.int32)
    actual, expected = outputs(Program(function, weight=integers(4, 6), bias=bias), rows(2, 6))
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)
