# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Small models with random weights through ExecuTorch's exporter of language models."""

import contextlib
import dataclasses
import functools
import io
import json
import sys
import tempfile
from pathlib import Path
from unittest import mock

import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import export_llm
from executorch.examples.models.llama import export_llama_lib
from executorch.examples.models.llama.llama_transformer import construct_transformer
from executorch.examples.models.llama.model_args import ActFn, ModelArgs
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.extension.llm.export.config import llm_config
from omegaconf import OmegaConf

CONTEXT = 32
VOCABULARY = 272
LAYERS = 2  # but for some architectures
_LLAMA = {
    "dim": 64,
    "n_layers": LAYERS,
    "n_heads": 4,
    "n_kv_heads": 2,
    "vocab_size": VOCABULARY,
    "hidden_dim": 160,
    "norm_eps": 1e-5,
    "rope_theta": 500000.0,
}
_QWEN = {"use_hf_rope": True, "head_dim": 32, "use_qk_norm": True, "qk_norm_before_rope": True}
_PHI = {"use_hf_rope": True, "partial_rotary_factor": 0.75}
_GEMMA = {
    **_QWEN,
    "n_layers": 4,
    "act_fn": "gelu_approx",
    "embedding_scale_factor": 8.0,
    "post_attention_norm": True,
    "post_ffn_norm": True,
    "local_rope_theta": 10000.0,
    "sliding_window": 8,
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
}
_LONG_ROPE = {
    "rope_scaling_short_factor": [1.0] * 6,
    "rope_scaling_long_factor": [1.5] * 6,
    "original_max_position_embeddings": 64,
    "max_position_embeddings": 128,
}
#: The class that the exporter is told, and what is special in its parameters. It has no class for Gemma.
ARCHITECTURES = {
    "llama3": ("llama3", {}),
    "llama3_2": ("llama3_2", {"use_scaled_rope": True, "rope_scale_factor": 32}),
    "qwen2_5": ("qwen2_5_0_5b", {"use_hf_rope": True, "attention_qkv_bias": True}),
    "qwen3": ("qwen3_0_6b", _QWEN),
    "smollm2": ("smollm2", {"n_heads": 3, "n_kv_heads": 3, "dim": 96}),
    "smollm3": ("smollm2", {"use_hf_rope": True, "n_layers": 4, "no_rope_layer_interval": 4}),
    "phi_4_mini": ("phi_4_mini", _PHI),
    "phi_4_mini_long": ("phi_4_mini", {**_PHI, **_LONG_ROPE}),
    "gemma3": ("llama3", _GEMMA),
}

CUSTOM = {"model.use_sdpa_with_kv_cache": True}
_STATIC = {"model.enable_dynamic_shape": False}
_INT8_CACHE = {**CUSTOM, "model.quantize_kv_cache": True}
_LOCAL = {"model.local_global_attention": "[0,8]", "export.max_seq_length": 12}
_SINK = {"model.use_attention_sink": "'4,12'", "export.max_seq_length": 12}


def _quantized(qmode: str, embedding: str) -> dict[str, object]:
    return {
        "quantization.qmode": qmode,
        "quantization.group_size": 32,
        "quantization.embedding_quantize": f"'{embedding}'",
    }


#: Options of the exporter beyond those that all have.
VARIANTS = {
    "plain": {},
    "custom": CUSTOM,
    "static": _STATIC,
    "custom_static": {**CUSTOM, **_STATIC},
    "8da4w": _quantized("8da4w", "8,0"),
    "custom_8da4w": {**CUSTOM, **_quantized("8da4w", "4,32")},
    "4w": {**CUSTOM, **_quantized("4w", "4,32")},
    "int8": {**CUSTOM, **_quantized("int8", "8,0")},
    "int8_cache": _INT8_CACHE,
    "int8_cache_8da4w": {**_INT8_CACHE, **_quantized("8da4w", "8,0")},
    "local": _LOCAL,
    "custom_local": {**CUSTOM, **_LOCAL},
    "int8_cache_local": {**_INT8_CACHE, **_LOCAL},
    "sink": _SINK,
    "bf16": {**CUSTOM, "model.dtype_override": "bf16"},
    "fp16": {**CUSTOM, "model.dtype_override": "fp16"},
}


@dataclasses.dataclass(frozen=True)
class Exported:
    folder: Path
    options: tuple[str, ...]
    program: bytes
    printed: str

    @property
    def takes_one_token(self) -> bool:
        return "model.enable_dynamic_shape=False" in self.options

    def eager(self) -> torch.nn.Module:
        """What the exporter exports: called with tokens and ``{"input_pos": position}``."""
        quoted = ("quantization.embedding_quantize", "model.use_attention_sink")
        chosen = [o.replace("'", "") if o.startswith(quoted) else o for o in self.options if not o.startswith("hydra.")]
        config = OmegaConf.structured(llm_config.LlmConfig)
        config = OmegaConf.merge(config, OmegaConf.from_dotlist(chosen))
        config.base.metadata = None
        return export_llama_lib._prepare_for_llama_export(OmegaConf.to_object(config)).model.eval()


@functools.cache
def exported(architecture: str, variant: str) -> Exported:
    """As ``python -m executorch.backends.et_xnnpack.export_llm`` makes it."""
    folder = _checkpoint(architecture)
    path = folder / f"{variant}.pte"
    options = {
        "base.model_class": ARCHITECTURES[architecture][0],
        "base.checkpoint": folder / "model.pth",
        "base.params": folder / "params.json",
        "base.metadata": '\'{"get_bos_id": 1, "get_eos_ids": [2]}\'',
        "model.use_kv_cache": True,
        "model.use_sdpa_with_kv_cache": False,
        "model.enable_dynamic_shape": True,
        "export.max_seq_length": CONTEXT,
        "export.max_context_length": CONTEXT,
        "export.output_name": path,
        "hydra.run.dir": folder,
        **VARIANTS[variant],
    }
    options = tuple(f"{name}={value}" for name, value in options.items())
    printed = io.StringIO()
    with mock.patch.object(sys, "argv", ["export_llm", *options]), contextlib.redirect_stdout(printed):
        export_llm.main()
    return Exported(folder, options, path.read_bytes(), printed.getvalue())


_root = tempfile.TemporaryDirectory()


@functools.cache
def _checkpoint(architecture: str) -> Path:
    folder = Path(_root.name) / architecture
    folder.mkdir()
    params = {**_LLAMA, **ARCHITECTURES[architecture][1]}
    (folder / "params.json").write_text(json.dumps(params))
    if "act_fn" in params:
        params["act_fn"] = ActFn.from_string(params["act_fn"])
    torch.manual_seed(0)
    model = construct_transformer(ModelArgs(max_seq_len=CONTEXT, max_context_len=CONTEXT, use_kv_cache=False, **params))
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


def inside(program: bytes) -> str:
    """The operators in the only delegate of the method."""
    program = deserialize_pte_binary(program).program
    (delegate,) = next(p for p in program.execution_plan if p.name == "forward").delegates
    return et_xnnpack.inspect(program.backend_delegate_data[delegate.processed.index].data)


def assert_one_call(program: bytes) -> None:
    """One delegate call, and outside of it nothing but a few reads and checks of integers."""
    plan = next(p for p in deserialize_pte_binary(program).program.execution_plan if p.name == "forward")
    outside = {operator.name for operator in plan.operators}
    assert outside <= INTEGERS, outside
    steps = [type(i.instr_args).__name__ for chain in plan.chains for i in chain.instructions]
    assert steps.count("DelegateCall") == 1 and len(steps) < 25, steps
