# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The same random programs every time; ``make fuzz`` takes others."""

import pytest
from executorch.backends import et_xnnpack
from hypothesis import HealthCheck, assume, given, settings

from fuzz.differential import NotComparable, check
from fuzz.programs import programs

pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="the compiled part is not installed")


def test_random_programs_equal_eager():
    compared = []

    @settings(max_examples=80, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def compare(program):
        try:
            check(program)
        except NotComparable:
            assume(False)
        compared.append(program)

    compare()
    assert len(compared) >= 40
