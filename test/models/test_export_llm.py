# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A small model through ExecuTorch's own exporter of language models: prefill and decode beside eager PyTorch."""

import json

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.examples.models.llama import export_llama_lib
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.extension.llm.export.config import llm_config
from executorch.runtime import Runtime

pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="the compiled part is not installed")

CONTEXT = 32
PARAMS = {
    "dim": 64,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": 2,
    "vocab_size": 96,
    "hidden_dim": 160,
    "norm_eps": 1e-5,
    "rope_theta": 500000.0,
}
#: Lengths of the calls that fill the cache: prefill and decode up to the last position, and all but one at once.
CALLS = ((7, 12, 1, 1, 3, 2, 1, 1, 1, 1, 1, 1), (31, 1), (1,) * 4, (2, 30))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llm")
    (folder / "params.json").write_text(json.dumps(PARAMS))
    torch.manual_seed(0)
    model = construct_transformer(ModelArgs(max_seq_len=CONTEXT, max_context_len=CONTEXT, use_kv_cache=False, **PARAMS))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn_like(weight)
            if weight.dim() == 1:
                weight.copy_(1 + 0.1 * noise)
            else:
                weight.copy_(noise if "embed" in name else noise * weight.shape[-1] ** -0.5)
    state = {k: v for k, v in model.state_dict().items() if not any(s in k for s in ("cache", "freqs", "mask"))}
    torch.save(state, folder / "model.pth")
    return folder


def config(folder, quantized):
    c = llm_config.LlmConfig()
    c.base.model_class = llm_config.ModelType("llama3")
    c.base.checkpoint = str(folder / "model.pth")
    c.base.params = str(folder / "params.json")
    c.base.metadata = '{"get_bos_id": 1, "get_eos_ids": [2]}'
    c.model.use_kv_cache = True
    c.model.use_sdpa_with_kv_cache = False
    c.model.enable_dynamic_shape = True
    c.export.max_seq_length = c.export.max_context_length = CONTEXT
    c.export.output_dir = str(folder)
    c.export.output_name = str(folder / f"quantized_{quantized}.pte")
    c.backend.xnnpack.enabled = True
    if quantized:
        c.quantization.qmode, c.quantization.group_size, c.quantization.embedding_quantize = "8da4w", 32, "8,0"
    return c


@pytest.mark.parametrize("quantized", (False, True), ids=("float32", "8da4w"))
def test_runs_like_eager_up_to_the_end_of_the_cache(checkpoint, monkeypatch, quantized):
    partitioners = []

    def partitioner(**_):
        partitioners.append(EtXnnpackPartitioner())
        return partitioners[-1]

    # The exporter has no hook for another partitioner.
    monkeypatch.setattr(export_llama_lib, "get_xnnpack_partitioner", partitioner)
    c = config(checkpoint, quantized)
    program = export_llama_lib._export_llama(c).export_program.buffer
    (report,) = (p.report for p in partitioners)
    assert len(report.delegated) == 1, str(report)
    assert {r.target for r in report.refusals} <= {"aten.select_copy.int", "aten._assert_scalar.default"}, str(report)
    eager = export_llama_lib._prepare_for_llama_export(c).model.eval()
    generator = torch.Generator().manual_seed(3)
    for lengths in CALLS:
        method = Runtime.get().load_program(program).load_method("forward")
        position = 0
        for length in lengths:
            inputs = (torch.randint(3, 96, (1, length), generator=generator), torch.tensor([position]))
            (actual,) = method.execute(inputs)
            with torch.no_grad():
                expected = eager(inputs[0], {"input_pos": inputs[1]}).reshape(actual.shape)
            if quantized:
                # One activation that is rounded the other way moves what follows.
                assert torch.cosine_similarity(actual.flatten(), expected.flatten(), 0) > 0.995
            else:
                torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)
            position += length
