# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Integers at the ends of their range give what they give in eager PyTorch."""

from pathlib import Path

import harness
import pytest
import torch
from executorch.backends import et_xnnpack

pytestmark = harness.needs_runtime

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "numerics.md"
DTYPES = (torch.int32, torch.int64)

ONE = {
    "abs": torch.abs,
    "neg": torch.neg,
    "sign": torch.sign,
    "square": torch.square,
    "clamp": lambda x: x.clamp(-3, 100),
    "relu": torch.relu,
    "bitwise_not": torch.bitwise_not,
    "sum": lambda x: x.sum(),
    "amax": lambda x: x.amax(),
    "amin": lambda x: x.amin(),
    "cumsum": lambda x: x.cumsum(0),
    "argmax": lambda x: x.argmax(),
    "sort": lambda x: x.sort(stable=True)[0],
    "conversion to int8": lambda x: x.to(torch.int8),
    "conversion to uint8": lambda x: x.to(torch.uint8),
    "conversion to int32": lambda x: x.to(torch.int32),
    "conversion to int64": lambda x: x.to(torch.int64),
    "conversion to float32": lambda x: x.to(torch.float32),
    "conversion to float64": lambda x: x.to(torch.float64),
    "conversion to bool": lambda x: x.to(torch.bool),
}
TWO = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "bitwise_and": torch.bitwise_and,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
    "eq": torch.eq,
    "lt": torch.lt,
    "ge": torch.ge,
}
#: Not by zero, which eager PyTorch refuses, and not the least by -1, which ends its process.
QUOTIENTS = {
    "div": torch.div,
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
}
#: By a number: 0, 1, 5 and two less than the bits.
SHIFTS = {"bitwise_left_shift": torch.bitwise_left_shift, "bitwise_right_shift": torch.bitwise_right_shift}


def values(dtype):
    """[N]: both ends of the range, their neighbours, and what lies around zero."""
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    around = [n for n in (-100, -7, -2, -1, 0, 1, 2, 3, 7, 100) if low <= n]
    return torch.tensor([low, low + 1, low // 2, *around, high // 2, high - 1, high], dtype=dtype)


def divides(a, b):
    return (b != 0) & ~((a == torch.iinfo(a.dtype).min) & (b == -1) & (a < 0))


class Program(torch.nn.Module):
    def forward(self, x, a, b, dividend, divisor):
        return (
            *(f(x) for f in ONE.values()),
            *(f(a, b) for f in TWO.values()),
            *(f(dividend, divisor) for f in QUOTIENTS.values()),
            *(torch.stack([f(x, n) for n in (0, 1, 5, torch.iinfo(x.dtype).bits - 2)]) for f in SHIFTS.values()),
        )


def arguments(dtype):
    x = values(dtype)
    a, b = (v.contiguous() for v in torch.cartesian_prod(x, x).unbind(1))
    kept = divides(a, b)
    return x, a, b, a[kept], b[kept]


@pytest.fixture(scope="module", params=DTYPES, ids=str)
def lowered(request):
    inputs = arguments(request.param)
    lowered = harness.lower_exported(torch.export.export(Program(), inputs), _check_ir_validity=False)
    assert lowered.outside == [], str(lowered.report)
    return lowered.buffer, inputs


@pytest.mark.parametrize("threads", (0, 1))
def test_results_are_those_of_eager(lowered, threads):  # Robustness: I5
    buffer, inputs = lowered
    with et_xnnpack.load_options(num_threads=threads):
        results = harness.load_method(buffer).execute(inputs)
    names = (*ONE, *TWO, *QUOTIENTS, *SHIFTS)
    for name, result, expected in zip(names, results, Program()(*inputs), strict=True):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), name
        assert torch.equal(result, expected), f"{name}: {result} not {expected}"


@pytest.fixture(scope="module")
def quotients(dtype):
    class Quotients(torch.nn.Module):
        def forward(self, a, b):
            return tuple(f(a, b) for f in QUOTIENTS.values())

    x = torch.ones(len(values(dtype)) ** 2, dtype=dtype)
    sizes = {0: torch.export.Dim("n", max=len(x))}
    program = torch.export.export(Quotients(), (x, x.clone()), dynamic_shapes=(sizes, sizes))
    lowered = harness.lower_exported(program, _check_ir_validity=False)
    assert lowered.outside == [], str(lowered.report)
    return Quotients(), lowered.buffer


@pytest.mark.parametrize("dtype", DTYPES, ids=str, scope="module")
def test_the_least_by_minus_one_ends_nothing(quotients, dtype):
    """Eager PyTorch ends its process; here the call goes on, and all other results are right."""
    _, a, b, *_ = arguments(dtype)
    a, b = a[b != 0], b[b != 0]
    kept = divides(a, b)
    assert not kept.all()
    model, buffer = quotients
    results = harness.load_method(buffer).execute((a, b))
    for result, expected in zip(results, model(a[kept], b[kept]), strict=True):
        assert torch.equal(result[kept], expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str, scope="module")
def test_a_division_by_zero_is_an_error(quotients, dtype, capfd):
    _, buffer = quotients
    method = harness.load_method(buffer)
    a = values(dtype)
    with pytest.raises(RuntimeError):
        method.execute((a, torch.zeros_like(a)))
    assert "zero" in capfd.readouterr().err
    method.execute((a, torch.full_like(a, 2)))


def test_document_has_them():
    for names in (ONE, TWO, QUOTIENTS, SHIFTS):
        assert f"| {', '.join(names)} |" in DOCUMENT.read_text()
