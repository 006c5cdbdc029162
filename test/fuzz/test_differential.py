# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The same random programs every time; ``make fuzz-programs`` takes others."""

import pytest
from executorch.backends import et_xnnpack
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzz.differential import NotComparable, check
from fuzz.programs import programs

pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="the compiled part is not installed")


def test_random_programs_equal_eager():
    compared = []

    @settings(max_examples=30, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(programs(), min_size=1, max_size=2))
    def compare(methods):
        try:
            check(methods)
        except NotComparable:
            assume(False)
        compared.append(methods)

    compare()
    assert len(compared) >= 20
