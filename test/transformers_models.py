# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Small language models of transformers with random weights."""

import torch
import transformers

CONTEXT, WINDOW, VOCABULARY, WIDTH = 32, 8, 272, 64
_COMMON = {
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": 160,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": CONTEXT,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "tie_word_embeddings": False,
}
_GEMMA = {
    "num_hidden_layers": 3,
    "head_dim": 32,
    "sliding_window": WINDOW,
    "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
}
#: What is called so in transformers, and what is special in its configuration.
CONFIGS = {
    "llama": ("LlamaConfig", {}),
    "qwen3": ("Qwen3Config", {"head_dim": 32}),
    "gemma3": ("Gemma3TextConfig", _GEMMA),
    "smollm3": ("SmolLM3Config", {"num_hidden_layers": 4, "no_rope_layers": [1, 1, 1, 0]}),
    "phi3": ("Phi3Config", {}),
}


def language_model(name: str, cache: str = "static") -> torch.nn.Module:
    """The same weights at each call."""
    kind, special = CONFIGS[name]
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, kind)(**{**_COMMON, **special})).eval()
    model.set_attn_implementation("sdpa")
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation=cache,
        max_length=CONTEXT,
        cache_config={"batch_size": 1, "max_cache_len": CONTEXT},
    )
    return model


def assert_runs_like(model: torch.nn.Module, tokens: torch.Tensor, steps, cosine: float | None = None) -> None:
    """``steps`` are the methods to call and how many of ``tokens`` each takes; the model takes all at once.

    cosine: how near the results must be, if not equal but for rounding.
    """
    with torch.no_grad():
        expected = model(tokens, use_cache=False).logits
    position = 0
    for method, length in steps:
        end = position + length
        (actual,) = method.execute((tokens[:, position:end].contiguous(), torch.arange(position, end)))
        wanted = expected[:, position:end]
        if cosine is None:
            torch.testing.assert_close(actual, wanted, atol=1e-4, rtol=1e-4)
        else:
            assert torch.cosine_similarity(actual.flatten(), wanted.flatten(), 0) > cosine
        position = end


def some_tokens(count: int, seed: int = 3) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (1, count), generator=torch.Generator().manual_seed(seed))
