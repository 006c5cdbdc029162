# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A checkpoint of Meta's form as a folder such as models are published in for transformers."""

from pathlib import Path

from .models import LanguageModel

_NAMES = {
    "attention.wq": "self_attn.q_proj",
    "attention.wk": "self_attn.k_proj",
    "attention.wv": "self_attn.v_proj",
    "attention.wo": "self_attn.o_proj",
    "attention.q_norm_fn": "self_attn.q_norm",
    "attention.k_norm_fn": "self_attn.k_norm",
    "attention_norm": "input_layernorm",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w2": "mlp.down_proj",
    "feed_forward.w3": "mlp.up_proj",
    "ffn_norm": "post_attention_layernorm",
}


def write_folder(model: LanguageModel, checkpoint: Path, folder: Path) -> None:
    """config.json, model.safetensors in bfloat16, and a tokenizer of one token that nobody asks."""
    import torch
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

    p = model.parameters
    config = AutoConfig.for_model(
        model.architecture,
        hidden_size=p["dim"],
        num_hidden_layers=p["n_layers"],
        num_attention_heads=p["n_heads"],
        num_key_value_heads=p["n_kv_heads"],
        head_dim=model.head_width,
        intermediate_size=p["hidden_dim"],
        vocab_size=p["vocab_size"],
        rms_norm_eps=p["norm_eps"],
        rope_parameters=_rope(model),
        max_position_embeddings=131072,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
    )
    state = torch.load(checkpoint, mmap=True)
    weights = {_name(n): _in_halves(model, n, w) for n, w in state.items() if n != "output.weight"}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
    with torch.device("meta"):
        module = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    module.load_state_dict(weights, assign=True)
    module.save_pretrained(folder)
    tokenizer = Tokenizer(WordLevel({"<unk>": 0}, unk_token="<unk>"))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(folder)


def _rope(model: LanguageModel) -> dict[str, object]:
    p = model.parameters
    if not p.get("use_scaled_rope"):
        return {"rope_type": "default", "rope_theta": p["rope_theta"]}
    return {
        "rope_type": "llama3",
        "rope_theta": p["rope_theta"],
        "factor": float(p["rope_scale_factor"]),
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }


def _name(name: str) -> str:
    if name.startswith("layers."):
        _, layer, rest = name.split(".", 2)
        return f"model.layers.{layer}.{_NAMES[rest.removesuffix('.weight')]}.weight"
    return {"tok_embeddings.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight"}[name]


def _in_halves(model: LanguageModel, name: str, weight):
    """Meta's models rotate neighbours of a head together, transformers' ones element i of both halves."""
    if model.parameters.get("use_hf_rope") or not name.endswith((".wq.weight", ".wk.weight")):
        return weight
    pairs = weight.view(-1, model.head_width // 2, 2, weight.shape[1])
    return pairs.transpose(1, 2).reshape(weight.shape).contiguous()
