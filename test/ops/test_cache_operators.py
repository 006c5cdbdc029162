# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ExecuTorch's own operators for the caches of language models, beside what they compute in eager PyTorch."""

import copy
import functools

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401 - registers the operators
from torch import nn
from torch.export import Dim, export

pytestmark = harness.needs_runtime

llama = torch.ops.llama
decomposed = torch.ops.quantized_decomposed
CONTEXT, HEADS, KEY_HEADS, WIDTH = 40, 6, 2, 12
#: Prefill, decode, prefill again, up to the last position.
LENGTHS = (7, 1, 1, 12, 1, 2, 15, 1)
#: What is left outside: the position is read off its tensor and checked.
OUTSIDE = {
    "aten.select_copy.int",
    "aten._local_scalar_dense.default",
    "aten._assert_scalar.default",
    "aten.sym_size.int",
    "ge",
    "le",
    "lt",
    "add",
}


class Caches(nn.Module):
    def __init__(self, batch=1):
        super().__init__()
        for name in "keys", "values":
            self.register_buffer(name, torch.zeros(batch, CONTEXT, KEY_HEADS, WIDTH))


class Causal(Caches):
    """As ``export_llm`` has it: each step reads the position for itself."""

    def forward(self, q, k, v, position):
        start = position[0].item()
        llama.update_cache(k, self.keys, start)
        llama.update_cache(v, self.values, start)
        return llama.custom_sdpa(q, self.keys, self.values, position[-1].item(), None, 0.0, True)


class Unchecked(Caches):
    """As Optimum-ExecuTorch has it: attention reads the position through views, and no check says that it is one."""

    def forward(self, q, k, v, position):
        llama.update_cache(k, self.keys, position[0].item())
        llama.update_cache(v, self.values, position[0].item())
        start = position.unsqueeze(0)[0][0].item()
        return llama.custom_sdpa(q, self.keys, self.values, start, None, 0.0, True)


class Together(Caches):
    def forward(self, q, k, v, position):
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start + q.shape[1] <= CONTEXT)
        return llama.sdpa_with_kv_cache(q, k, v, self.keys, self.values, start, q.shape[1], None, 0.0, True)


class Uncausal(Caches):
    """Every row sees all of the cache that is filled."""

    def forward(self, q, k, v, position):
        start = position[0].item()
        llama.update_cache(k, self.keys, start)
        llama.update_cache(v, self.values, start)
        return llama.custom_sdpa(q, self.keys, self.values, start)


class Ring(Caches):
    """Places wrap around; a mask says what each row sees."""

    def __init__(self, batch=1):
        super().__init__(batch)
        self.register_buffer("at", torch.full((CONTEXT,), -1, dtype=torch.int64))

    def forward(self, q, k, v, position):
        start = position[0].item()
        torch._check_is_size(start)
        positions = position + torch.arange(q.shape[1])
        places = positions % CONTEXT
        self.at.index_copy_(0, places, positions)
        indices = places.unsqueeze(0).expand(q.shape[0], -1)
        llama.update_cache_with_indices(k, self.keys, start, indices)
        llama.update_cache_with_indices(v, self.values, start, indices)
        distance = positions.unsqueeze(1) - self.at
        seen = (self.at >= 0) & (distance >= 0) & (distance < 20)
        mask = torch.where(seen, 0.0, float("-inf"))
        return llama.custom_sdpa(q, self.keys, self.values, 0, mask, 0.0, False)


class Quantized(nn.Module):
    """A cache of int8 with a scale and a zero point for each head of each token, read as it is."""

    swapped = False

    def __init__(self, batch=1):
        super().__init__()
        rows = (batch, CONTEXT, KEY_HEADS)
        for name in "keys", "values":
            self.register_buffer(name, torch.zeros(*rows, WIDTH, dtype=torch.int8))
            self.register_buffer(f"{name}_scale", torch.ones(*rows, 1))
            self.register_buffer(f"{name}_zero", torch.zeros(*rows, 1, dtype=torch.int8))

    def quantize(self, x):
        scale, zero = decomposed.choose_qparams_per_token_asymmetric(x, torch.int8)
        y = decomposed.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
        return y, scale.float(), zero.to(torch.int8)

    def forward(self, q, k, v, position):
        start = position[0].item()
        for name, x in ("keys", k), ("values", v):
            for suffix, part in zip(("", "_scale", "_zero"), self.quantize(x), strict=True):
                llama.update_cache(part, getattr(self, name + suffix), start)
        q, scale, zero = self.quantize(q)
        return self.attend(start, zero, scale, q)

    def attend(self, start, zero, scale, q):
        scales = self.keys_zero, self.keys_scale, self.values_zero, self.values_scale
        return llama.custom_quantized_sdpa(q, self.keys, self.values, start, None, 0, True, None, zero, scale, *scales)


class QuantizedByHead(Quantized):
    """The same with the heads outside."""

    def attend(self, start, zero, scale, q):
        parts = q, self.keys, self.values, zero, scale
        parts += (self.keys_zero, self.keys_scale, self.values_zero, self.values_scale)
        q, keys, values, *scales = (x.transpose(1, 2).contiguous() for x in parts)
        y = llama.custom_quantized_sdpa(q, keys, values, start, None, 0, True, None, *scales, True)
        return y.transpose(1, 2)


class Dequantized(Quantized):
    """What is read of the cache becomes floats first, and what was just written stays as it was."""

    def forward(self, q, k, v, position):
        start = position[0].item()
        read = []
        for name, x in ("keys", k), ("values", v):
            for suffix, part in zip(("", "_scale", "_zero"), self.quantize(x), strict=True):
                llama.update_cache(part, getattr(self, name + suffix), start)
            scale, zero = getattr(self, name + "_scale").double(), getattr(self, name + "_zero").long()
            integers = getattr(self, name)
            y = decomposed.dequantize_per_token(integers, scale, zero, -128, 127, torch.int8, torch.float32)
            llama.update_cache(x, y, start)
            read.append(y)
        return llama.custom_sdpa(q, *read, start, None, 0.0, True)


MODULES = (Causal, Unchecked, Together, Uncausal, Ring, Quantized, QuantizedByHead, Dequantized)


def example(length, position, batch=1, generator=None):
    def rand(heads):
        return torch.randn(batch, length, heads, WIDTH, generator=generator)

    return rand(HEADS), rand(KEY_HEADS), rand(KEY_HEADS), torch.tensor([position])


@functools.cache
def lower(cls, batch=1, length=5):
    module = cls(batch)
    tokens = Dim("tokens", min=1, max=CONTEXT - 1)
    axes = None if length == 1 else [{1: tokens}] * 3 + [None]
    program = export(module, example(length, 3, batch), dynamic_shapes=axes)
    return harness.lower_exported(program, _check_ir_validity=False)


def check(lowered, module, lengths, threads, batch=1, start=0):
    generator = torch.Generator().manual_seed(5)
    with et_xnnpack.load_options(num_threads=threads):
        method = harness.load_method(lowered.buffer)
    eager = copy.deepcopy(module)
    position = start
    for length in lengths:
        inputs = example(length, position, batch, generator)
        (actual,) = method.execute(inputs)
        torch.testing.assert_close(actual, eager(*inputs), atol=2e-5, rtol=2e-5)
        position += length


@pytest.mark.parametrize("cls", MODULES, ids=lambda c: c.__name__)
def test_is_one_call_that_computes_what_eager_does(cls):
    module, lowered = cls(), lower(cls)
    assert len(lowered.delegates) == 1, str(lowered.report)
    assert set(lowered.outside) <= OUTSIDE, str(lowered.report)
    assert not lowered.program.graph_signature.buffers_to_mutate
    for threads in 0, 1:
        check(lowered, module, LENGTHS, threads)
        check(lowered, module, (3, 1, 36) if cls is not Ring else (3, 1, 20, 20, 30, 1), threads)


@pytest.mark.parametrize("cls", (Causal, Ring), ids=lambda c: c.__name__)
def test_batches(cls):
    module, lowered = cls(batch=2), lower(cls, batch=2)
    assert len(lowered.delegates) == 1, str(lowered.report)
    check(lowered, module, LENGTHS, 1, batch=2)


def test_one_token_at_a_time():
    module, lowered = Causal(), lower(Causal, length=1)
    assert len(lowered.delegates) == 1, str(lowered.report)
    check(lowered, module, (1,) * CONTEXT, 1)


def test_reads_the_cache_as_it_is_stored():
    """Neither transposed nor as floats, which would take the time of the whole cache."""
    for cls in Causal, Quantized:
        (graph,) = lower(cls).optimized.values()
        (attention,) = (n for n in graph.nodes if n.is_a(et_xnnpack.serialization.schema.Attention))
        producers = {type(graph.producers[i].attributes).__name__ for i in attention.inputs[1:] if i is not None}
        assert producers == {"SliceScatter"}


@pytest.mark.parametrize("cls", (Causal, Unchecked), ids=lambda c: c.__name__)
def test_a_position_outside_the_cache_fails_and_changes_nothing(cls):
    module, lowered = cls(), lower(cls)
    method = harness.load_method(lowered.buffer)
    generator = torch.Generator().manual_seed(5)
    eager = copy.deepcopy(module)
    for length, position in (5, 0), (1, CONTEXT), (3, -1), (7, CONTEXT - 6), (2, 5):
        inputs = example(length, position, generator=generator)
        if 0 <= position <= CONTEXT - length:
            torch.testing.assert_close(method.execute(inputs)[0], eager(*inputs), atol=2e-5, rtol=2e-5)
        else:
            with pytest.raises(RuntimeError):
                method.execute(inputs)


def test_a_mask_beside_causal_is_refused():
    """The operator fails with both."""

    class Both(Caches):
        def forward(self, q, k, v, position):
            mask = torch.zeros(q.shape[1], CONTEXT)
            return llama.custom_sdpa(q, self.keys, self.values, 0, mask, 0.0, True)

    lowered = lower(Both)
    assert "a mask or is causal, not both" in str(lowered.report)
