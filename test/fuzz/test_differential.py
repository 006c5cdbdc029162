# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The same random programs every time; ``make fuzz-programs`` takes others."""

import pytest
import torch
from executorch.backends import et_xnnpack
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzz.coverage import covering_programs
from fuzz.differential import NotComparable, check
from fuzz.programs import programs

pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="the compiled part is not installed")


def test_random_programs_equal_eager():
    compared = []

    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(programs(), min_size=1, max_size=2))
    def compare(methods):
        try:
            check(methods)
        except NotComparable:
            assume(False)
        compared.append(methods)

    compare()
    assert len(compared) >= 10


def test_a_result_alone_is_that_of_the_program():
    """So is what float64 makes of it: one graph that it cannot compute says nothing of the others."""
    shorter = 0
    for program in covering_programs(of=15):
        inputs = program.arguments(program.calls[0])
        with torch.no_grad():
            results = program.module()(*inputs)
            for i, result in enumerate(results):
                alone = program.only(i)
                assert torch.equal(alone.module()(*inputs)[0], result)
                shorter += len(alone.source) < len(program.source)
    assert shorter
