# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.recognize_layer_norm import recognize_layer_norm

HEAD = """
    range s0 1..16 hint 8
    in %x: Float32[s0, 4]
    const %epsilon: Float32[] = [0.0001220703125]
    const %two: Float32[] = [2]
    const %minus_half: Float32[] = [-0.5]
    const %w: Float32[1, 4] = [1, 2, 3, 4]
    const %b: Float32[4] = [5, 6, 7, 8]
    const %one: Float32[] = [3]
    %m: Float32[s0, 1] = Reduce(%x) kind=Mean axes=(1,) keep_dims=True
    %d: Float32[s0, 4] = Binary(%x, %m) kind=Sub
"""
SQUARE = {
    "square": "%q: Float32[s0, 4] = Unary(%d) kind=Square",
    "power": "%q: Float32[s0, 4] = Binary(%d, %two) kind=Pow",
    "product": "%q: Float32[s0, 4] = Binary(%d, %d) kind=Mul",
}
VARIANCE = """
    %v: Float32[s0, 1] = Reduce(%q) kind=Mean axes=(1,) keep_dims=True
    %e: Float32[s0, 1] = Binary(%epsilon, %v) kind=Add
"""
ROOT = {
    "sqrt": "%s: Float32[s0, 1] = Unary(%e) kind=Sqrt\n%n: Float32[s0, 4] = Binary(%d, %s) kind=Div",
    "rsqrt": "%s: Float32[s0, 1] = Unary(%e) kind=Rsqrt\n%n: Float32[s0, 4] = Binary(%s, %d) kind=Mul",
    "power": """
        %s: Float32[s0, 1] = Binary(%e, %minus_half) kind=Pow
        %n: Float32[s0, 4] = Binary(%d, %s) kind=Mul
    """,
}
AFFINE = """
    %y: Float32[s0, 4] = Binary(%w, %n) kind=Mul
    %z: Float32[s0, 4] = Binary(%y, %b) kind=Add
    out %z
"""
NORM = """
    range s0 1..16 hint 8
    in %x: Float32[s0, 4]
    const %w: Float32[4] = [1, 2, 3, 4]
    const %b: Float32[4] = [5, 6, 7, 8]
"""


@pytest.mark.parametrize("root", ROOT.values(), ids=ROOT)
@pytest.mark.parametrize("square", SQUARE.values(), ids=SQUARE)
def test_finds(check, square, root):
    check(
        recognize_layer_norm,
        HEAD + square + VARIANCE + root + AFFINE,
        NORM + "%z: Float32[s0, 4] = LayerNorm(%x, %w, %b) axes=1 epsilon=0.0001220703125\nout %z",
    )


def test_finds_bias_alone(check):
    bias = "\n%z: Float32[s0, 4] = Binary(%n, %b) kind=Add\nout %z"
    check(
        recognize_layer_norm,
        HEAD + SQUARE["square"] + VARIANCE + ROOT["sqrt"] + bias,
        NORM + "%z: Float32[s0, 4] = LayerNorm(%x, none, %b) axes=1 epsilon=0.0001220703125\nout %z",
    )


def test_leaves_other_factors_outside(check):
    factor = "\n%z: Float32[s0, 4] = Binary(%n, %one) kind=Mul\nout %z\nout %n"
    check(
        recognize_layer_norm,
        HEAD + SQUARE["square"] + VARIANCE + ROOT["sqrt"] + factor,
        NORM
        + """
        const %one: Float32[] = [3]
        %n: Float32[s0, 4] = LayerNorm(%x) axes=1 epsilon=0.0001220703125
        %z: Float32[s0, 4] = Binary(%n, %one) kind=Mul
        out %z
        out %n
        """,
    )


def test_keeps_other_axes(check):
    before = (HEAD + SQUARE["square"] + VARIANCE + ROOT["sqrt"] + AFFINE).replace("axes=(1,)", "axes=(0,)")
    for name in "mves":
        before = before.replace(f"%{name}: Float32[s0, 1]", f"%{name}: Float32[1, 4]")
    check(recognize_layer_norm, before)


RMS_HEAD = "\n".join(line for line in HEAD.splitlines() if "%m:" not in line and "%d:" not in line) + "\n"


@pytest.mark.parametrize("root", ROOT.values(), ids=ROOT)
@pytest.mark.parametrize("square", SQUARE.values(), ids=SQUARE)
def test_finds_rms_norm(check, square, root):
    scaled = "\n%z: Float32[s0, 4] = Binary(%n, %w) kind=Mul\nout %z"
    check(
        recognize_layer_norm,
        RMS_HEAD + (square + VARIANCE + root).replace("%d", "%x") + scaled,
        NORM + "%z: Float32[s0, 4] = RmsNorm(%x, %w) axes=1 epsilon=0.0001220703125\nout %z",
    )


def test_adds_nothing_to_an_rms_norm(check):
    shifted = "\n%z: Float32[s0, 4] = Binary(%n, %b) kind=Add\nout %z"
    text = RMS_HEAD + (SQUARE["square"] + VARIANCE + ROOT["rsqrt"]).replace("%d", "%x") + shifted
    check(
        recognize_layer_norm,
        text,
        NORM
        + "%n: Float32[s0, 4] = RmsNorm(%x) axes=1 epsilon=0.0001220703125\n"
        + "%z: Float32[s0, 4] = Binary(%n, %b) kind=Add\nout %z",
    )
