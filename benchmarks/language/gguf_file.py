# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A checkpoint of Meta's form as a file that llama.cpp reads."""

import math
from pathlib import Path

from .models import Format, LanguageModel

_TENSORS = {
    "attention.wq": "attn_q",
    "attention.wk": "attn_k",
    "attention.wv": "attn_v",
    "attention.wo": "attn_output",
    "attention.q_norm_fn": "attn_q_norm",
    "attention.k_norm_fn": "attn_k_norm",
    "attention_norm": "attn_norm",
    "feed_forward.w1": "ffn_gate",
    "feed_forward.w2": "ffn_down",
    "feed_forward.w3": "ffn_up",
    "ffn_norm": "ffn_norm",
}


def write_gguf(model: LanguageModel, form: Format, checkpoint: Path, path: Path) -> None:
    """All matrices have the type of ``form``, that of embedding and scores, which are one, included."""
    import gguf
    import torch

    kind = gguf.GGMLQuantizationType[form.gguf]
    state = torch.load(checkpoint, mmap=True)
    writer = gguf.GGUFWriter(path, model.architecture, use_temp_file=True)
    _write_parameters(writer, model)
    writer.add_file_type(gguf.LlamaFileType[{"F32": "ALL_F32"}.get(form.gguf, f"MOSTLY_{form.gguf}")])
    if model.parameters.get("use_scaled_rope"):
        writer.add_tensor("rope_freqs.weight", _rope_factors(model))
    for name, weight in state.items():
        if name != "output.weight":
            array = weight.float().numpy()
            if array.ndim == 1:
                writer.add_tensor(_name(name), array)
            else:
                writer.add_tensor(_name(name), gguf.quants.quantize(array, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _write_parameters(writer, model: LanguageModel) -> None:
    p = model.parameters
    writer.add_tokenizer_model("none")
    writer.add_vocab_size(p["vocab_size"])
    writer.add_context_length(131072)
    writer.add_embedding_length(p["dim"])
    writer.add_block_count(p["n_layers"])
    writer.add_feed_forward_length(p["hidden_dim"])
    writer.add_head_count(p["n_heads"])
    writer.add_head_count_kv(p["n_kv_heads"])
    writer.add_key_length(model.head_width)
    writer.add_value_length(model.head_width)
    writer.add_rope_dimension_count(model.head_width)
    writer.add_rope_freq_base(p["rope_theta"])
    writer.add_layer_norm_rms_eps(p["norm_eps"])


def _name(name: str) -> str:
    if name.startswith("layers."):
        _, layer, rest = name.split(".", 2)
        return f"blk.{layer}.{_TENSORS[rest.removesuffix('.weight')]}.weight"
    return {"tok_embeddings.weight": "token_embd.weight", "norm.weight": "output_norm.weight"}[name]


def _rope_factors(model: LanguageModel):
    """What frequencies are divided by in Llama 3.2: nothing for short waves, all for long ones."""
    import numpy as np

    width, scale = model.head_width, model.parameters["rope_scale_factor"]
    frequencies = model.parameters["rope_theta"] ** -(np.arange(0, width, 2) / width)
    turns = 8192 * frequencies / (2 * math.pi)  # in the context of the training before
    share = np.clip((turns - 1) / (4 - 1), 0, 1)
    return (1 / (share + (1 - share) / scale)).astype(np.float32)
