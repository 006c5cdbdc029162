# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from executorch.backends.et_xnnpack.aot.passes.recognize_squared_difference import recognize_squared_difference

HEAD = """
    in %a: Float32[2, 3]
    in %b: Float32[3]
"""
DIFFERENCE = "%d: Float32[2, 3] = Binary(%a, %b) kind=Sub"


def test_squares_a_difference(check):
    check(
        recognize_squared_difference,
        f"""{HEAD}
        {DIFFERENCE}
        %y: Float32[2, 3] = Unary(%d) kind=Square
        out %y
        """,
        f"""{HEAD}
        %y: Float32[2, 3] = Binary(%a, %b) kind=SquaredDifference
        out %y
        """,
    )


def test_keeps_a_difference_that_is_used_again(check):
    check(
        recognize_squared_difference,
        f"""{HEAD}
        {DIFFERENCE}
        %y: Float32[2, 3] = Unary(%d) kind=Square
        out %y
        out %d
        """,
    )
