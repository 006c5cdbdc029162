# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.fold_quantized_linear import fold_quantized_linear

ROWS = """
    in %x: Float32[3, 4]
    const %w: Int8[2, 4] = [1, -8, 7, 3, 0, 2, -5, 6]
    const %s: Float32[2, 1] = [0.5, 0.25]
    const %z: Int32[2, 1] = [0, 0]
    %scale: Float32[3, 1], %zero: Int32[3, 1] = ChooseQParams(%x) axes=1 min=-128 max=127 epsilon=0.001
    %q: Int8[3, 4] = Quantize(%x, %scale, %zero) dtype=Int8 min=-128 max=127
    %d: Float32[3, 4] = Dequantize(%q, %scale, %zero)
    %v: Float32[2, 4] = Dequantize(%w, %s, %z)
    %y: Float32[3, 2] = Linear(%d, %v)
    out %y
"""


def folded(text, tolerance=0.05, shape=(3, 4)):
    graph = parse(text)
    result = fold_quantized_linear(graph)
    x = torch.randn(shape)
    expected, actual = (interpreter.run(g, [x]) for g in (graph, result))
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)
    return [n.op for n in result.nodes], result.nodes[-1].attributes


def test_rows_and_weights():
    operators, attributes = folded(ROWS)
    assert operators == ["QuantizedLinear"]
    assert attributes.bits == 4 and attributes.dynamic_quantization


@pytest.mark.parametrize(
    "before,after,bits",
    (
        ("[1, -8, 7", "[1, -9, 7", 8),
        ("[1, -8, 7", "[1, 127, 7", 8),
        ("Float32[2, 1] = [0.5, 0.25]", "Float32[1, 1] = [0.5]", 4),
    ),
)
def test_weights_of_any_kind(before, after, bits):
    text = ROWS.replace(before, after)
    if "Float32[1, 1]" in text:
        text = text.replace("Int32[2, 1] = [0, 0]", "Int32[1, 1] = [0]")
    operators, attributes = folded(text)
    assert operators == ["QuantizedLinear"] and attributes.bits == bits


def test_zero_points_of_weights_become_a_product_of_sums():
    operators, _ = folded(ROWS.replace("%z: Int32[2, 1] = [0, 0]", "%z: Int32[2, 1] = [1, -3]"), 0.1)
    assert operators == ["QuantizedLinear", "Reshape", "Reduce", "Linear", "Binary"]


@pytest.mark.parametrize(
    "before,after",
    (
        ("dtype=Int8 min=-128 max=127\n    %d", "dtype=Int8 min=-100 max=100\n    %d"),
        ("Dequantize(%q, %scale, %zero)", "Dequantize(%q, %s3, %zero)"),
        ("ChooseQParams(%x)", "ChooseQParams(%other)"),
    ),
)
def test_other_roundings_stay(before, after):
    text = ROWS.replace(before, after)
    text = text.replace("const %w", "const %s3: Float32[3, 1] = [1, 1, 1]\n    const %w")
    text = text.replace("    %scale", "    %other: Float32[3, 4] = Unary(%x) kind=Abs\n    %scale")
    graph = parse(text)
    result = fold_quantized_linear(graph)
    assert result.nodes[-1].op == "QuantizedLinear" and not result.nodes[-1].attributes.dynamic_quantization
    assert "Quantize" in [n.op for n in result.nodes]


def test_a_scale_and_a_bias_behind_the_product():
    operators, attributes = folded(
        """
        in %x: Float32[3, 4]
        const %w: Float32[2, 4] = [1, -128, 7, 3, 0, 2, -5, 127]
        const %s: Float32[2] = [0.5, 0.25]
        const %b: Float32[2] = [1, 2]
        %p: Float32[3, 2] = Linear(%x, %w)
        %q: Float32[3, 2] = Binary(%p, %s) kind=Mul
        %r: Float32[1, 3, 2] = Reshape(%q) shape=(1, 3, 2)
        %y: Float32[1, 3, 2] = Binary(%r, %b) kind=Add clamp=(0, inf)
        out %y
        """
    )
    assert operators == ["QuantizedLinear", "Reshape"]


def test_a_reshape_before_the_scale():
    operators, _ = folded(
        """
        in %x: Float32[1, 3, 4]
        const %w: Float32[2, 4] = [1, -128, 7, 3, 0, 2, -5, 127]
        const %s: Float32[2] = [0.5, 0.25]
        %f: Float32[3, 4] = Reshape(%x) shape=(3, 4)
        %p: Float32[3, 2] = Linear(%f, %w)
        %r: Float32[1, 3, 2] = Reshape(%p) shape=(1, 3, 2)
        %y: Float32[1, 3, 2] = Binary(%r, %s) kind=Mul
        out %y
        """,
        shape=(1, 3, 4),
    )
    assert operators == ["Reshape", "QuantizedLinear", "Reshape"]


def test_a_reshape_that_makes_other_columns():
    operators, _ = folded(
        """
        in %x: Float32[2, 4]
        const %w: Float32[2, 4] = [1, -128, 7, 3, 0, 2, -5, 127]
        const %s: Float32[4] = [0.5, 0.25, 1, 2]
        %p: Float32[2, 2] = Linear(%x, %w)
        %r: Float32[1, 4] = Reshape(%p) shape=(1, 4)
        %y: Float32[1, 4] = Binary(%r, %s) kind=Mul
        out %y
        """,
        shape=(2, 4),
    )
    assert operators == ["Linear", "Reshape", "Binary"]


@pytest.mark.parametrize(
    "weight", ("1, 0.5, 7, 3, 0, 2, -5, 6", "1, 128, 7, 3, 0, 2, -5, 6", "1, inf, 7, 3, 0, 2, -5, 6")
)
def test_weights_that_are_no_integers_stay(check, weight):
    check(
        fold_quantized_linear,
        f"""
        in %x: Float32[3, 4]
        const %w: Float32[2, 4] = [{weight}]
        const %s: Float32[2] = [0.5, 0.25]
        %p: Float32[3, 2] = Linear(%x, %w)
        %q: Float32[3, 2] = Binary(%p, %s) kind=Mul
        out %q
        """,
    )


def test_leaves_static_quantization_to_its_own_pass():
    text = """
        in %x: Float32[3, 4]
        const %a: Float32[] = [0.02]
        const %b: Int32[] = [3]
        const %w: Int8[2, 4] = [1, -8, 7, 3, 0, 2, -5, 6]
        const %s: Float32[2, 1] = [0.5, 0.25]
        const %z: Int32[2, 1] = [0, 0]
        %q: Int8[3, 4] = Quantize(%x, %a, %b) dtype=Int8 min=-128 max=127
        %d: Float32[3, 4] = Dequantize(%q, %a, %b)
        %v: Float32[2, 4] = Dequantize(%w, %s, %z)
        %y: Float32[3, 2] = Linear(%d, %v)
        out %y
    """
    operators, _ = folded(text)
    assert operators == ["Quantize", "Dequantize", "Dequantize", "Linear"]
