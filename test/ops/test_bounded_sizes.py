# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs whose sizes and positions are bounded together: each must load, and run up to its bounds."""

import harness
import pytest
import torch
from torch import nn
from torch.export import Dim

pytestmark = harness.needs_runtime


class Window(nn.Module):
    """Position and length of a cache, as in ExecuTorch's language models."""

    def __init__(self, says_so):
        super().__init__()
        self.says_so = says_so
        self.register_buffer("table", torch.rand(128, 16))
        self.linear = nn.Linear(16, 8)

    def forward(self, x, position):
        start = position[0].item()
        torch._check(start >= 0)
        torch._check(start < 128)
        if self.says_so:
            torch._check(start + x.shape[0] <= 128)
        return self.linear(x * self.table.narrow(0, start, x.shape[0]))


class TwoNumbers(nn.Module):
    """A start and a length, both read off a tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(40, 6))

    def forward(self, x, numbers):
        start, length = numbers.tolist()
        torch._check(start >= 0)
        torch._check(length >= 1)
        torch._check(start + length <= 40)
        return self.table.narrow(0, start, length).softmax(-1).sum(0) + x


class Product(nn.Module):
    def forward(self, x, numbers):
        rows, columns = numbers.tolist()
        torch._check(rows >= 2)
        torch._check(columns >= 1)
        torch._check(rows <= 40)
        torch._check(columns <= 40)
        torch._check(rows * columns <= 40)
        return (x[: rows * columns].reshape(rows, columns) * 2).sum(0)


class Area(nn.Module):
    """Only the product arrives in the delegate."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(40, 3))

    def forward(self, x, numbers):
        rows, columns = numbers.tolist()
        torch._check(rows >= 0)
        torch._check(columns >= 0)
        torch._check(rows <= 40)
        torch._check(columns <= 40)
        torch._check(rows * columns <= 40)
        return self.table.narrow(0, 0, rows * columns).exp() * x


class Difference(nn.Module):
    """What is left of a dynamic length behind a position."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(30, 3))

    def forward(self, x, number):
        first = number.item()
        torch._check(first >= 0)
        left = x.shape[1] - first
        torch._check(left >= 1)
        torch._check(left <= 30)
        return x[:, 1:] - x[:, :-1], self.table.narrow(0, 0, left) * 2


class MinMax(nn.Module):
    def forward(self, x, number):
        length = torch.sym_min(x.shape[0], 10)
        skipped = torch.sym_max(x.shape[0] - 10, 0)
        start = number.item()
        torch._check(start >= 0)
        torch._check(start + length <= 12)
        return x[:length] * 2, x[skipped:] + 1, torch.arange(12.0).narrow(0, start, length) * 3


class Scattered(nn.Module):
    """A state that is written at a position, and two lengths with a bounded sum."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 24, 4))

    def forward(self, x, y, number):
        start = number.item()
        torch._check(start >= 0)
        both = torch.cat([x, y], 1)
        torch._check(start + both.shape[1] <= 24)
        self.cache[:, start : start + both.shape[1]] = both
        return self.cache * 1.5


def _rope(says_so):
    calls = [(127, 0), (126, 2), (2, 126), (1, 126), (1, 127), (1, 0), (64, 64), (5, 3), (2, 0)]
    inputs = [(torch.rand(n, 16), torch.tensor([p])) for n, p in calls]
    bad = [
        (torch.rand(n, 16), torch.tensor([p])) for n, p in ((3, 126), (2, 127), (1, 128), (127, 2), (5, -1), (5, 127))
    ]
    return Window(says_so).eval(), ({0: Dim("n", max=127)}, None), (torch.rand(3, 16), torch.tensor([0])), inputs, bad


def _numbers(model, width, size, good, bad, dynamic=None):
    def inputs(n, *numbers):
        return torch.rand(n, *size), torch.tensor(numbers[0] if width is None else list(numbers))

    return model.eval(), (dynamic, None), inputs(*good[0]), [inputs(*g) for g in good], [inputs(*b) for b in bad]


def _difference():
    inputs = lambda n, p: (torch.rand(2, n, 3), torch.tensor(p))  # noqa: E731
    good = [inputs(*c) for c in ((7, 2), (30, 25), (30, 0), (5, 0), (12, 11), (35, 5), (35, 34))]
    bad = [inputs(*c) for c in ((35, 4), (36, 20), (5, -1))]  # (7, 7) would be for _assert_scalar to refuse
    return Difference(), ({1: Dim("n", min=5, max=35)}, None), good[0], good, bad


def _scattered():
    inputs = lambda n, m, p: (torch.rand(1, n, 4), torch.rand(1, m, 4), torch.tensor(p))  # noqa: E731
    good = [inputs(*c) for c in ((3, 2, 1), (22, 2, 0), (2, 22, 0), (2, 2, 20), (11, 12, 1), (4, 6, 10))]
    bad = [inputs(*c) for c in ((22, 3, 0), (3, 2, 20))]
    dynamic = ({1: Dim("n", max=22)}, {1: Dim("m", max=22)}, None)
    return Scattered(), dynamic, good[0], good, bad


N = {0: Dim("n", max=40)}
PROGRAMS = {
    "window": lambda: _rope(False),
    "window_said": lambda: _rope(True),
    "two_numbers": lambda: _numbers(
        TwoNumbers(),
        2,
        (6,),
        [(9, 2, 3), (40, 0, 40), (40, 39, 1), (2, 1, 1)],
        [(9, 4, 37), (40, 1, 40), (9, 2, -1)],
        N,
    ),
    "product": lambda: _numbers(
        Product(), 2, (), [(40, 3, 5), (40, 40, 1), (40, 2, 20), (40, 5, 8)], [(40, 5, 9), (40, 1, 4)]
    ),
    "area": lambda: _numbers(Area(), 2, (3,), [(1, 3, 5), (1, 40, 1), (1, 2, 20), (1, 0, 7)], [(1, 5, 9), (1, -1, 4)]),
    "difference": _difference,
    "min_max": lambda: _numbers(
        MinMax(), None, (3,), [(5, 1), (30, 2), (10, 0), (2, 10), (30, 0)], [(30, 3)], {0: Dim("n", max=30)}
    ),
    "scattered": _scattered,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_loads_and_runs_up_to_its_bounds(name):
    model, dynamic, example, good, bad = PROGRAMS[name]()
    with torch.no_grad():
        exported = torch.export.export(
            model, example, dynamic_shapes=dynamic, prefer_deferred_runtime_asserts_over_guards=True
        )
    lowered = harness.lower_exported(exported, _check_ir_validity=False)
    assert len(lowered.delegates) == 1, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    for inputs in good:
        with torch.no_grad():
            expected = model(*inputs)
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        torch.testing.assert_close(method.execute(inputs), [e.clone() for e in expected], atol=1e-6, rtol=1e-5)
    for inputs in bad:
        with pytest.raises(RuntimeError):
            method.execute(inputs)
