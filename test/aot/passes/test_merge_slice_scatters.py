# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.merge_slice_scatters import merge_slice_scatters

INPUTS = """
    range s0 0..3 hint 1
    in %x: Float32[4, 9, 6]
    in %v: Float32[2, 6]
    in %w: Float32[2, 2, 6]
    in %z: Float32[4, 9, 6]
    in s0
"""
SELECTED = """
    %a: Float32[1, 9, 6] = Slice(%x) start=s0 size=1
    %b: Float32[9, 6] = Reshape(%a) shape=(9, 6)
    %c: Float32[9, 6] = SliceScatter(%b, %v) start=(2, 0) step=(3, 1)
    %d: Float32[1, 9, 6] = Reshape(%c) shape=(1, 9, 6)
"""


def test_a_slice_of_a_slice(check):
    check(
        merge_slice_scatters,
        f"""{INPUTS}
        %a: Float32[2, 9, 6] = Slice(%x) start=1 size=2
        %b: Float32[2, 9, 6] = SliceScatter(%a, %w) start=(0, 4, 0) step=(1, 2, 1)
        %y: Float32[4, 9, 6] = SliceScatter(%x, %b) start=(1, 0, 0) step=(1, 1, 1)
        out %y""",
        f"""{INPUTS}
        %y: Float32[4, 9, 6] = SliceScatter(%x, %w) start=(1, 4, 0) step=(1, 2, 1)
        out %y""",
    )


def test_slices_of_the_same_axis(check):
    check(
        merge_slice_scatters,
        f"""{INPUTS}
        %a: Float32[4, 4, 6] = Slice(%x) axis=1 start=1 size=4 step=2
        %u: Float32[4, 2, 6] = Slice(%z) axis=1 size=2
        %b: Float32[4, 4, 6] = SliceScatter(%a, %u) start=(0, 1, 0) step=(1, 2, 1)
        %y: Float32[4, 9, 6] = SliceScatter(%x, %b) start=(0, 1, 0) step=(1, 2, 1)
        out %y""",
        f"""{INPUTS}
        %u: Float32[4, 2, 6] = Slice(%z) axis=1 size=2
        %y: Float32[4, 9, 6] = SliceScatter(%x, %u) start=(0, 3, 0) step=(1, 4, 1)
        out %y""",
    )


def test_a_slice_of_a_selected_row(check):
    check(
        merge_slice_scatters,
        f"""{INPUTS}{SELECTED}
        %y: Float32[4, 9, 6] = SliceScatter(%x, %d) start=(s0, 0, 0) step=(1, 1, 1)
        out %y""",
        f"""{INPUTS}
        %d: Float32[1, 2, 6] = Reshape(%v) shape=(1, 2, 6)
        %y: Float32[4, 9, 6] = SliceScatter(%x, %d) start=(s0, 2, 0) step=(1, 3, 1)
        out %y""",
    )


def test_all_of_a_tensor(check):
    check(
        merge_slice_scatters,
        f"""{INPUTS}
        %y: Float32[4, 9, 6] = SliceScatter(%x, %z) start=(0, 0, 0) step=(1, 1, 1)
        out %y""",
        f"""{INPUTS}
        out %z""",
    )


@pytest.mark.parametrize(
    "rest",
    (
        f"{SELECTED}\n%y: Float32[4, 9, 6] = SliceScatter(%x, %d) start=(2, 0, 0) step=(1, 1, 1)",
        f"{SELECTED}\n%y: Float32[4, 9, 6] = SliceScatter(%z, %d) start=(s0, 0, 0) step=(1, 1, 1)",
        """
        %a: Float32[2, 9, 6] = Slice(%x) start=1 size=2
        %b: Float32[2, 9, 6] = SliceScatter(%a, %w) start=(0, 4, 0) step=(1, 2, 1)
        %y: Float32[4, 9, 6] = SliceScatter(%x, %b) start=(1, 0, 0) step=(2, 1, 1)
        """,
        "%y: Float32[4, 9, 6] = SliceScatter(%x, %w) start=(0, 0, 0) step=(1, 1, 1)",
    ),
    ids=("elsewhere", "another tensor", "another step", "a part"),
)
def test_leaves(check, rest):
    check(merge_slice_scatters, f"{INPUTS}{rest}\nout %y")
