# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import math

import numpy as np
import pytest
from executorch.backends.et_xnnpack.aot.zero_points import are_whole


@pytest.mark.parametrize(
    "zero_points,expected",
    (
        ([], True),
        ([0.0, -0.0, -128.0, 255.0], True),
        ([2.0**24, -(2.0**24)], True),
        ([2.0**25], False),  # float32 lacks its neighbours
        ([3.0, 0.5], False),
        ([3.0, math.nan], False),
        ([math.inf], False),
        ([-math.inf], False),
    ),
)
def test_are_whole(zero_points, expected):
    assert are_whole(np.array(zero_points, np.float32)) is expected
