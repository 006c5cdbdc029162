# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Small models through ExecuTorch's own exporter of language models: prefill and decode beside eager PyTorch."""

import harness
import pytest
import torch
from executorch.backends.et_xnnpack import export_llm
from llm_exporter import ARCHITECTURES, CONTEXT, LAYERS, VARIANTS, VOCABULARY, assert_one_call, exported, inside
from omegaconf import OmegaConf

pytestmark = harness.needs_runtime

#: Lengths of the calls that fill the cache: prefill and decode up to the last position, and all but one at once.
CALLS = ((7, 12, 1, 1, 3, 2, 1, 1, 1, 1, 1, 1), (31, 1), (1,) * 4, (2, 30))
#: Windows and sinks: less at once, and around the end of the ring.
RING_CALLS = ((7, 9, 1, 1, 3, 2, 1, 1, 1, 1, 1, 1), (4,) * 8)
TOKEN_BY_TOKEN = ((1,) * CONTEXT, (1,) * 3)
#: How near to eager; with integers one activation that is rounded the other way moves what follows.
COSINE = {name: 0.995 for name in VARIANTS if "8da4w" in name or "int8_cache" in name} | {"bf16": 0.999, "fp16": 0.9999}
#: Those that every run of the tests takes; the others are `large`.
USUAL = (("llama3", "plain"), ("llama3", "8da4w"), ("llama3", "custom"), ("llama3", "int8_cache"))
CASES = [("llama3", variant) for variant in VARIANTS]
CASES += [(name, "custom") for name in ARCHITECTURES if name != "llama3"]
CASES += [("qwen3", "int8_cache_8da4w"), ("phi_4_mini", "8da4w"), ("gemma3", "plain")]


@pytest.mark.parametrize(
    "architecture,variant",
    [pytest.param(*c, id="-".join(c), marks=() if c in USUAL else pytest.mark.large) for c in CASES],
)
def test_runs_like_eager_up_to_the_end_of_the_cache(architecture, variant):
    model = exported(architecture, variant)
    assert "in 1 delegate call" in model.printed
    assert_one_call(model.program)
    eager = model.eager()
    generator = torch.Generator().manual_seed(3)
    is_ring = "local" in variant or "sink" in variant
    for lengths in TOKEN_BY_TOKEN if model.takes_one_token else RING_CALLS if is_ring else CALLS:
        method = harness.load_method(model.program)
        position = 0
        for length in lengths:
            inputs = (torch.randint(3, VOCABULARY, (1, length), generator=generator), torch.tensor([position]))
            (actual,) = method.execute(inputs)
            with torch.no_grad():
                expected = eager(inputs[0], {"input_pos": inputs[1]}).reshape(actual.shape)
            if variant in COSINE:
                similarity = torch.cosine_similarity(actual.float().flatten(), expected.float().flatten(), 0)
                assert similarity > COSINE[variant]
            else:
                torch.testing.assert_close(actual, expected, atol=1e-4, rtol=1e-4)
            position += length


@pytest.mark.parametrize("variant", ["plain", "custom", "8da4w"])
def test_rotary_embeddings_are_one_operator_each(variant):
    operators = inside(exported("llama3", variant).program)
    assert operators.count("= RotaryEmbedding(") == 2 * LAYERS
    assert "= Concat(" not in operators


def test_a_configuration_file_needs_not_name_the_backend(tmp_path, monkeypatch):
    """The file of ``--config`` is all that the exporter's options are checked against."""
    model = exported("llama3", "custom")
    options = [option.replace("'", "") for option in model.options if not option.startswith("hydra.")]
    config = OmegaConf.from_dotlist(options)
    config.base.metadata = '{"get_bos_id": 1, "get_eos_ids": [2]}'
    config.export.output_name = str(tmp_path / "model.pte")
    OmegaConf.save(config, tmp_path / "config.yaml")
    monkeypatch.setattr("sys.argv", ["export_llm", "--config", str(tmp_path / "config.yaml")])
    monkeypatch.chdir(tmp_path)
    export_llm.main()
    assert_one_call((tmp_path / "model.pte").read_bytes())
