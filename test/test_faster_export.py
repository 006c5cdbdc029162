# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tests lower faster than users do, to the same programs. ``make python-test-unpatched`` runs tests as users do."""

import hashlib
import subprocess
import sys
from pathlib import Path

import faster_export
import torch
from executorch.exir import to_edge
from executorch.exir.backend.utils import is_same_node

#: Static and dynamic sizes, operators that are kept whole and that are decomposed, custom ones, states, 16 bits.
SAMPLES = (
    "adaptive_avg_pool2d",
    "attention_dynamic_causal",
    "conv2d",
    "cumprod",
    "embedding",
    "linear_8da4w_channel",
    "lstm_projection",
    "slice_scatter_dynamic",
    "state_index_put",
)
QUANTIZED = ("mobile_net", "res_net")


def print_programs() -> None:
    """The hash of each program, one a line; ``sys.argv`` says whether to patch."""
    if "patched" in sys.argv:
        faster_export.patch_torch()
    torch.manual_seed(0)  # some samples have random weights from when they are imported
    import harness
    import quantized_models
    from samples import all_samples

    samples = {sample.name: sample for sample in all_samples()}
    for name in SAMPLES:
        print(name, hashlib.sha256(harness.lower_sample(samples[name]).buffer).hexdigest())
    for model in QUANTIZED:
        _, lowered = quantized_models.quantize(getattr(quantized_models, model)().eval(), (torch.rand(1, 3, 32, 32),))
        print(model, hashlib.sha256(lowered.buffer).hexdigest())


def _programs(patched: bool) -> list[str]:
    folder = Path(__file__).parent
    code = "import sys; sys.path[:0] = sys.argv[1:2]; import test_faster_export; test_faster_export.print_programs()"
    command = [sys.executable, "-W", "ignore", "-c", code, str(folder), *(["patched"] if patched else [])]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_programs_are_the_same():
    unpatched = _programs(patched=False)
    assert len(unpatched) == len(SAMPLES) + len(QUANTIZED)
    assert _programs(patched=True) == unpatched


def test_programs_are_forgotten():
    to_edge(torch.export.export(torch.nn.Linear(2, 2), (torch.rand(1, 2),)))
    faster_export.forget_programs()
    assert is_same_node.cache_info().currsize == 0


def test_torch_is_patched_unless_told(pytestconfig):
    """Also that this run is what it is called."""
    from torch._export import utils

    assert hasattr(utils._materialize_cpp_cia_ops, "cache_info") != pytestconfig.getoption("unpatched")
