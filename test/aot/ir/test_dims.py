# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
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
