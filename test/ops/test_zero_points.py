# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Zero points of a float type: exact where they are not whole numbers, and where they are, as fast as integers."""

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import DType
from samples import all_samples
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.embedding_quantizer import EmbeddingQuantizer

_q = torch.ops.quantized_decomposed
INT8 = (-128, 127, torch.int8)
SAMPLES = {s.name: s for s in all_samples()}


def only_graph(lowered):
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    (graph,) = lowered.optimized.values()
    return graph


@harness.needs_runtime
def test_embeddings_of_torchao():
    torch.manual_seed(0)
    model, inputs = nn.Embedding(500, 64).eval(), (torch.arange(500).reshape(2, 250),)
    prepared = prepare_pt2e(torch.export.export(model, inputs, strict=True).module(), EmbeddingQuantizer())
    prepared(*inputs)
    converted = convert_pt2e(prepared)
    (zero_points,) = (b for name, b in converted.named_buffers() if "zero_point" in name)
    assert zero_points.dtype == torch.float32 and (zero_points != zero_points.round()).any()
    lowered = harness.lower_exported(torch.export.export(converted, inputs), _check_ir_validity=False)
    only_graph(lowered)
    assert len(lowered.buffer) < 500 * (64 + 2 * 4) + 8000
    (actual,) = harness.load_method(lowered.buffer).execute(inputs)
    torch.testing.assert_close(actual, converted(*inputs), rtol=0, atol=0)


@pytest.mark.parametrize("name", [n for n in SAMPLES if "fractions" in n and ("embedding" in n or "table" in n)])
def test_tables_stay_integers(name):
    graph = only_graph(harness.lower_sample(SAMPLES[name]))
    table = max((v.array for v in graph.values.values() if v.constant is not None), key=lambda array: array.size)
    assert table.dtype.itemsize == (4 if "blocks" in name or "tied" in name else 1), str(graph)


@pytest.mark.parametrize("name", ("linear", "conv2d", "bmm"))
def test_weights_become_float32_and_the_report_says_so(name):
    lowered = harness.lower_sample(SAMPLES[f"quantize_fractions_of_{name}"])
    graph = only_graph(lowered)
    assert all(v.quantization is None for v in graph.values.values())
    assert not any(v.dtype in (DType.Int8, DType.UInt8) for v in graph.values.values()), str(graph)
    assert "a zero point of a constant is not a whole number" in {r.reason for r in lowered.report.float_fallbacks}


class Weights(nn.Module):
    def __init__(self, zero_points, function):
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Buffer(torch.randint(-128, 128, (6, 16), generator=generator, dtype=torch.int8))
        self.scales = nn.Buffer(torch.rand(6, generator=generator))
        self.zeros = nn.Buffer(zero_points)
        self.function = function

    def forward(self, x):
        return self.function(x, _q.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *INT8))


WHOLE = torch.tensor([3, -7, 0, 12, -128, 1])


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16))
@pytest.mark.parametrize("function", (F.linear, torch.add))
def test_whole_numbers_are_integers(function, dtype):
    texts = []
    for zero_points in (WHOLE, WHOLE.to(dtype)):
        exported = torch.export.export(Weights(zero_points, function), (torch.rand(6, 16),))
        lowered = harness.lower_exported(exported, _check_ir_validity=False)
        texts.append(str(only_graph(lowered)))
    assert texts[0] == texts[1]


def _rounded(x):
    """Rows as integers, with zero points that are cast to floats on the way."""
    scale, zero_point = _q.choose_qparams_per_token_asymmetric(x, torch.int8)
    parameters = scale.float(), zero_point.float()
    q = _q.quantize_per_token(x, *parameters, *INT8)
    return _q.dequantize_per_token(q, *parameters, *INT8, torch.float32)


def test_integers_that_were_cast_are_whole():
    module = Weights(WHOLE, lambda x, weight: F.linear(_rounded(x), weight))
    exported = torch.export.export(module, (torch.rand(5, 16),))
    graph = only_graph(harness.lower_exported(exported, _check_ir_validity=False))
    assert any(n.op == "QuantizedLinear" and n.attributes.dynamic_quantization for n in graph.nodes), str(graph)
