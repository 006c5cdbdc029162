# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Optimum-ExecuTorch with the recipe of ours: prefill and decode beside eager PyTorch.

It pins an old transformers, and so runs in an environment of its own (``make test-llm``).
"""

import functools
import importlib.util
import tempfile
from pathlib import Path

import harness
import pytest
import transformers
from llm_exporter import assert_one_call
from transformers_models import CONFIGS, CONTEXT, WINDOW, assert_runs_like, language_model, some_tokens

IS_INSTALLED = importlib.util.find_spec("optimum") is not None
needs_optimum = pytest.mark.skipif(not IS_INSTALLED, reason="Optimum-ExecuTorch has an environment of its own")

_CUSTOM = {"use_custom_sdpa": True, "use_custom_kv_cache": True}
#: Options of ``main_export``.
VARIANTS = {
    "plain": {},
    "custom_sdpa": {"use_custom_sdpa": True},
    "custom": _CUSTOM,
    "static": {**_CUSTOM, "disable_dynamic_shapes": True},
    "8da4w": {**_CUSTOM, "qlinear": "8da4w", "qembedding": "8w"},
    "4w": {**_CUSTOM, "qlinear": "4w", "qembedding": "4w"},
}
COSINE = {"8da4w": 0.995}
CASES = [("llama", variant) for variant in VARIANTS]
CASES += [(name, "custom") for name in CONFIGS if name != "llama"] + [("qwen3", "8da4w"), ("gemma3", "8da4w")]
#: With a window a call takes less than it.
CALLS, WINDOW_CALLS = ((5, 9, 1, 1, 3, 1, 1), (31, 1)), ((5, WINDOW - 1, 1, 1, 3, *(1,) * 13), (4,) * 8)


@functools.cache
def folder(name):
    path = Path(_root.name) / name
    language_model(name).save_pretrained(path)
    return path


_root = tempfile.TemporaryDirectory()


@needs_optimum
@pytest.mark.large
@harness.needs_runtime
@pytest.mark.parametrize("name,variant", CASES, ids=map("-".join, CASES))
def test_runs_like_eager_up_to_the_end_of_the_cache(tmp_path, capsys, name, variant):
    from executorch.backends.et_xnnpack import optimum_recipe
    from optimum.exporters.executorch import main_export
    from optimum.exporters.executorch.quantization import quantize_model_

    options = VARIANTS[variant]
    full = {"require_full_delegation": True}
    main_export(
        str(folder(name)),
        task="text-generation",
        recipe=optimum_recipe.NAME,
        output_dir=tmp_path,
        max_seq_len=CONTEXT,
        recipe_kwargs=full,
        **options,
    )
    assert "in 1 delegate call" in capsys.readouterr().out
    program = (tmp_path / "model.pte").read_bytes()
    assert_one_call(program)
    eager = transformers.AutoModelForCausalLM.from_pretrained(folder(name), attn_implementation="sdpa").eval()
    quantize_model_(eager, qlinear_config=options.get("qlinear"), qembedding_config=options.get("qembedding"))
    is_static, has_window = "disable_dynamic_shapes" in options, name == "gemma3"
    for seed, lengths in enumerate(((1,) * CONTEXT,) if is_static else WINDOW_CALLS if has_window else CALLS):
        method = harness.load_method(program)
        steps = [(method, length) for length in lengths]
        assert_runs_like(eager, some_tokens(sum(lengths), seed), steps, COSINE.get(variant))


@pytest.mark.skipif(IS_INSTALLED, reason="Optimum-ExecuTorch is installed")
def test_says_what_is_missing():
    with pytest.raises(ImportError, match="pip install optimum-executorch"):
        importlib.import_module("executorch.backends.et_xnnpack.optimum_recipe")
