# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import harness
import pytest
import torch
from executorch.backends.et_xnnpack.aot.passes import narrow_tables as module
from torch import nn
from torch.export import Dim, export

TEXT = """
    in %i: Int64[3]
    const %t: Float32[2, 2] = {numbers}
    %y: Float32[3, 2] = Index(%t, %i)
    out %y
"""


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "_LARGE", 0)


@pytest.mark.parametrize(
    "dtype,numbers", (("BFloat16", "[0.5, 1, -3, 1e38]"), ("Float16", "[0.5, 1.0009765625, -3, 0]"))
)
def test_numbers_that_16_bits_hold(check, small, dtype, numbers):
    if dtype == "BFloat16":
        numbers = numbers.replace("1e38", str(float(torch.tensor(1e38).bfloat16())))
    graph = check(
        module.narrow_tables,
        TEXT.format(numbers=numbers),
        f"""
        in %i: Int64[3]
        const %t: {dtype}[2, 2] = {numbers}
        %z: {dtype}[3, 2] = Index(%t, %i)
        %y: Float32[3, 2] = Cast(%z) dtype=Float32
        out %y
        """,
    )
    assert [v.dtype.name for v in graph.values.values() if v.constant is not None] == [dtype]


def test_other_numbers_stay(check, small):
    check(module.narrow_tables, TEXT.format(numbers="[0.1, 1, -3, 4]"))


def test_small_tables_stay(check):
    check(module.narrow_tables, TEXT.format(numbers="[0.5, 1, -3, 4]"))


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float16))
def test_a_tied_embedding_is_stored_once_and_stays_in_16_bits(dtype):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Parameter(torch.randn(5000, 64).to(dtype).float())

        def forward(self, tokens):
            return nn.functional.linear(nn.functional.embedding(tokens, self.table), self.table)

    model = Model().eval()
    lowered = harness.lower_exported(
        export(model, (torch.arange(7),), dynamic_shapes=({0: Dim("tokens", min=1, max=9)},))
    )
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    assert model.table.numel() * 2 < len(lowered.buffer) < model.table.numel() * 2.1
    method = harness.load_method(lowered.buffer)
    for length in 7, 1, 9:
        tokens = torch.arange(length) * 555
        (scores,) = method.execute((tokens,))
        torch.testing.assert_close(scores, model(tokens).detach(), rtol=1e-4, atol=1e-4)
