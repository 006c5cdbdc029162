# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Language models in their true shapes, with random weights that all engines share."""

import dataclasses
import json
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class LanguageModel:
    """``parameters`` are those of ExecuTorch's exporter, which knows the model as ``exporter_class``."""

    title: str
    exporter_class: str
    architecture: str  #: in GGUF
    parameters: dict[str, object]

    @property
    def head_width(self) -> int:
        return self.parameters.get("head_dim") or self.parameters["dim"] // self.parameters["n_heads"]

    @property
    def linears(self) -> list[tuple[int, int]]:
        """Rows and columns of each weight that a step reads, that of the scores included."""
        p = self.parameters
        queries, keys = p["n_heads"] * self.head_width, p["n_kv_heads"] * self.head_width
        width, hidden = p["dim"], p["hidden_dim"]
        layer = [(queries, width), (keys, width), (keys, width), (width, queries)]
        layer += [(hidden, width), (hidden, width), (width, hidden)]
        return layer * p["n_layers"] + [(p["vocab_size"], width)]

    @property
    def numbers_of_token(self) -> int:
        """In the cache of keys and values."""
        return 2 * self.parameters["n_layers"] * self.parameters["n_kv_heads"] * self.head_width


MODELS = {
    "smollm2_135m": LanguageModel(
        "SmolLM2-135M",
        "smollm2",
        "llama",
        {
            "dim": 576,
            "n_layers": 30,
            "n_heads": 9,
            "n_kv_heads": 3,
            "hidden_dim": 1536,
            "vocab_size": 49152,
            "norm_eps": 1e-5,
            "rope_theta": 100000.0,
        },
    ),
    "qwen3_0_6b": LanguageModel(
        "Qwen3-0.6B",
        "qwen3_0_6b",
        "qwen3",
        {
            "dim": 1024,
            "n_layers": 28,
            "n_heads": 16,
            "n_kv_heads": 8,
            "head_dim": 128,
            "hidden_dim": 3072,
            "vocab_size": 151936,
            "norm_eps": 1e-6,
            "rope_theta": 1000000.0,
            "use_hf_rope": True,
            "use_qk_norm": True,
            "qk_norm_before_rope": True,
        },
    ),
    "llama_3_2_1b": LanguageModel(
        "Llama-3.2-1B",
        "llama3_2",
        "llama",
        {
            "dim": 2048,
            "n_layers": 16,
            "n_heads": 32,
            "n_kv_heads": 8,
            "hidden_dim": 8192,
            "vocab_size": 128256,
            "norm_eps": 1e-5,
            "rope_theta": 500000.0,
            "use_scaled_rope": True,
            "rope_scale_factor": 32,
        },
    ),
    "tiny": LanguageModel(
        "two small layers",
        "llama3",
        "llama",
        {
            "dim": 128,
            "n_layers": 2,
            "n_heads": 4,
            "n_kv_heads": 2,
            "hidden_dim": 384,
            "vocab_size": 1000,
            "norm_eps": 1e-5,
            "rope_theta": 500000.0,
        },
    ),
}
TRIAL = "tiny"  # shows in a minute that everything works, and is no model to measure


@dataclasses.dataclass(frozen=True)
class Format:
    """A number format: options of ExecuTorch's exporter, and the types of other engines with as many bits."""

    title: str
    weight_bits: float  #: with a scale of 16 bits for each group of 4-bit weights
    cache_bits: int
    gguf: str
    onnx: str | None  #: precision of ONNX Runtime GenAI
    exporter: dict[str, object]


GROUP = 32  # weights with one scale


def _quantized(qmode: str) -> dict[str, object]:
    return {
        "quantization.qmode": qmode,
        "quantization.group_size": GROUP,
        "quantization.embedding_quantize": "'8,0'",
    }


FORMATS = {
    "fp32": Format("float32", 32, 32, "F32", "fp32", {}),
    "bf16": Format("bfloat16", 16, 16, "BF16", None, {"model.dtype_override": "bf16"}),
    "8da4w": Format("8da4w", 4 + 16 / GROUP, 32, "Q4_0", "int4", _quantized("8da4w")),
    "int8": Format("int8 weights", 8, 32, "Q8_0", "int8", _quantized("int8")),
    "int4": Format("int4 weights", 4 + 16 / GROUP, 32, "Q4_0", "int4", _quantized("4w")),
}


def bytes_of_step(model: LanguageModel, form: Format, position: int) -> float:
    """What a step with ``position`` tokens before it must read: each weight once, and the cache."""
    weights = sum(rows * columns for rows, columns in model.linears)
    return (weights * form.weight_bits + model.numbers_of_token * position * form.cache_bits) / 8


def write_checkpoint(model: LanguageModel, folder: Path) -> None:
    """model.pth and params.json as Meta publishes them, unless they are there: bfloat16, and one embedding."""
    if (folder / "model.pth").exists():
        return
    import torch
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs

    (folder / "params.json").write_text(json.dumps(model.parameters))
    arguments = ModelArgs(max_seq_len=8, max_context_len=8, use_kv_cache=False, **model.parameters)
    with torch.device("meta"):
        shapes = {name: p.shape for name, p in construct_transformer(arguments).named_parameters()}
    generator = torch.Generator().manual_seed(0)
    state = {}
    for name, shape in shapes.items():
        noise = torch.randn(shape, generator=generator)
        if len(shape) == 1:
            noise = 1 + 0.1 * noise
        elif "embeddings" not in name:
            noise *= shape[-1] ** -0.5
        state[name] = noise.bfloat16()
    # Of the size that scores want; an embedding is normalized before anything multiplies it.
    state["tok_embeddings.weight"] = state["output.weight"]
    partial = folder / "model.pth.partial"
    torch.save(state, partial)
    partial.rename(folder / "model.pth")
