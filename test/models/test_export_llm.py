# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A small model through ExecuTorch's own exporter of language models: prefill and decode beside eager PyTorch."""

import json
import sys

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import export_llm
from executorch.examples.models.llama import export_llama_lib
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.extension.llm.export.config import llm_config
from executorch.runtime import Runtime
from omegaconf import OmegaConf

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
#: What may be left outside: the position is read off its tensor and checked.
INTEGERS = {
    "aten::_assert_scalar",
    "aten::_local_scalar_dense",
    "aten::select_copy",
    "aten::sym_size",
    "executorch_prim::add",
    "executorch_prim::et_copy_index",
    "executorch_prim::ge",
    "executorch_prim::le",
    "executorch_prim::lt",
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


#: Options of the exporter beyond those that all have.
VARIANTS = {
    "plain": {},
    "8da4w": {"quantization.qmode": "8da4w", "quantization.group_size": 32, "quantization.embedding_quantize": "'8,0'"},
    "custom": {"model.use_sdpa_with_kv_cache": True},
    "int8_cache": {"model.use_sdpa_with_kv_cache": True, "model.quantize_kv_cache": True},
}
#: How near to eager; with integers one activation that is rounded the other way moves what follows.
COSINE = {"8da4w": 0.995, "int8_cache": 0.995}


def options(folder, variant):
    """As on the command line."""
    all_options = {
        "base.model_class": "llama3",
        "base.checkpoint": folder / "model.pth",
        "base.params": folder / "params.json",
        "base.metadata": '\'{"get_bos_id": 1, "get_eos_ids": [2]}\'',
        "model.use_kv_cache": True,
        "model.use_sdpa_with_kv_cache": False,
        "model.enable_dynamic_shape": True,
        "export.max_seq_length": CONTEXT,
        "export.max_context_length": CONTEXT,
        "export.output_name": folder / f"{variant}.pte",
        "hydra.run.dir": folder,
        **VARIANTS[variant],
    }
    return [f"{name}={value}" for name, value in all_options.items()]


def eager_model(folder, variant):
    """What the exporter exports."""
    c = OmegaConf.structured(llm_config.LlmConfig)
    chosen = [o for o in options(folder, variant) if not o.startswith("hydra.")]
    c = OmegaConf.merge(c, OmegaConf.from_dotlist([o.replace("'", "") if "embedding" in o else o for o in chosen]))
    c.base.metadata = None
    return export_llama_lib._prepare_for_llama_export(OmegaConf.to_object(c)).model.eval()


@pytest.mark.parametrize("variant", VARIANTS)
def test_runs_like_eager_up_to_the_end_of_the_cache(checkpoint, monkeypatch, capsys, variant):
    monkeypatch.setattr(sys, "argv", ["export_llm", *options(checkpoint, variant)])
    export_llm.main()
    assert "in 1 delegate call" in capsys.readouterr().out
    program = (checkpoint / f"{variant}.pte").read_bytes()
    plan = next(p for p in deserialize_pte_binary(program).program.execution_plan if p.name == "forward")
    outside = {operator.name for operator in plan.operators}
    assert outside <= INTEGERS, outside
    steps = [type(i.instr_args).__name__ for chain in plan.chains for i in chain.instructions]
    assert steps.count("DelegateCall") == 1 and len(steps) < 25, steps
    eager = eager_model(checkpoint, variant)
    generator = torch.Generator().manual_seed(3)
    for lengths in CALLS:
        method = Runtime.get().load_program(program).load_method("forward")
        position = 0
        for length in lengths:
            inputs = (torch.randint(3, 96, (1, length), generator=generator), torch.tensor([position]))
            (actual,) = method.execute(inputs)
            with torch.no_grad():
                expected = eager(inputs[0], {"input_pos": inputs[1]}).reshape(actual.shape)
            if variant in COSINE:
                assert torch.cosine_similarity(actual.flatten(), expected.flatten(), 0) > COSINE[variant]
            else:
                torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)
            position += length
