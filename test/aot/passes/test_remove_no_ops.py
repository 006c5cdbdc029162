# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.remove_no_ops import remove_no_ops

NO_OPS = [
    "Unary(%x) kind=Copy",
    "Unary(%x) kind=Clamp clamp=(-inf, inf)",
    "Reshape(%x) shape=(s0, 3, 1)",
    "Expand(%x) shape=(s0, 3, 1)",
    "Transpose(%x) perm=(0, 1, 2)",
    "Concat(%x) axis=1",
    "Concat(%x, %empty) axis=1",
    "Slice(%x) axis=1 start=0 size=3",
    "Slice(%x) axis=0 start=0 size=s0",
    "Pad(%x) before=(0, 0, 0) after=(0, 0, 0) value=1",
    "Binary(%x, %one) kind=Mul",
    "Binary(%ones, %x) kind=Mul",
    "Binary(%x, %one) kind=Div",
    "Binary(%x, %one) kind=Pow",
    "Binary(%x, %zero) kind=Sub",
    "Binary(%x, %minus_zero) kind=Add",
    "Binary(%minus_zero, %x) kind=Add",
]
OPS = [
    "Unary(%x) kind=Abs",
    "Unary(%x) kind=Clamp clamp=(0, inf)",
    "Concat(%x, %x) axis=1",
    "Binary(%x, %zero) kind=Add",
    "Binary(%x, %minus_zero) kind=Sub",
    "Binary(%zero, %x) kind=Sub",
    "Binary(%one, %x) kind=Div",
    "Binary(%x, %mixed) kind=Mul",
]
TEXT = """
    range s0 1..8 hint 4
    in %x: Float32[s0, 3, 1]
    in %empty: Float32[s0, 0, 1]
    const %one: Float32[] = [1]
    const %ones: Float32[3, 1] = [1, 1, 1]
    const %mixed: Float32[3, 1] = [1, 1, 2]
    const %zero: Float32[] = [0]
    const %minus_zero: Float32[] = [-0.0]
    %y: Float32[s0, SIZE, 1] = OP
    %z: Float32[s0, SIZE, 1] = Unary(%y) kind=Exp
    out %z
"""


@pytest.mark.parametrize("op", NO_OPS)
def test_removes(check, op):
    before = TEXT.replace("SIZE", "3").replace("OP", op)
    after = before.replace("Unary(%y)", "Unary(%x)").replace(f"%y: Float32[s0, 3, 1] = {op}", "")
    check(remove_no_ops, before, after)


@pytest.mark.parametrize("op", OPS)
def test_keeps(check, op):
    check(remove_no_ops, TEXT.replace("OP", op).replace("SIZE", "6" if "Concat" in op else "3"))


def test_keeps_broadcast_by_one(check):
    check(
        remove_no_ops,
        """
        in %x: Float32[1, 3]
        const %ones: Float32[2, 1] = [1, 1]
        %y: Float32[2, 3] = Binary(%x, %ones) kind=Mul
        out %y
        """,
    )


def test_keeps_clamp_of_binary(check):
    check(
        remove_no_ops,
        """
        in %x: Float32[3]
        const %one: Float32[] = [1]
        %y: Float32[3] = Binary(%x, %one) kind=Mul clamp=(0, 6)
        out %y
        """,
        """
        in %x: Float32[3]
        %y: Float32[3] = Unary(%x) kind=Clamp clamp=(0, 6)
        out %y
        """,
    )


def test_output_may_become_input(check):
    check(
        remove_no_ops,
        """
        in %x: Float32[3]
        %y: Float32[3] = Unary(%x) kind=Copy
        out %y
        """,
        """
        in %x: Float32[3]
        out %x
        """,
    )


def test_pools_of_one_element(check):
    check(
        remove_no_ops,
        """
        in %x: Float32[1, 4, 4, 2]
        %y: Float32[1, 4, 4, 2] = MaxPool2d(%x) kernel=(1, 1) stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)
        %z: Float32[1, 4, 4, 2] = AvgPool2d(%y) kernel=(1, 1) stride=(1, 1) padding=(0, 0, 0, 0)
        %u: Float32[1, 2, 2, 2] = MaxPool2d(%z) kernel=(1, 1) stride=(2, 2) padding=(0, 0, 0, 0) dilation=(1, 1)
        out %u
        """,
        """
        in %x: Float32[1, 4, 4, 2]
        %u: Float32[1, 2, 2, 2] = MaxPool2d(%x) kernel=(1, 1) stride=(2, 2) padding=(0, 0, 0, 0) dilation=(1, 1)
        out %u
        """,
    )
