# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.fuse_pad import fuse_pad

TEXT = """
    in %x: Float32[1, 7, 7, 2]
    const %w: Float32[2, 3, 3, 1] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, -2, 3, -4, 5, -6, 7, -8, 9]
    %p: Float32[1, 8, 9, 2] = Pad(%x) before=(0, 0, 1, 0) after=(0, 1, 1, 0) value=VALUE
    %y: Float32[1, 4, 5, 2] = OP
    out %y
"""
POOL = "kernel=(3, 3) stride=(2, 2) padding=(1, 1, 0, 1)"
FUSED = [
    ("0", "Conv2d(%p, %w) groups=2 stride=(2, 2) padding=(1, 1, 0, 1) dilation=(1, 1)"),
    ("-inf", f"MaxPool2d(%p) {POOL} dilation=(1, 1)"),
    ("0", f"AvgPool2d(%p) {POOL} padding_counted=(0, 0, 0, 0)"),
    ("0", f"AvgPool2d(%p) {POOL} padding_counted=(1, 1, 0, 1)"),
    ("0", f"AvgPool2d(%p) {POOL} padding_counted=(0, 0, 0, 0) divisor_override=5"),
]
KEPT = [
    ("1", "Conv2d(%p, %w) groups=2 stride=(2, 2) padding=(1, 1, 0, 1) dilation=(1, 1)"),
    ("0", f"MaxPool2d(%p) {POOL} dilation=(1, 1)"),
    ("-inf", f"AvgPool2d(%p) {POOL} padding_counted=(0, 0, 0, 0)"),
]


@pytest.mark.parametrize("value,op", FUSED)
def test_fuses(value, op):
    graph = parse(TEXT.replace("VALUE", value).replace("OP", op))
    fused = fuse_pad(graph)
    assert [n.op for n in fused.nodes] == [graph.nodes[1].op]
    x = torch.randn(1, 7, 7, 2)
    torch.testing.assert_close(interpreter.run(fused, [x]), interpreter.run(graph, [x]))


@pytest.mark.parametrize("value,op", KEPT)
def test_keeps(check, value, op):
    check(fuse_pad, TEXT.replace("VALUE", value).replace("OP", op))


def test_keeps_channels(check):
    check(
        fuse_pad,
        """
        in %x: Float32[1, 3, 3, 1]
        const %w: Float32[1, 1, 1, 2] = [1, 2]
        %p: Float32[1, 3, 3, 2] = Pad(%x) before=(0, 0, 0, 0) after=(0, 0, 0, 1)
        %y: Float32[1, 3, 3, 1] = Conv2d(%p, %w) stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)
        out %y
        """,
    )


def test_sums_sides(check):
    check(
        fuse_pad,
        TEXT.replace("VALUE", "0").replace("OP", FUSED[0][1]),
        """
        in %x: Float32[1, 7, 7, 2]
        const %w: Float32[2, 3, 3, 1] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, -2, 3, -4, 5, -6, 7, -8, 9]
        %y: Float32[1, 4, 5, 2] = Conv2d(%x, %w) groups=2 stride=(2, 2) padding=(1, 2, 1, 2) dilation=(1, 1)
        out %y
        """,
    )
