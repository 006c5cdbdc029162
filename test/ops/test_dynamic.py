# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The ways in which people quantize to 8 and 4 bits without calibration become products with integer weights."""

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.serialization.schema import DType
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from samples import all_samples
from samples.dynamic import _per_tensor
from torch import nn
from torchao.quantization import (
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    PerGroup,
    quantize_,
)
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

SAMPLES = {s.name: s for s in all_samples()}


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(64, 96), nn.Linear(96, 32, bias=False)
        self.norm = nn.LayerNorm(96)

    def forward(self, x):
        return self.second(self.norm(torch.relu(self.first(x))))


def only_operators(lowered):
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    (graph,) = lowered.optimized.values()
    return [(n.op, n.attributes) for n in graph.nodes]


@pytest.mark.parametrize(
    "name,bits,groups",
    (
        ("linear_8da4w_group32", 4, 4),
        ("linear_8da4w_channel", 4, 1),
        ("linear_dynamic_int8", 8, 1),
        ("linear_weight_int8", 8, 1),
        ("linear_weight_int4_group", 4, 3),
        ("linear_grouped_odd", 8, 3),
    ),
)
def test_folds_to_the_smallest_weights(name, bits, groups):
    lowered = harness.lower_sample(SAMPLES[name])
    (graph,) = lowered.optimized.values()
    products = [n for n in graph.nodes if n.op == "QuantizedLinear"]
    assert products and {n.op for n in graph.nodes} <= {"QuantizedLinear", "Reshape"}
    assert products[0].attributes.bits == bits
    assert products[0].attributes.dynamic_quantization == ("dynamic" in name or "8da" in name)
    assert graph.values[products[0].inputs[2]].shape[1] == groups


@pytest.mark.parametrize(
    "name,count,rounds",
    (
        ("choose_bmm_weights", 3, True),
        ("choose_bmm_one", 1, True),
        ("quantized_weights_bmm", 6, False),
        ("quantized_weights_bmm_batches", 5, False),
    ),
)
def test_products_with_several_matrices_of_integers(name, count, rounds):
    lowered = harness.lower_sample(SAMPLES[name])
    (graph,) = lowered.optimized.values()
    products = [n for n in graph.nodes if n.op == "QuantizedLinear"]
    assert len(products) == count and all(n.attributes.dynamic_quantization == rounds for n in products), str(graph)
    assert not lowered.report.float_fallbacks


def test_products_of_two_activations_are_in_the_report():
    class Attention(nn.Module):
        def forward(self, x, y):
            return torch.bmm(_per_tensor(x), _per_tensor(y))

    lowered = harness.lower_exported(
        torch.export.export(Attention(), (torch.rand(2, 3, 8), torch.rand(2, 8, 3))), _check_ir_validity=False
    )
    assert lowered.outside == []
    assert ("Quantize", "the scale or zero point is computed at run time") in {
        (r.target, r.reason) for r in lowered.report.float_fallbacks
    }


@pytest.mark.parametrize(
    "name",
    ("conv2d", "conv2d_dynamic", "conv2d_groups", "conv2d_per_tensor", "conv2d_depthwise", "conv_transpose2d"),
)
def test_convolutions_round_their_images(name):
    lowered = harness.lower_sample(SAMPLES[f"choose_{name}"])
    (graph,) = lowered.optimized.values()
    (convolution,) = [n for n in graph.nodes if n.op != "Transpose"]
    assert convolution.attributes.dynamic_quantization
    assert lowered.report.float_fallbacks == []
    assert graph.values[convolution.inputs[1]].quantization.dtype == DType.Int8


# Larger than what any constant is folded up to, zero points included.
@pytest.mark.parametrize(
    "config,bits",
    (
        (Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)), 4),
        (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), 4),
        (Int8DynamicActivationInt8WeightConfig(), 8),
        (Int8WeightOnlyConfig(), 8),
    ),
    ids=("8da4w", "int4", "dynamic", "int8"),
)
@pytest.mark.parametrize("bias", (False, True))
@pytest.mark.parametrize("inputs", (512, 2560))
def test_large_weights_take_as_many_bits_in_the_file(config, bits, bias, inputs):
    outputs = 1536
    model = nn.Linear(inputs, outputs, bias=bias).eval()
    quantize_(model, config)
    program = torch.export.export(model, (torch.randn(1, inputs),))
    lowered = harness.lower_exported(program, _check_ir_validity=False)
    assert {op for op, _ in only_operators(lowered)} <= {"QuantizedLinear", "Reshape"}
    scales = outputs * (inputs // 32 if bits == 4 else 1) * 4
    assert len(lowered.buffer) < inputs * outputs * bits // 8 + scales + outputs * 4 + 16000


@harness.needs_runtime
@pytest.mark.parametrize(
    "name",
    ("choose_conv2d_large_depthwise", *(n for n in SAMPLES if n.startswith("quantized_weights_conv"))),
)
def test_weights_of_convolutions_stay_integers(name, tmp_path):
    lowered = harness.lower_sample(SAMPLES[name])
    (graph,) = lowered.optimized.values()
    assert all(
        v.constant.array.dtype.itemsize == 1 for v in graph.values.values() if v.constant is not None and v.rank > 1
    )
    with et_xnnpack.load_options(packed_cache_path=str(tmp_path / "packed")):
        harness.load_method(lowered.buffer)
    assert b"Int8" in (tmp_path / "packed").read_bytes()


@harness.needs_runtime
def test_dynamic_quantization_of_pt2e():
    torch.manual_seed(0)
    model, inputs = Network().eval(), (torch.randn(2, 5, 64),)
    exported = torch.export.export(model, inputs)
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True))
    prepared = prepare_pt2e(exported.module(), quantizer)
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    lowered = harness.lower_exported(torch.export.export(converted, inputs), _check_ir_validity=False)
    assert [op for op, _ in only_operators(lowered)] == ["QuantizedLinear", "LayerNorm", "QuantizedLinear"]
    (actual,) = harness.load_method(lowered.buffer).execute(inputs)
    torch.testing.assert_close(actual, converted(*inputs), rtol=0.05, atol=0.05)
    torch.testing.assert_close(actual, model(*inputs), rtol=0.05, atol=0.05)


@harness.needs_runtime
def test_one_row_and_many_give_the_same():
    sample = SAMPLES["linear_8da4w_group32"]
    method = harness.load_method(harness.lower_sample(sample).buffer)
    inputs = torch.randn(5, 128)
    together = method.execute((inputs,))[0].clone()
    alone = torch.cat([method.execute((inputs[i : i + 1],))[0].clone() for i in range(5)])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


@harness.needs_runtime
@pytest.mark.parametrize(
    "name", ("linear_dynamic_int8", "linear_8da4w_channel", "linear_8da4w_group32", "linear_8da4w_group16")
)
def test_rows_that_are_not_finite(name):
    """NaN and infinity make NaN of their row. Rows may be of one number, or of tiny ones."""
    exported = SAMPLES[name].export()
    example = exported.example_inputs[0][0]
    size = example.shape[-1]
    method = harness.load_method(harness.lower_sample(SAMPLES[name]).buffer)
    inf = float("inf")
    special = [torch.cat([torch.tensor([1.0, number]), torch.randn(size - 2)]) for number in (float("nan"), inf, -inf)]
    for row in (*special, torch.zeros(size), torch.full((size,), 5.0), torch.full((size,), -1e-30)):
        x = row.expand(1, *example.shape[1:]).contiguous()
        expected = exported.module()(x)
        assert expected.isnan().all() == (not row.isfinite().all())
        torch.testing.assert_close(method.execute((x,))[0], expected, rtol=0.05, atol=0.05, equal_nan=True)
