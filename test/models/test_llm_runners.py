# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ExecuTorch's runners of language models with programs of ours."""

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.extension.llm.runner import (
    GenerationConfig,
    MultimodalRunner,
    TextLLMRunner,
    make_image_input,
    make_text_input,
)
from harness import needs_runtime
from llm_exporter import VOCABULARY, exported
from tokenizer import EOS, ascii_tokenizer, saved
from torch import nn
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM
from transformers_models import CONTEXT, WIDTH, language_model

pytestmark = needs_runtime

SIDE = 32
CONFIG = GenerationConfig(max_new_tokens=8, temperature=0.0, echo=False)


def greedy(scores) -> list[int]:
    """As many tokens as CONFIG asks for, or up to the end of the text; ``scores(made)`` are those of the next token."""
    made = []
    while len(made) < CONFIG.max_new_tokens and EOS not in made:
        with torch.no_grad():
            made.append(int(scores(made).flatten()[-VOCABULARY:].argmax()))
    return made


@pytest.fixture
def tokenizer():
    return ascii_tokenizer(VOCABULARY)


def test_text(tmp_path, tokenizer):
    model = exported("llama3", "custom")
    (tmp_path / "model.pte").write_bytes(model.program)
    eager = model.eager()
    runner = TextLLMRunner(str(tmp_path / "model.pte"), str(saved(tokenizer, tmp_path)))
    for prompt in "the hen", "a":
        tokens = tokenizer.encode(prompt).ids
        expected = greedy(lambda made: eager(torch.tensor([tokens + made]), {"input_pos": torch.tensor([0])}))  # noqa: B023
        pieces = []
        runner.generate(prompt, CONFIG, pieces.append)
        assert "".join(pieces) == tokenizer.decode(expected)
        runner.reset()


class Vision(nn.Module):
    """Each tile of a picture becomes what a token is to the decoder."""

    def __init__(self):
        super().__init__()
        self.tiles = nn.Conv2d(3, WIDTH, 16, 16)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x):
        return self.norm(self.tiles(x).flatten(2).transpose(1, 2))


def multimodal_program(vision) -> bytes:
    model = language_model("llama")
    tokens = torch.export.Dim("tokens", max=CONTEXT - 1)
    with torch.no_grad():
        decoder = TorchExportableModuleForDecoderOnlyLM(model, batch_size=1, max_cache_len=CONTEXT).export(
            inputs_embeds=torch.randn(1, 3, WIDTH),
            cache_position=torch.arange(3),
            dynamic_shapes={"inputs_embeds": {1: tokens}, "cache_position": {0: tokens}},
            strict=True,
        )
        ids = torch.zeros(1, 3, dtype=torch.int64)
        embedding = torch.export.export(model.get_input_embeddings(), (ids,), dynamic_shapes={"input": {1: tokens}})
        encoder = torch.export.export(vision, (torch.rand(1, 3, SIDE, SIDE),))
    metadata = {"get_max_seq_len": CONTEXT, "get_max_context_len": CONTEXT, "get_bos_id": 1, "get_eos_ids": [EOS]}
    edge = to_edge_transform_and_lower(
        {"vision_encoder": encoder, "token_embedding": embedding, "text_decoder": decoder},
        partitioner=[EtXnnpackPartitioner(require_full_delegation=True)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
        constant_methods={**metadata, "use_kv_cache": True, "enable_dynamic_shape": True},
    )
    planning = MemoryPlanningPass(alloc_graph_input=False)
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning)).buffer


def test_text_after_a_picture(tmp_path, tokenizer):
    torch.manual_seed(1)
    vision, model = Vision().eval(), language_model("llama")
    (tmp_path / "model.pte").write_bytes(multimodal_program(vision))
    picture = torch.rand(3, SIDE, SIDE)
    ids = torch.tensor([tokenizer.encode("the hen").ids])
    embed = model.get_input_embeddings()

    def scores(made):
        tokens = torch.cat([ids, torch.tensor([made], dtype=torch.int64)], 1)
        return model(inputs_embeds=torch.cat([vision(picture[None]), embed(tokens)], 1), use_cache=False).logits[0, -1]

    pieces = []
    runner = MultimodalRunner(str(tmp_path / "model.pte"), str(saved(tokenizer, tmp_path)))
    inputs = [make_image_input(picture), make_text_input("the hen")]
    runner.generate(inputs, CONFIG, pieces.append)
    assert "".join(pieces) == tokenizer.decode(greedy(scores))
