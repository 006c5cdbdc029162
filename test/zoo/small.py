# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Models of transformers with small configurations."""

import dataclasses

from .modules import Named

VOCABULARY = 128
#: What a configuration has of these is set, whatever the architecture calls it.
SIZES = {
    **dict.fromkeys(("vocab_size", "unpadded_vocab_size"), VOCABULARY),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("num_decoder_layers", "num_encoder_layers", "encoder_num_layers", "decoder_num_layers"), 2),
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size"), 64),
    **dict.fromkeys(("intermediate_size", "n_inner", "d_ff", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 128),
    **dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "ffn_hidden_size", "hidden_dim"), 96),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "num_encoder_attention_heads", "num_decoder_attention_heads"), 4),
    "num_key_value_heads": 2,
    **dict.fromkeys(("head_dim", "d_kv", "v_head_dim", "qk_nope_head_dim", "global_head_dim"), 16),
    **dict.fromkeys(("qk_rope_head_dim", "rotary_dim"), 8),
    **dict.fromkeys(("kv_lora_rank", "q_lora_rank"), 32),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4),
    **dict.fromkeys(("num_experts_per_tok", "moe_topk", "moe_k"), 2),
    **dict.fromkeys(("n_group", "topk_group", "num_expert_group"), 1),
    "first_k_dense_replace": 1,
    **dict.fromkeys(("sliding_window", "attention_window_size"), 8),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 64),
    "image_size": 64,
    "layerdrop": 0.0,
    "mask_time_prob": 0.0,
    "mask_feature_prob": 0.0,
    **dict.fromkeys(("bos_token_id", "decoder_start_token_id"), 1),
    "eos_token_id": 2,
    "pad_token_id": 0,
}


def configuration(kind: str, **special):
    """The small configuration of the architecture that transformers calls ``kind``, with ``special`` on top."""
    import transformers

    type_ = transformers.CONFIG_MAPPING[kind]
    usual = {f.name: getattr(type_, f.name, None) for f in dataclasses.fields(type_)}
    small = {name: size for name, size in SIZES.items() if _replaces(usual.get(name), size)}
    return type_(**{**small, **special})


def _replaces(usual, size) -> bool:
    """Whether a size that is ``usual`` may be this one: what is a list or a text may not."""
    return usual is not None and isinstance(usual, (int, float)) and not isinstance(usual, bool) and size is not None


def model(kind: str, auto: str, inputs: dict, attention: str = "sdpa", fixed: dict | None = None, **special):
    """``auto`` is the class of transformers that makes the model; ``inputs`` are tensors by name.

    Returns what ``Architecture.build`` does. Results are what of the model's are tensors.
    """
    import transformers

    config = configuration(kind, **special)
    class_ = getattr(transformers, auto)
    if hasattr(class_, "from_config"):
        made = class_.from_config(config)
    else:
        made = class_(config)
    return Named(made.eval(), tuple(inputs), {"return_dict": True, **(fixed or {})}), tuple(inputs.values())
