# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Dynamic sizes may be 0: every sample without elements, and programs in which only some operands have none."""

import inspect
import itertools

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends import et_xnnpack
from promises import Promises
from samples import Function, Sample, Size, all_samples
from torch import nn
from torch.export import Dim

pytestmark = harness.needs_runtime


def _plain(x: torch.Tensor) -> torch.Tensor:
    """``x`` with the usual strides, which ``contiguous`` does not give to an empty tensor: without, the runtime ends
    the process, too."""
    return x if x.numel() > 0 else torch.empty(x.shape, dtype=x.dtype)


def _is_contiguous(sample: Sample) -> bool:
    """ExecuTorch's Python runtime ends the process for an empty tensor in another layout."""
    return all(a.memory_format == torch.contiguous_format for a in sample.arguments)


def _is_taken_by_eager(sample: Sample) -> bool:
    """ExecuTorch's attention in caches divides by the number of rows in eager PyTorch, which ends the process."""
    return not sample.name.startswith("attention_cached")


SAMPLES = {s.name: s for s in all_samples() if s.sizes and _is_contiguous(s) and _is_taken_by_eager(s)}


def export(sample: Sample) -> torch.export.ExportedProgram | None:
    """The program with every dynamic size down to 0; None if PyTorch does not let it be."""
    dims = {s.name: Dim(s.name, min=0, max=s.max) for s in sample.sizes}
    dynamic = tuple({i: dims[s.name] for i, s in enumerate(a.shape) if isinstance(s, Size)} for a in sample.arguments)
    if any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(sample.module.forward).parameters.values()):
        dynamic = (dynamic,)
    try:
        with torch.no_grad():
            return torch.export.export(sample.module, sample.inputs(), dynamic_shapes=dynamic)
    except (ValueError, torch._dynamo.exc.UserError) as error:
        assert "Constraints violated" in str(error)
        return None


def calls(sizes: list[Size]):
    """Sizes by name: which of them are 0; none in between and at the end."""
    which = list(itertools.product((False, True), repeat=len(sizes)))[1:]
    if len(sizes) > 2:
        which = [tuple(i == k for i in range(len(sizes))) for k in range(len(sizes))]
    none = (False,) * len(sizes)
    for zeros in (none, *which, none, which[0]):
        yield {s.name: 0 if zero else s.example for s, zero in zip(sizes, zeros, strict=True)}


@pytest.mark.sampled
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_without_elements_equal_eager(name):
    sample = SAMPLES[name]
    exported = export(sample)
    if exported is None:
        return
    lowered = harness.lower_exported(exported, sample.preserve, **sample.config)
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    eager, promises = sample.eager(), Promises(exported)
    generator = torch.Generator().manual_seed(sample.seed)
    for sizes in calls(sample.sizes):
        try:
            inputs = tuple(_plain(a.tensor(sizes, generator)) for a in sample.arguments)
            expected = eager(inputs)
            if not promises.hold(*inputs):
                continue
        except (RuntimeError, IndexError, TypeError, ValueError):
            assert 0 in sizes.values()  # eager PyTorch refuses to be without elements
            continue
        harness.assert_equal(method.execute(inputs), expected, sample)


class Growing(nn.Module):
    """A cache that is empty at the first step, in XNNPACK between weights."""

    def __init__(self):
        super().__init__()
        self.key, self.out = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, past, x):
        k = torch.cat([past, self.key(x)], 1)
        return self.out(F.scaled_dot_product_attention(x, k, k)), k


class Independent(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.conv = nn.Linear(4, 5), nn.Linear(4, 6), nn.Conv2d(3, 4, 3)

    def forward(self, x, y, image):
        return self.a(x).relu(), self.b(y).relu(), self.conv(image).relu()


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x, y):
        self.total.add_(self.linear(torch.cat([x, y])).sum(0))
        return torch.cat([x, self.total[None]]) * 2


A, B = Dim("a", min=0, max=16), Dim("b", min=0, max=16)

PROGRAMS = {
    "growing": (Growing, ((2, A, 8), (2, 1, 8))),
    "inner_size": (lambda: lambda x, y: x @ y + 1, ((2, A), (A, 4))),
    "inner_size_of_many": (lambda: lambda x, y: (x @ y).relu(), ((B, 2, A), (B, A, 4))),
    "independent": (Independent, ((A, 4), (B, 4), (B, 3, 4, 4))),
    "cat": (lambda: lambda x, y: torch.cat([x.relu(), y.neg(), x.abs()], 1).relu() * 2, ((3, A), (3, B))),
    "reductions": (
        lambda: lambda x, y: (x.sum(0) + y.relu(), x.prod(0), x.mean(0), (x > 0).any(0), (x > 0).all(0)),
        ((A, 4), (B, 4)),
    ),
    "pad": (lambda: lambda x: F.pad(x.relu(), (1, 2)) * 2, ((3, A),)),
    "full_of_batch": (lambda: lambda x, y: (torch.cumsum(x, 0), x.softmax(0), y.softmax(-1) * 2), ((A, 4), (B, 4))),
    "state": (Stateful, ((A, 4), (B, 4))),
}


@pytest.mark.parametrize("weight_cache", (True, False))
@pytest.mark.parametrize("num_threads", (0, 1))
@pytest.mark.parametrize("name", PROGRAMS)
def test_only_some_operands_are_empty(name, num_threads, weight_cache):
    make, shapes = PROGRAMS[name]
    torch.manual_seed(1)
    program = make()
    model = program if isinstance(program, nn.Module) else Function(program)
    model.eval()
    if isinstance(model, Function):
        dynamic = (tuple({i: d for i, d in enumerate(s) if not isinstance(d, int)} for s in shapes),)
    else:
        dynamic = tuple({i: d for i, d in enumerate(s) if not isinstance(d, int)} for s in shapes)

    def tensors(a, b):
        return tuple(torch.rand([{A: a, B: b}.get(d, d) for d in shape]) - 0.5 for shape in shapes)

    with torch.no_grad():
        lowered = harness.lower_exported(torch.export.export(model, tensors(3, 2), dynamic_shapes=dynamic))
    assert lowered.outside == [] and len(lowered.delegates) == 1, str(lowered.report)
    with et_xnnpack.load_options(num_threads=num_threads, weight_cache=weight_cache):
        method = harness.load_method(lowered.buffer)
    for a, b in ((0, 2), (0, 5), (3, 2), (3, 0), (16, 16), (0, 0), (0, 2), (1, 0), (4, 3)):
        inputs = tensors(a, b)
        with torch.no_grad():
            expected = model(*inputs)
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        torch.testing.assert_close(method.execute(inputs), [y.clone() for y in expected], equal_nan=True)
