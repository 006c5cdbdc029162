# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Integers that a program reads off a tensor and uses as positions, sizes and numbers."""

import copy

import harness
import pytest
import torch
from torch import nn

pytestmark = harness.needs_runtime

#: What ExecuTorch does with an integer of a tensor before the delegate gets it.
READS = {"aten._local_scalar_dense.default", "aten._assert_scalar.default", "le", "ge", "aten.select_copy.int"}


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.rand(16, 3))
        self.register_buffer("cache", torch.zeros(2, 16, 3))

    def forward(self, x, position):
        start = position.item()
        torch._check(start >= 0)
        torch._check(start + x.shape[1] <= 16)
        self.cache[:, start : start + x.shape[1]] = x + self.table.narrow(0, start, x.shape[1])
        return self.cache * 2, self.cache[:, start]


class Arithmetic(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(20, 3))

    def forward(self, x, numbers):
        n = numbers[1].item()
        torch._check(n >= 1)
        torch._check(n <= 8)
        y = x[:n].expand(2, n, 3).reshape(2 * n, 3)
        self.cache[n : n + 4] = y[:1]
        return y, self.cache[2 * n - 2 : 2 * n], torch.full((n + 1,), n), torch.arange(n) * n


class Signed(nn.Module):
    """Integers that may be negative, as numbers."""

    def forward(self, x, numbers):
        n = numbers[1].item()
        torch._check(n > -20)
        positions = torch.arange(x.shape[0])
        y = x * n + (n - 3), 5 - n * 2 + positions, positions < n, n <= positions
        return *y, torch.scalar_tensor(n), torch.full((3,), n), torch.full((2,), n, dtype=torch.float32) / 2


class WrittenNumbers(nn.Module):
    """Tensors full of an integer that may be negative, which the program writes to."""

    def forward(self, numbers):
        n = numbers[0].item()
        one, several = torch.full((4,), n), torch.full((4,), n)
        one[1] = 5
        several[1:3].add_(5)
        view = several[2:]
        view.mul_(2)
        matrix = torch.full((2, 3), n, dtype=torch.float32)
        matrix.t()[0].add_(5)
        return one * 2, several, view, matrix, matrix.sum()


class WrittenState(nn.Module):
    """The number is that before the write."""

    def __init__(self):
        super().__init__()
        self.register_buffer("number", torch.tensor([-3]))

    def forward(self, x):
        n = self.number.item()
        self.number.add_(1)
        return x * n, x > n - 1


class WrittenValue(nn.Module):
    def __init__(self, is_known_positive):
        super().__init__()
        self.is_known_positive = is_known_positive

    def forward(self, x, numbers):
        values = numbers * 2
        n = values[1].item()
        if self.is_known_positive:
            torch._check(n >= 0)
        values[1] = 9
        values.add_(1)
        return x * (n + 1), values


class Checked(nn.Module):
    """Numbers that are only checked: those of ``torch._check_tensor_all``, a sum, and one beside a size."""

    def forward(self, x, numbers):
        torch._check_tensor_all(x > -100)
        torch._check(numbers.sum().item() == 9)
        n, m = numbers[0].item(), numbers[1].item()
        torch._check(n >= 1)
        torch._check(n <= 8)
        torch._check(m <= 8)
        torch._check(n <= m)
        return x[:n] * 2 + 1


class CheckedBySize(nn.Module):
    """A number that is compared with a dynamic size, for nothing else."""

    def forward(self, x, lengths):
        torch._check(lengths.max().item() <= x.shape[0])
        return x * 2 + lengths.sum()


class Parts(nn.Module):
    """What a mixture of experts does with the tokens of each."""

    def forward(self, x, counts):
        parts = x.split(counts.tolist())
        return torch.cat([part * (i + 2) for i, part in enumerate(parts)]) + 1


class Counted(Parts):
    """The same with the number of tokens that have each expert, which the program counts."""

    def forward(self, x, experts):
        counts = (experts[:, None] == torch.arange(3)).long().sum(0)
        return super().forward(x[experts.argsort(stable=True)], counts)


class TwoWrites(nn.Module):
    """Two rows of a computed position, one behind the other, of lengths of which export takes both for 2 at least."""

    def __init__(self):
        super().__init__()
        self.register_buffer("cache", torch.zeros(8))

    def forward(self, a, b, position):
        start = (position + 0).item()
        torch._check(start >= 0)
        torch._check(start + a.shape[0] + b.shape[0] <= 8)
        self.cache[start : start + a.shape[0]] = a
        self.cache[start + a.shape[0] : start + a.shape[0] + b.shape[0]] = b
        return self.cache * 1


class Window(nn.Module):
    """A read at the position that a mask tells."""

    def forward(self, x, mask):
        start = mask.sum().item()
        torch._check(start >= 0)
        torch._check(start + x.shape[0] <= 8)
        return torch.arange(8.0)[start : start + x.shape[0]] + x


class SignedBound(nn.Module):
    def forward(self, x, n):
        return x.clamp(min=n.item())


def check(model, calls, delegates=1):
    lowered = harness.lower_exported(torch.export.export(model, calls[0]))
    assert len(lowered.delegates) == delegates, str(lowered.report)
    outside = set(lowered.outside)
    method = harness.load_method(lowered.buffer)
    eager = copy.deepcopy(model)
    for inputs in calls:
        expected = eager(*inputs)
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        torch.testing.assert_close(method.execute(inputs), [e.clone() for e in expected])
    return lowered.report, outside, method


@pytest.mark.parametrize("length", (1, 3))
def test_positions(length):
    calls = [(torch.rand(2, length, 3), torch.tensor(i)) for i in (5, 0, 3, 3, 13, 7)]
    _, outside, method = check(Cache(), calls)
    assert outside <= READS
    for position in -1, 16:
        with pytest.raises(RuntimeError):
            method.execute((calls[0][0], torch.tensor(position)))


def test_computed_positions_up_to_the_end():
    """Where lengths of 0 and 1 let them be larger than export's bound, and where a call must fail."""

    def inputs(n, m, position):
        return torch.ones(n), torch.full((m,), 2.0), torch.tensor(position)

    sizes = [torch.export.Dim(name, min=1, max=4) for name in "nm"]
    shapes = ({0: sizes[0]}, {0: sizes[1]}, None)
    lowered = harness.lower_exported(torch.export.export(TwoWrites(), inputs(3, 2, 2), dynamic_shapes=shapes))
    assert len(lowered.delegates) == 1 and not lowered.outside, str(lowered.report)
    method, eager = harness.load_method(lowered.buffer), TwoWrites()
    for n, m, position in ((2, 2, 4), (1, 2, 5), (1, 1, 6), (1, 1, 0), (4, 4, 0)):
        for wrong in 9 - n - m, 8, 9, -1, 10**12:
            with pytest.raises(RuntimeError):
                method.execute(inputs(n, m, wrong))
        torch.testing.assert_close(method.execute(inputs(n, m, position))[0], eager(*inputs(n, m, position)))


def test_reads_at_a_computed_position_up_to_the_end():
    shapes = ({0: torch.export.Dim("n", min=1, max=7)}, None)
    lowered = harness.lower_exported(
        torch.export.export(Window(), (torch.rand(3), torch.arange(12) < 2), dynamic_shapes=shapes)
    )
    assert len(lowered.delegates) == 1 and not lowered.outside, str(lowered.report)
    method = harness.load_method(lowered.buffer)
    for n, position in ((1, 7), (7, 1), (2, 6), (1, 0)):
        x = torch.rand(n), torch.arange(12) < position
        torch.testing.assert_close(method.execute(x)[0], Window()(*x))
        for wrong in range(9 - n, 13):
            with pytest.raises(RuntimeError):
                method.execute((x[0], torch.arange(12) < wrong))


def test_sizes_and_numbers():
    calls = [(torch.rand(8, 3), torch.tensor([0, i])) for i in (5, 1, 3, 8, 8, 2)]
    _, outside, _ = check(Arithmetic(), calls)
    assert outside <= READS


def test_numbers_that_are_compared_with_sizes_only():
    shapes = ({0: torch.export.Dim("length", min=1, max=8)}, None)
    inputs = torch.rand(4, 3), torch.tensor([1, 4])
    lowered = harness.lower_exported(torch.export.export(CheckedBySize(), inputs, dynamic_shapes=shapes))
    assert len(lowered.delegates) == 1 and not lowered.outside, str(lowered.report)


def test_parts_of_sizes_read_off_a_tensor():
    calls = [(torch.rand(6, 3), torch.tensor(counts)) for counts in ([1, 2, 3], [0, 6, 0], [6, 0, 0], [2, 2, 2])]
    _, outside, _ = check(Parts(), calls)
    assert outside <= {*READS, "aten.slice_copy.Tensor", "aten.squeeze_copy.dims", "add", "eq"}


def test_parts_of_sizes_that_are_computed():
    calls = [(torch.rand(6, 3), torch.tensor(e)) for e in ([0, 1, 2, 1, 2, 2], [1] * 6, [0] * 6, [2, 0, 2, 0, 1, 2])]
    _, outside, _ = check(Counted(), calls)
    assert not outside


@pytest.mark.parametrize("dtype", (torch.int64, torch.int32))
def test_numbers_that_may_be_negative(dtype):
    calls = [(torch.rand(4), torch.tensor([0, i], dtype=dtype)) for i in (5, -7, 0, 3)]
    _, outside, _ = check(Signed(), calls)
    assert outside <= {*READS, "add", "gt"}


def test_numbers_that_may_be_negative_in_tensors_that_are_written_to():
    check(WrittenNumbers(), [(torch.tensor([i]),) for i in (-3, 2, 0)])


def test_a_state_that_is_written_after_it_was_read():
    check(WrittenState(), [(torch.rand(4) * 8 - 4,)] * 5)


@pytest.mark.parametrize("is_known_positive", (False, True))
def test_a_value_that_is_written_after_it_was_read(is_known_positive):
    calls = [(torch.rand(4), torch.tensor([1, i])) for i in (5, 0, 3)]
    check(WrittenValue(is_known_positive), calls, delegates=1 + is_known_positive)


def test_numbers_that_are_only_checked_stay_in_the_delegate():
    calls = [(torch.rand(8), torch.tensor(n)) for n in ([3, 6], [1, 8], [4, 5])]
    _, outside, method = check(Checked(), calls)
    assert outside <= READS
    assert method.metadata.num_outputs() == 1


def test_checks_of_data_leave_one_call_with_nothing_outside():
    class Positive(nn.Module):
        def forward(self, x):
            torch._check_tensor_all(x > 0)
            return x.sqrt(), torch.ops.aten._is_any_true(x > 0.5)

    _, outside, _ = check(Positive(), [(torch.rand(8) + 0.1,), (torch.full((8,), 0.25),)])
    assert not outside


def test_a_bound_that_may_be_negative_is_refused():
    lowered = harness.lower_exported(torch.export.export(SignedBound(), (torch.rand(4), torch.tensor(-3))))
    assert any("torch._check" in r.reason for r in lowered.report.refusals), str(lowered.report)
