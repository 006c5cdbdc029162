# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.drop_casts import drop_casts


def test_widening_and_back(check):
    check(
        drop_casts,
        """
        in %x: BFloat16[4]
        %a: Float32[4] = Cast(%x) dtype=Float32
        %b: BFloat16[4] = Cast(%a) dtype=BFloat16
        %y: BFloat16[2, 2] = Reshape(%b) shape=(2, 2)
        out %y
        """,
        """
        in %x: BFloat16[4]
        %y: BFloat16[2, 2] = Reshape(%x) shape=(2, 2)
        out %y
        """,
    )


def test_rounding_before_what_picks_or_limits(check):
    check(
        drop_casts,
        """
        in %x: Float32[1, 4, 4, 2]
        %a: Float16[1, 4, 4, 2] = Cast(%x) dtype=Float16
        %b: Float32[1, 4, 4, 2] = Cast(%a) dtype=Float32
        %c: Float32[1, 4, 4, 2] = Unary(%b) kind=Clamp clamp=(0, 0.3)
        %d: Float16[1, 4, 4, 2] = Cast(%c) dtype=Float16
        %e: Float32[1, 4, 4, 2] = Cast(%d) dtype=Float32
        %f: Float32[1, 2, 2, 2] = MaxPool2d(%e) kernel=(2, 2) stride=(2, 2) padding=(0, 0, 0, 0) dilation=(1, 1)
        %y: Float16[1, 2, 2, 2] = Cast(%f) dtype=Float16
        out %y
        """,
        """
        in %x: Float32[1, 4, 4, 2]
        %c: Float32[1, 4, 4, 2] = Unary(%x) kind=Clamp clamp=(0, 0.3)
        %f: Float32[1, 2, 2, 2] = MaxPool2d(%c) kernel=(2, 2) stride=(2, 2) padding=(0, 0, 0, 0) dilation=(1, 1)
        %y: Float16[1, 2, 2, 2] = Cast(%f) dtype=Float16
        out %y
        """,
    )


def test_rounding_before_what_moves(check):
    check(
        drop_casts,
        """
        in %x: Float32[1, 2, 2, 2]
        %a: Float16[1, 2, 2, 2] = Cast(%x) dtype=Float16
        %b: Float32[1, 2, 2, 2] = Cast(%a) dtype=Float32
        %c: Float32[1, 2, 2] = Reduce(%b) kind=Max axes=(3)
        %d: Float16[1, 2, 2] = Cast(%c) dtype=Float16
        %e: Float32[1, 2, 2] = Cast(%d) dtype=Float32
        %f: Float32[1, 2, 3] = Pad(%e) before=(0, 0, 0) after=(0, 0, 1) value=0.5
        %y: Float16[1, 2, 3] = Cast(%f) dtype=Float16
        out %y
        """,
        """
        in %x: Float32[1, 2, 2, 2]
        %c: Float32[1, 2, 2] = Reduce(%x) kind=Max axes=(3)
        %f: Float32[1, 2, 3] = Pad(%c) before=(0, 0, 0) after=(0, 0, 1) value=0.5
        %y: Float16[1, 2, 3] = Cast(%f) dtype=Float16
        out %y
        """,
    )


@pytest.mark.parametrize(
    "node",
    [
        "Float32[4] = Unary(%b) kind=Square",
        "Float32[4] = Unary(%b) kind=LeakyRelu alpha=0.1",
        "Float32[5] = Pad(%b) before=(0) after=(1) value=0.1",
        "Float32[4] = Scan(%b) kind=Sum axis=0",
    ],
)
def test_keeps_roundings_before_what_computes(check, node):
    size = "5" if "Pad" in node else "4"
    check(
        drop_casts,
        f"""
        in %x: Float32[4]
        %a: Float16[4] = Cast(%x) dtype=Float16
        %b: Float32[4] = Cast(%a) dtype=Float32
        %c: {node}
        %y: Float16[{size}] = Cast(%c) dtype=Float16
        out %y
        """,
    )


def test_keeps_roundings_that_change_results(check):
    check(
        drop_casts,
        """
        in %x: Float32[4]
        %a: Float16[4] = Cast(%x) dtype=Float16
        %b: Float32[4] = Cast(%a) dtype=Float32
        %c: Float32[4] = Unary(%b) kind=Square
        %y: Float16[4] = Cast(%c) dtype=Float16
        out %y
        """,
    )


def test_keeps_casts_between_types(check):
    check(
        drop_casts,
        """
        in %x: BFloat16[4]
        %a: Float32[4] = Cast(%x) dtype=Float32
        %b: Float16[4] = Cast(%a) dtype=Float16
        %c: Float32[4] = Cast(%b) dtype=Float32
        %d: Float32[4] = Unary(%c) kind=Neg
        %y: BFloat16[4] = Cast(%d) dtype=BFloat16
        out %y
        """,
    )
