# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.ir import Range, dims

N = dims.symbol("s0")


def test_integers_stay_integers():
    assert type(dims.simplify(N - N + 3)) is int
    assert dims.numel((2, 3)) == 6
    assert dims.floordiv(7, 2) == 3


def test_numel_of_a_scalar_is_one():
    assert dims.numel(()) == 1


def test_floordiv_of_a_symbol():
    assert dims.evaluate(dims.floordiv(N + 1, 2), {"s0": 6}) == 3


@pytest.mark.parametrize("factor", [0.5, 1.5, 2.0, 3.0, 0.29, 0.7, 1.1, 1 / 3, 1.7, 2**-10, 4194303 / 4, 4194305 / 4])
def test_scale_is_what_float64_gives(factor):
    scaled = dims.scale(N, factor)
    sizes = [*range(200), 999, 1000, 2**22 - 1, 2**31 - 2, 2**31 - 1]
    assert [dims.evaluate(scaled, {"s0": size}) for size in sizes] == [int(size * factor) for size in sizes]


def test_scale_divides_integers_where_float64_cannot_round():
    assert dims.scale(N, 2.0) == 2 * N
    assert dims.scale(N, 0.5) == dims.floordiv(N, 2)
    assert dims.scale(N, 1.5) == dims.floordiv(3 * N, 2)
    assert dims.scale(N, 0.7) != dims.floordiv(7 * N, 10)
    assert dims.scale(dims.scale(N, 0.7), 2.0) == 2 * dims.scale(N, 0.7)
    assert dims.scale(10, 0.7) == 7


def test_broadcast():
    assert dims.broadcast((2, 1, N), (5, 1)) == (2, 5, N)
    assert dims.broadcast((), (N,)) == (N,)
    assert dims.broadcast((0,), (1,)) == (0,)


def test_is_static():
    assert dims.is_static((1, 2))
    assert not dims.is_static((1, N))


def test_planned_size_is_the_bound_or_the_example():
    assert Range(1, 8, 3).planned == 8
    assert Range(1, None, 3).planned == 3
