# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Language models of transformers: encoders, decoders with and without caches, mixtures of experts, state spaces."""

import functools

from . import small
from .registry import BATCH, LENGTH, Architecture, Size

_ENCODERS = """albert bert big_bird camembert canine convbert data2vec-text deberta deberta-v2 distilbert electra
ernie esm eurobert flaubert fnet funnel ibert layoutlm longformer luke megatron-bert mobilebert
modernbert mpnet mra nomic_bert nystromformer rembert roberta roberta-prelayernorm roc_bert roformer
squeezebert tapas xlm xlm-roberta-xl xmod yoso"""
_DECODERS = """apertus arcee biogpt bitnet bloom codegen cohere cohere2 cpmant ctrl diffllama doge ernie4_5 exaone4
falcon gemma gemma2 gemma3_text gemma3n_text glm glm4 gpt2 gpt_bigcode gpt_neo gpt_neox gptj granite
helium hunyuan_v1_dense lfm2 llama minicpm3 ministral mistral modernbert-decoder mpt nanochat
nemotron olmo olmo2 olmo3 openai-gpt opt persimmon phi phi3 qwen2 qwen3 seed_oss smollm3 stablelm
starcoder2 vaultgemma xglm xlnet"""
_MIXTURES = """afmoe deepseek_v2 deepseek_v3 dots1 ernie4_5_moe flex_olmo glm4_moe gpt_oss granitemoe
hunyuan_v1_moe jetmoe lfm2_moe longcat_flash minimax mixtral olmoe phimoe qwen2_moe qwen3_moe"""
_STATE_SPACES = """bamba falcon_h1 falcon_mamba granitemoehybrid jamba mamba mamba2 nemotron_h qwen3_next
recurrent_gemma rwkv xlstm zamba2"""
_SEQ2SEQ = """bart bigbird_pegasus blenderbot blenderbot-small fsmt led longt5 m2m_100 marian mbart mt5 mvp
nllb-moe pegasus pegasus_x plbart prophetnet switch_transformers t5 umt5"""
_CACHED = "gemma2 gpt2 gpt_neox llama mistral mixtral olmo2 opt phi qwen2 qwen3 stablelm"
_STATIC = "gemma llama mistral olmo phi3 qwen2 qwen3 smollm3"

#: What the sizes that all have do not make small, or not consistent.
_SPECIAL = {
    "deepseek_v2": {"num_key_value_heads": 4, "num_experts_per_tok": 2},
    "deepseek_v3": {"num_key_value_heads": 4},
    "dots1": {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2},
    "esm": {"vocab_size": 128, "pad_token_id": 0, "mask_token_id": 3},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "hunyuan_v1_dense": {"head_dim": 16},
    "hunyuan_v1_moe": {"head_dim": 16},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "longcat_flash": {"num_key_value_heads": 4, "head_dim": 8},
    "luke": {"entity_vocab_size": 32, "entity_emb_size": 32},
    "minicpm3": {"num_key_value_heads": 4},
    "ministral": {"head_dim": 16},
    "nemotron": {"num_key_value_heads": 2},
    "albert": {"embedding_size": 32},
    "bamba": {"mamba_n_heads": 8, "mamba_d_head": 16, "attn_layer_indices": [1]},
    "falcon_h1": {"mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_ssm": 128},
    "funnel": {"block_sizes": [1, 1], "d_head": 16, "d_inner": 128, "vocab_size": 128},
    "gemma3n_text": {"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 16, "vocab_size_per_layer_input": 128},
    "granitemoehybrid": {"mamba_n_heads": 8, "mamba_d_head": 16, "layer_types": ["mamba", "attention"]},
    "longformer": {"attention_window": 8},
    "mamba2": {"num_heads": 8, "head_dim": 16, "chunk_size": 8},
    "mobilebert": {"intra_bottleneck_size": 32, "embedding_size": 32, "true_hidden_size": 32},
    "phi3": {"rope_scaling": None},
    "rembert": {"input_embedding_size": 32, "output_embedding_size": 32},
    "roformer": {"embedding_size": 64},
    "xlm": {"n_words": 128},
    "flaubert": {"n_words": 128, "pre_norm": False},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "zamba2": {"layers_block_type": ["mamba", "hybrid"], "mamba_headdim": 16, "n_mamba_heads": 8},
    "deberta-v2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
    "deberta": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]},
}
#: Where the automatic class knows several.
_CLASSES = {"funnel": "FunnelModel"}


def _tokens(batch: int, length: int):
    import torch

    return torch.randint(3, small.VOCABULARY, (batch, length))


def _text(kind, auto, masked):
    import torch

    inputs = {"input_ids": _tokens(2, 12)}
    if masked:
        inputs["attention_mask"] = torch.ones(2, 12, dtype=torch.int64)
        inputs["attention_mask"][1, 9:] = 0
    fixed = {} if masked else {"use_cache": False}
    module, given = small.model(kind, _CLASSES.get(kind, auto), inputs, fixed=fixed, **_SPECIAL.get(kind, {}))
    if kind == "rwkv":
        module(*given)  # divides some of its weights when it is first called
    return module, given


def _seq2seq(kind):
    inputs = {"input_ids": _tokens(2, 12), "decoder_input_ids": _tokens(2, 8)}
    return small.model(kind, "AutoModelForSeq2SeqLM", inputs, fixed={"use_cache": False}, **_SPECIAL.get(kind, {}))


def _growing(kind):
    import torch
    from transformers import AutoModelForCausalLM

    from .modules import WithCache

    config = small.configuration(kind, **_SPECIAL.get(kind, {}))
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    past = [torch.randn(2, heads, 7, width) for _ in range(2 * config.num_hidden_layers)]
    return WithCache(AutoModelForCausalLM.from_config(config).eval()), (_tokens(2, 1), *past)


def _static(kind):
    import torch
    from transformers import AutoModelForCausalLM, GenerationConfig
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM

    model = AutoModelForCausalLM.from_config(small.configuration(kind, **_SPECIAL.get(kind, {}))).eval()
    cache = {"batch_size": 1, "max_cache_len": 32}
    model.generation_config = GenerationConfig(
        use_cache=True, cache_implementation="static", max_length=32, cache_config=cache
    )
    module = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=32).model
    from .modules import Named

    return Named(module, ("input_ids", "cache_position"), {}), (_tokens(1, 5), torch.arange(5))


def _named(names: str, family: str, prefix: str, build, dynamic, strict: bool = False) -> list[Architecture]:
    return [
        Architecture(f"transformers/{prefix}{name}", family, functools.partial(build, name), dynamic, strict)
        for name in names.split()
    ]


_BOTH = {0: BATCH, 1: LENGTH}
_encoder = functools.partial(_text, auto="AutoModel", masked=True)
_decoder = functools.partial(_text, auto="AutoModelForCausalLM", masked=False)
_TARGET = Size("target", 12)
_PAST = {i: {0: BATCH, 2: Size("past", 15)} for i in range(1, 5)}

ARCHITECTURES = [
    *_named(_ENCODERS, "encoders", "", _encoder, {0: _BOTH, 1: _BOTH}),
    *_named(_DECODERS, "decoders", "", _decoder, {0: _BOTH}),
    *_named(_CACHED, "decoders with a growing cache", "growing-cache-", _growing, {0: {0: BATCH}, **_PAST}),
    *_named(
        _STATIC,
        "decoders with a static cache",
        "static-cache-",
        _static,
        {0: {1: Size("length", 31)}, 1: {0: Size("length", 31)}},
        strict=True,
    ),
    *_named(_MIXTURES, "mixtures of experts", "", _decoder, {0: _BOTH}),
    *_named(_STATE_SPACES, "state spaces and recurrent", "", _decoder, {0: _BOTH}),
    *_named(_SEQ2SEQ, "sequence to sequence", "", _seq2seq, {0: _BOTH, 1: {0: BATCH, 1: _TARGET}}),
]
