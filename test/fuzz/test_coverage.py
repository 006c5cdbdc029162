# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Random programs reach every operator that is delegated, or there is a reason why not."""

import pytest
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.aot.ops import ROWS

from fuzz.coverage import LEFT_OUT, covering_programs, missing
from fuzz.differential import NotComparable, check

pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="the compiled part is not installed")


def test_what_is_left_out_is_delegated():
    for beginning in LEFT_OUT:
        assert any(op.startswith(beginning) for op in ROWS), beginning


@pytest.mark.large
def test_every_operator_is_in_a_program():
    reached = set()
    for program in covering_programs(of=2000):
        try:
            reached |= check([program])
        except NotComparable:
            continue
    assert missing(reached) == []
