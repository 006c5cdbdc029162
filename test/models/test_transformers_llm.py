# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Language models as transformers exports them: prefill and decode beside eager PyTorch."""

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.runtime import Runtime
from harness import needs_runtime
from transformers.integrations.executorch import TorchExportableModuleForDecoderOnlyLM
from transformers_models import CONFIGS, CONTEXT, assert_runs_like, language_model, some_tokens

pytestmark = needs_runtime

#: Lengths of the calls that fill the cache: prefill, decode, prefill again.
CALLS = ((5, 9, 1, 1, 3, *(1,) * 13), (31, 1), (2, 20, 1))
CASES = [(name, "hybrid" if name == "gemma3" else "static") for name in CONFIGS]
#: Those that every run of the tests takes; the others are `large`.
USUAL = (("gemma3", "hybrid"),)


def export(name, cache, length):
    """A method that takes any number of tokens, or one of one token."""
    module = TorchExportableModuleForDecoderOnlyLM(language_model(name, cache), batch_size=1, max_cache_len=CONTEXT)
    axes = None
    if length > 1:
        tokens = torch.export.Dim("tokens", max=CONTEXT - 1)
        axes = {"input_ids": {1: tokens}, "cache_position": {0: tokens}}
    ids, positions = torch.zeros(1, length, dtype=torch.int64), torch.arange(length)
    with torch.no_grad():
        return module.export(input_ids=ids, cache_position=positions, dynamic_shapes=axes, strict=True)


def lower(programs):
    """Their program, of which each method is one delegate call with nothing outside."""
    edge = to_edge_transform_and_lower(
        programs,
        partitioner=[EtXnnpackPartitioner(require_full_delegation=True)],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )
    return Runtime.get().load_program(edge.to_executorch().buffer)


@pytest.mark.parametrize(
    "name,cache", [pytest.param(*c, id=c[0], marks=() if c in USUAL else pytest.mark.large) for c in CASES]
)
def test_runs_like_eager_up_to_the_end_of_the_cache(name, cache):
    program, model = lower({"forward": export(name, cache, 3)}), language_model(name)
    for lengths in CALLS:
        method = program.load_method("forward")
        assert_runs_like(model, some_tokens(sum(lengths)), [(method, length) for length in lengths])


@pytest.mark.large
def test_prefill_and_decode_have_one_cache():
    program = lower({"prefill": export("llama", "static", 3), "decode": export("llama", "static", 1)})
    model = language_model("llama")
    for group, seed in (1, 3), (2, 4):
        with et_xnnpack.load_options(state_group=group):
            methods = {name: program.load_method(name) for name in ("prefill", "decode")}
        names = [("prefill", 7), *[("decode", 1)] * 5, ("prefill", 6), *[("decode", 1)] * 3]
        assert_runs_like(model, some_tokens(21, seed), [(methods[name], length) for name, length in names])
