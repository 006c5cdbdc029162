# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A language model of transformers: export, quantize, lower, generate text, compare the speed.

The exit status is 0 only if the scores of the next token are those of eager PyTorch.
"""

import collections
import os
import statistics
import sys
import time
from pathlib import Path

from common import (
    OFFICIAL,
    OURS,
    console,
    lower_all,
    parse_arguments,
    positive,
    print_outside,
    step,
    table,
    use_threads,
)

MORE = """\
FOLDER has config.json, *.safetensors and tokenizer.json, as published for transformers; any model for text will do
that transformers can export with a static or hybrid cache, such as Llama, Qwen, SmolLM, Gemma, Phi. Nothing is
downloaded. Without FOLDER the model has random weights and a tokenizer that is trained on this project's
documents: its texts mean nothing, its speed is that of a model of its size (--width, --layers).

  python examples/llm.py ~/models/SmolLM2-135M-Instruct --prompt "The capital of France is"
  python examples/llm.py ~/models/Qwen3-0.6B --format fp32 --context 512 --threads 1
  python examples/llm.py --width 2048 --layers 16

Both delegates lower the same program, transformers' own. ExecuTorch's exporter writes another one, that the
official delegate is faster with: `make bench-llm` compares those, docs/language-models.md tells how to get them.
"""
GROUP = 32  # weights of 4 bits with one scale
COSINE = {"fp32": 0.99999, "8da4w": 0.99}  # of scores with those of eager PyTorch, at least


def add_arguments(parser):
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER", help="the model; without one, random weights")
    parser.add_argument("--prompt", default="Once upon a time", metavar="TEXT", help="what the text begins with")
    parser.add_argument("--tokens", type=positive, default=48, help="to generate at most (default: 48)")
    parser.add_argument("--context", type=positive, default=1024, help="tokens in the cache (default: 1024)")
    parser.add_argument(
        "--format",
        choices=COSINE,
        default="8da4w",
        help="fp32, or weights of 4 bits and activations of 8, quantized as they come (default: 8da4w)",
    )
    parser.add_argument("--width", type=positive, default=576, help="of random weights (default: 576, as SmolLM2-135M)")
    parser.add_argument("--layers", type=positive, default=30, help="of random weights (default: 30)")


def check(arguments) -> None:
    if arguments.context < 16:
        sys.exit("--context: at least 16 tokens.")
    for name in ("config.json", "tokenizer.json") if arguments.folder else ():
        if not (arguments.folder / name).exists():
            sys.exit(f"{arguments.folder} has no {name}: give a folder with a model for transformers, or none at all.")


if __name__ == "__main__":  # before the imports, which take seconds
    arguments = parse_arguments(__doc__.splitlines()[0], "llm.pte", add_arguments, MORE)
    check(arguments)

os.environ["HF_HUB_OFFLINE"] = "1"
with step("Importing PyTorch, ExecuTorch and transformers"):
    import torch
    import transformers
    from executorch.backends import et_xnnpack
    from executorch.runtime import Runtime
    from tokenizers import ByteLevelBPETokenizer, Tokenizer
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
    from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM


class OfLast(torch.nn.Module):
    """Scores of the last token only: a prompt needs no others."""

    def __init__(self, head: torch.nn.Module):
        super().__init__()
        self.head = head

    def forward(self, x):
        return self.head(x[:, -1:])


def load_model(folder: Path):
    """The model in float32 and its tokenizer."""
    try:
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        return model, transformers.AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        sys.exit(f"transformers cannot load {folder}: {error}")


def random_model(width: int, layers: int):
    """A Llama with random weights, and a tokenizer that is trained on the documents of this project."""
    pages = sorted((Path(__file__).resolve().parent.parent / "docs").glob("*.md"))
    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator((page.read_text() for page in pages), vocab_size=8192, show_progress=False)
    wrapped = transformers.PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(tokenizer.to_str()))
    heads = max(width // 64, 1)
    config = transformers.LlamaConfig(
        vocab_size=-(-len(wrapped) // GROUP) * GROUP,
        hidden_size=width,
        intermediate_size=-(-width * 8 // 3 // GROUP) * GROUP,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 3 if heads % 3 == 0 else heads,
        tie_word_embeddings=False,
        eos_token_id=None,
    )
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config), wrapped


def make_model(arguments):
    model, tokenizer = (
        load_model(arguments.folder) if arguments.folder else random_model(arguments.width, arguments.layers)
    )
    model.eval().requires_grad_(False)
    model.set_attn_implementation("sdpa")
    model.config.use_cache = True
    model.set_output_embeddings(OfLast(model.get_output_embeddings()))
    if arguments.format == "8da4w":
        quantize_(
            model,
            Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(GROUP)),
            filter_fn=lambda m, _: isinstance(m, torch.nn.Linear) and m.in_features % GROUP == 0,
        )
    return model, tokenizer


def export(model, context: int):
    """For any number of tokens at once. The cache is in the program, and so is how far it is filled."""
    windows = getattr(model.config, "sliding_window", None) is not None
    model.generation_config = transformers.GenerationConfig(
        use_cache=True,
        cache_implementation="hybrid" if windows else "static",
        cache_config={"batch_size": 1, "max_cache_len": context},
    )
    module = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=context)
    tokens = torch.export.Dim("tokens", max=context - 1)
    with torch.no_grad():
        return module.export(
            input_ids=torch.zeros(1, 3, dtype=torch.int64),
            cache_position=torch.arange(3),
            dynamic_shapes={"input_ids": {1: tokens}, "cache_position": {0: tokens}},
        )


class Text:
    """One text with a program. Each has a method of its own, and so a cache that is empty."""

    def __init__(self, program, prompt: list[int]):
        self._program = Runtime.get().load_program(program.path)  # kept: the method uses its weights
        self._method = self._program.load_method("forward")
        self._length = 0
        self.scores = self._step(prompt)

    def continue_with(self, token: int):
        self.scores = self._step([token])

    def _step(self, tokens: list[int]):
        positions = torch.arange(self._length, self._length + len(tokens))
        self._length += len(tokens)
        return self._method.execute((torch.tensor([tokens]), positions))[0].flatten()


def generate(program, prompt: list[int], count: int, ends: set[int]) -> list[int]:
    """The likeliest tokens after the prompt."""
    text, made = Text(program, prompt), []
    while len(made) < count:
        made.append(int(text.scores.argmax()))
        if made[-1] in ends:
            break
        text.continue_with(made[-1])
    return made


def measure(programs, prompt: list[int], steps: int, rounds: int = 3) -> dict[str, dict[str, float]]:
    """By program: tokens a second of the prompt and after it, milliseconds of loading. Programs take turns."""
    samples = {p.name: collections.defaultdict(list) for p in programs}
    for _ in range(rounds):
        for program in programs:
            found = samples[program.name]
            started = time.perf_counter()
            program.load()
            found["load"].append(time.perf_counter() - started)
            text = Text(program, prompt[:1])
            for tokens in prompt[1:], *([1] for _ in range(steps)):
                started = time.perf_counter()
                text._step(tokens)
                found["decode" if len(tokens) == 1 else "prefill"].append(time.perf_counter() - started)
    return {
        name: {
            "prefill": (len(prompt) - 1) / statistics.median(found["prefill"]),
            "decode": 1 / statistics.median(found["decode"]),
            "load": statistics.median(found["load"]) * 1e3,
        }
        for name, found in samples.items()
    }


def print_speed(programs, speed, length: int, threads: int) -> None:
    columns = ("delegate calls", "ops outside", "MB", "load ms", f"prefill of {length}, tokens/s", "decode, tokens/s")
    result = table(f"Speed, {threads} thread{'s' * (threads != 1)}", "", *columns)
    for p in programs:
        found = speed[p.name]
        result.add_row(
            p.name,
            str(p.delegate_calls),
            str(sum(p.outside.values())),
            f"{p.path.stat().st_size / 1e6:.1f}",
            f"{found['load']:.0f}",
            f"{found['prefill']:.1f}",
            f"{found['decode']:.1f}",
        )
    ratios = (f"{speed[OURS][k] / speed[OFFICIAL][k]:.2f}x" for k in ("prefill", "decode"))
    result.add_row("ours / official", "", "", "", "", *ratios)
    console.print(result)


def main(arguments) -> int:
    if not et_xnnpack.is_available():
        sys.exit("The compiled part of et_xnnpack is missing: run `make build`.")
    with step("Loading the model" if arguments.folder else "Making a model with random weights"):
        use_threads(arguments.threads)
        model, tokenizer = make_model(arguments)
    prompt = tokenizer.encode(arguments.prompt)
    if not 0 < len(prompt) < arguments.context:
        sys.exit(
            f"The prompt has {len(prompt)} tokens: give one of 1 to {arguments.context - 1}, or another --context."
        )
    ends = model.generation_config.eos_token_id
    ends = set(ends) if isinstance(ends, list) else {ends}
    with step("Computing the first scores in eager PyTorch"), torch.no_grad():
        expected = model(torch.tensor([prompt]), use_cache=False).logits.flatten()

    keys = ("folder", "format", "context", "width", "layers")
    settings = repr([str(getattr(arguments, key)) for key in keys])
    ours, _ = programs = lower_all(
        lambda: export(model, arguments.context),
        arguments.output,
        __file__,
        settings,
        dynamically_quantized=arguments.format != "fp32",
    )
    with step("Generating"):
        count = min(arguments.tokens, arguments.context - len(prompt))
        made = generate(ours, prompt, count, ends)
        cosine = float(torch.cosine_similarity(Text(ours, prompt).scores, expected, 0))
    console.print()
    console.print(arguments.prompt, style="dim", end="", markup=False)
    console.print(tokenizer.decode(made, skip_special_tokens=True), markup=False)
    console.print()

    with step("Measuring"):
        length = min(256, arguments.context // 2)
        long_prompt = (prompt * length)[:length]
        speed = measure(programs, long_prompt, min(arguments.repeat, arguments.context - length))
    print_speed(programs, speed, length - 1, arguments.threads)
    print_outside(ours)

    wanted = COSINE[arguments.format]
    good = cosine >= wanted
    verdict = "[green]at least[/]" if good else "[red]below[/]"
    console.print(f"Cosine of the first scores with those of eager PyTorch: {cosine:.6f}, {verdict} {wanted}")
    console.print(f"Written: {os.path.relpath(ours.path)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(arguments))
