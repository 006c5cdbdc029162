# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.collapse_views import collapse_views

HEAD = """
    range s0 1..8 hint 4
    in %x: Float32[1, 3, 4]
    in %z: Float32[2, 12]
    in %d: Float32[s0, 4]
"""
CASES = {
    "docstring": (
        """
        %a: Float32[1, 4, 3] = Transpose(%x) perm=(0, 2, 1)
        %b: Float32[4, 1, 3] = Transpose(%a) perm=(1, 0, 2)
        %c: Float32[12] = Reshape(%b) shape=(12)
        %e: Float32[2, 12] = Expand(%c) shape=(2, 12)
        %y: Float32[2, 12] = Binary(%e, %z)
        """,
        """
        %b: Float32[4, 1, 3] = Transpose(%x) perm=(2, 0, 1)
        %c: Float32[12] = Reshape(%b) shape=(12)
        %y: Float32[2, 12] = Binary(%c, %z)
        """,
    ),
    "reshapes": (
        """
        %a: Float32[12] = Reshape(%x) shape=(12)
        %b: Float32[2, 6] = Reshape(%a) shape=(2, 6)
        %y: Float32[6, 2] = Reshape(%b) shape=(6, 2)
        """,
        "%y: Float32[6, 2] = Reshape(%x) shape=(6, 2)",
    ),
    "transpose of axes of size 1": (
        "%y: Float32[3, 1, 4] = Transpose(%x) perm=(1, 0, 2)",
        "%y: Float32[3, 1, 4] = Reshape(%x) shape=(3, 1, 4)",
    ),
    "transpose of a symbolic axis": ("%y: Float32[4, s0] = Transpose(%d) perm=(1, 0)", None),
    "expand by axes of size 1": (
        """
        %a: Float32[s0, 1, 4] = Reshape(%d) shape=(s0, 1, 4)
        %y: Float32[1, s0, 1, 4] = Expand(%a) shape=(1, s0, 1, 4)
        """,
        "%y: Float32[1, s0, 1, 4] = Reshape(%d) shape=(1, s0, 1, 4)",
    ),
    "expands": (
        """
        %a: Float32[5, 3, 4] = Expand(%x) shape=(5, 3, 4)
        %y: Float32[2, 5, 3, 4] = Expand(%a) shape=(2, 5, 3, 4)
        """,
        "%y: Float32[2, 5, 3, 4] = Expand(%x) shape=(2, 5, 3, 4)",
    ),
    "expand that makes the shape": (
        """
        %a: Float32[5, 3, 4] = Expand(%x) shape=(5, 3, 4)
        %y: Float32[5, 3, 4] = Binary(%a, %a)
        """,
        """
        %a: Float32[5, 3, 4] = Expand(%x) shape=(5, 3, 4)
        %y: Float32[5, 3, 4] = Binary(%x, %a)
        """,
    ),
    "slices": (
        """
        %a: Float32[s0, 2] = Slice(%d) axis=1 start=0 size=2 step=2
        %b: Float32[s0, 1] = Slice(%a) axis=1 start=1 size=1
        %y: Float32[2, 1] = Slice(%b) axis=0 start=0 size=2
        """,
        """
        %a: Float32[s0, 1] = Slice(%d) axis=1 start=2 size=1 step=2
        %y: Float32[2, 1] = Slice(%a) axis=0 start=0 size=2
        """,
    ),
    "concats": (
        """
        %a: Float32[1, 6, 4] = Concat(%x, %x) axis=1
        %y: Float32[1, 12, 4] = Concat(%x, %a, %x) axis=1
        """,
        "%y: Float32[1, 12, 4] = Concat(%x, %x, %x, %x) axis=1",
    ),
    "concats on two axes": (
        """
        %a: Float32[1, 6, 4] = Concat(%x, %x) axis=1
        %y: Float32[2, 6, 4] = Concat(%a, %a) axis=0
        """,
        None,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_collapse_views(check, case):
    before, after = (None if c is None else f"{HEAD}{c}\nout %y" for c in case)
    check(collapse_views, before, after)
