# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A seeded part of ``make fuzz``."""

import os

import pytest
from executorch.backends import et_xnnpack
from fuzz.differential import NotExported, check
from fuzz.programs import programs
from hypothesis import HealthCheck, assume, event, given, settings

EXAMPLES = int(os.environ.get("ET_XNNPACK_FUZZ_EXAMPLES", "60"))
pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="the compiled part is not installed")


@settings(max_examples=EXAMPLES, deadline=None, derandomize="ET_XNNPACK_FUZZ_EXAMPLES" not in os.environ, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_programs_equal_eager(program):
    try:
        outside = check(program)
        event(f"lines: {program.source.count(' = ')}")
        event(f"outside: {sorted(set(outside))}")
    except NotExported as reason:
        event(f"not exported: {type(reason.__cause__).__name__} {str(reason.__cause__)[:80]}")
        assume(False)
