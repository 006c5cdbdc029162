# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.fold_batch_norm import fold_batch_norm

TYPE = "Float32[2, 6, 6, 4]"
HEAD = """
    in %x: Float32[2, 6, 6, 4]
    const %l: Float32[4, 4] = [1, 2, 3, 4, 5, 6, 7, 8, -1, 2, -3, 4, -5, 6, -7, 8]
    const %w: Float32[4, 1, 1, 2] = [1, 2, 3, 4, 5, -6, 7, -8]
    const %b: Float32[4] = [0.5, -0.5, 1, -1]
    const %s: Float32[4] = [2, -3, 0.5, 0.25]
    const %t: Float32[1, 1, 4] = [1, -2, 3, -4]
    const %one: Float32[1] = [0.3]
"""
_ATTRIBUTES = "stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1) groups=2"
PRODUCTS = {
    "Linear": "Linear(%{x}, %l)",
    "Linear with bias": "Linear(%{x}, %l, %b)",
    "Conv2d": "Conv2d(%{x}, %w, none) " + _ATTRIBUTES,
    "Conv2d with bias": "Conv2d(%{x}, %w, %b) " + _ATTRIBUTES,
    "ConvTranspose2d": "ConvTranspose2d(%{x}, %w, %b) output_padding=(0, 0) " + _ATTRIBUTES,
}
AFFINE = {
    "batch norm": ["Binary(%{x}, %s) kind=Mul", "Binary(%{x}, %t) kind=Add"],
    "numbers": ["Binary(%one, %{x}) kind=Add", "Binary(%{x}, %one) kind=Div"],
    "differences": ["Binary(%t, %{x}) kind=Sub", "Unary(%{x}) kind=Neg", "Binary(%{x}, %s) kind=Sub"],
}


def chain(*ops):
    lines, x = [], "x"
    for i, op in enumerate(ops):
        lines.append(f"%v{i}: {TYPE} = " + op.replace("{x}", x))
        x = f"v{i}"
    return HEAD + "\n".join(lines) + f"\nout %{x}"


def assert_same(before, after):
    x = torch.randn(2, 6, 6, 4)
    torch.testing.assert_close(interpreter.run(after, [x]), interpreter.run(before, [x]), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("affine", AFFINE.values(), ids=AFFINE)
@pytest.mark.parametrize("product", PRODUCTS.values(), ids=PRODUCTS)
def test_folds_behind(product, affine):
    graph = parse(chain(product, *affine))
    folded = fold_batch_norm(graph)
    assert [n.op for n in folded.nodes] == [graph.nodes[0].op]
    assert_same(graph, folded)


@pytest.mark.parametrize("affine", AFFINE.values(), ids=AFFINE)
@pytest.mark.parametrize("product", list(PRODUCTS.values())[:-1], ids=list(PRODUCTS)[:-1])
def test_folds_in_front(product, affine):
    graph = parse(chain(*affine, product))
    folded = fold_batch_norm(graph)
    assert [n.op for n in folded.nodes] == [graph.nodes[-1].op]
    assert_same(graph, folded)


def test_folds_a_factor_in_front_of_padding():
    padded = PRODUCTS["Conv2d"].replace("(0, 0, 0, 0)", "(1, 1, 1, 1)").replace("2d(%{x}", "2d(%{x}")
    graph = parse(
        f"""{HEAD}
        %a: {TYPE} = Binary(%x, %s) kind=Mul
        %y: Float32[2, 8, 8, 4] = {padded.replace("{x}", "a")}
        out %y
        """
    )
    folded = fold_batch_norm(graph)
    assert [n.op for n in folded.nodes] == ["Conv2d"]
    assert_same(graph, folded)


def test_docstring_example(check):
    check(
        fold_batch_norm,
        """
        in %x: Float32[8, 1]
        const %w: Float32[2, 1] = [1, 2]
        const %s: Float32[2] = [3, 4]
        const %t: Float32[2] = [5, 6]
        %y: Float32[8, 2] = Linear(%x, %w)
        %a: Float32[8, 2] = Binary(%y, %s) kind=Mul
        %b: Float32[8, 2] = Binary(%a, %t) kind=Add
        out %b
        """,
        """
        in %x: Float32[8, 1]
        const %w: Float32[2, 1] = [3, 8]
        const %t: Float32[2] = [5, 6]
        %b: Float32[8, 2] = Linear(%x, %w, %t)
        out %b
        """,
    )


def test_bias_keeps_shared_weight(check):
    check(
        fold_batch_norm,
        f"""{HEAD}
        %y: {TYPE} = Linear(%x, %l)
        %a: {TYPE} = Binary(%y, %b)
        %c: {TYPE} = Unary(%a) kind=Exp
        %z: {TYPE} = Linear(%c, %l)
        %d: {TYPE} = Binary(%z, %s) kind=Mul
        out %d
        """,
        f"""{HEAD}
        %a: {TYPE} = Linear(%x, %l, %b)
        %c: {TYPE} = Unary(%a) kind=Exp
        %z: {TYPE} = Linear(%c, %l)
        %d: {TYPE} = Binary(%z, %s) kind=Mul
        out %d
        """,
    )


KEPT = {
    "a clamp between": [PRODUCTS["Linear"] + " clamp=(0, 6)", "Binary(%{x}, %s) kind=Mul"],
    "a clamp of the product": [PRODUCTS["Linear"], "Binary(%{x}, %s) kind=Mul clamp=(0, 6)"],
    "a quotient of a constant": [PRODUCTS["Linear"], "Binary(%s, %{x}) kind=Div"],
    "another operator": [PRODUCTS["Linear"], "Binary(%{x}, %s) kind=Maximum"],
    "a difference from large numbers": ["Binary(%{x}, %large) kind=Sub", PRODUCTS["Linear"]],
    "a sum in front of padding": [
        "Binary(%{x}, %t) kind=Add",
        "Conv2d(%{x}, %k) stride=(1, 1) padding=(1, 1, 1, 1) dilation=(1, 1) groups=4",
    ],
    "a sum in front of a transposed convolution": [
        "Binary(%{x}, %t) kind=Add",
        PRODUCTS["ConvTranspose2d"],
    ],
}


@pytest.mark.parametrize("ops", KEPT.values(), ids=KEPT)
def test_keeps(check, ops):
    constants = "const %k: Float32[4, 3, 3, 1] = #0\nconst %large: Float32[] = [101325]\n"
    check(fold_batch_norm, constants + chain(*ops))


def test_keeps_other_axes_and_readers(check):
    check(
        fold_batch_norm,
        f"""{HEAD}
        const %rows: Float32[6, 1] = [1, 2, 3, 4, 5, 6]
        %y: {TYPE} = Linear(%x, %l)
        %a: {TYPE} = Binary(%y, %rows) kind=Mul
        %z: {TYPE} = Linear(%x, %l, %b)
        %c: {TYPE} = Binary(%z, %s) kind=Mul
        out %a
        out %z
        out %c
        """,
    )


def test_keeps_what_would_overflow(check):
    check(
        fold_batch_norm,
        """
        in %x: Float32[8, 1]
        const %w: Float32[2, 1] = [1, 3e38]
        const %s: Float32[] = [100]
        const %zero: Float32[] = [0]
        %y: Float32[8, 2] = Linear(%x, %w)
        %a: Float32[8, 2] = Binary(%y, %s) kind=Mul
        %z: Float32[8, 2] = Linear(%x, %w)
        %b: Float32[8, 2] = Binary(%z, %zero) kind=Div
        out %a
        out %b
        """,
    )


@pytest.mark.parametrize("scale", ["1e-30", "-1e-25"])
def test_leaves_what_float32_cannot_hold(check, scale):
    """The product with x may be a number that it holds."""
    check(
        fold_batch_norm,
        f"""
        in %x: Float32[8, 2]
        const %w: Float32[1, 2] = [1e-20, 0]
        const %s: Float32[1] = [{scale}]
        %a: Float32[8, 2] = Binary(%x, %s) kind=Mul
        %y: Float32[8, 1] = Linear(%a, %w)
        out %y
        """,
    )


@pytest.mark.parametrize("scale", ["0", "1e-9"])
def test_folds_zeros_and_small_scales(check, scale):
    check(
        fold_batch_norm,
        f"""
        in %x: Float32[8, 2]
        const %w: Float32[1, 2] = [2, 0]
        const %s: Float32[1] = [{scale}]
        %y: Float32[8, 1] = Linear(%x, %w)
        %a: Float32[8, 1] = Binary(%y, %s) kind=Mul
        out %a
        """,
        f"""
        in %x: Float32[8, 2]
        const %w: Float32[1, 2] = [{float(scale) * 2}, 0]
        const %z: Float32[1] = [0]
        %a: Float32[8, 1] = Linear(%x, %w, %z)
        out %a
        """,
    )


def test_leaves_float64(check):
    check(
        fold_batch_norm,
        """
        in %x: Float64[8, 2]
        const %w: Float64[1, 2] = [2, 3]
        %y: Float64[8, 1] = Linear(%x, %w)
        %a: Float64[8, 1] = Unary(%y) kind=Neg
        out %a
        """,
    )
