# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.recognize_attention import recognize_attention

HEAD = """
    range s0 1..16 hint 8
    in %q: Float32[1, 2, s0, 4]
    in %k: Float32[1, 2, s0, 4]
    in %v: Float32[1, 2, s0, 8]
    in %m: Float32[1, 1, 1, s0]
    const %half: Float32[] = [0.5]
    const %two: Float32[1] = [2]
"""
S = "Float32[1, 2, s0, s0]"
TAIL = f"""
    %w: {S} = Softmax(%u) axis=3
    %y: Float32[1, 2, s0, 8] = BatchMatMul(%w, %v)
    out %y
"""
FOUND = {
    "plain": (f"%u: {S} = BatchMatMul(%q, %k) transpose_b=True", "(%q, %k, %v) scale=1"),
    "scale and mask": (
        f"""
        %s: {S} = BatchMatMul(%q, %k) transpose_b=True
        %t: {S} = Binary(%s, %two) kind=Div
        %u: {S} = Binary(%m, %t) kind=Add
        """,
        "(%q, %k, %v, %m) scale=0.5",
    ),
    "scaled operands": (
        f"""
        %a: Float32[1, 2, s0, 4] = Binary(%q, %half) kind=Mul
        %b: Float32[1, 2, s0, 4] = Binary(%half, %k) kind=Mul
        %u: {S} = BatchMatMul(%a, %b) transpose_b=True
        """,
        "(%q, %k, %v) scale=0.25",
    ),
}
BY_HEAD = f"""
    const %h: Float32[2, 1, 1] = [3, 5]
    %s: {S} = BatchMatMul(%q, %k) transpose_b=True
    %t: {S} = Binary(%h, %s) kind=Mul
    %u: {S} = Binary(%t, %m) kind=Add
"""
KEPT = {
    "a factor for each key": f"""
        %s: {S} = BatchMatMul(%q, %k) transpose_b=True
        %u: {S} = Binary(%s, %m) kind=Mul
    """,
    "key not transposed": f"""
        %a: Float32[1, 2, 4, s0] = Transpose(%k) perm=(0, 1, 3, 2)
        %u: {S} = BatchMatMul(%q, %a)
    """,
    "scores read twice": f"""
        %u: {S} = BatchMatMul(%q, %k) transpose_b=True
        out %u
    """,
    "scale that float32 rounds to zero": f"""
        const %tiny: Float32[] = [1e-25]
        %a: Float32[1, 2, s0, 4] = Binary(%q, %tiny) kind=Mul
        %b: Float32[1, 2, s0, 4] = Binary(%k, %tiny) kind=Mul
        %u: {S} = BatchMatMul(%a, %b) transpose_b=True
    """,
    "scale beyond float32": f"""
        const %huge: Float32[] = [1e20]
        %a: Float32[1, 2, s0, 4] = Binary(%q, %huge) kind=Mul
        %s: {S} = BatchMatMul(%a, %k) transpose_b=True
        %u: {S} = Binary(%s, %huge) kind=Mul
    """,
    "scores from elsewhere": f"%u: {S} = Expand(%m) shape=(1, 2, s0, s0)",
}


@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
def test_finds(check, case):
    nodes, attention = case
    check(
        recognize_attention,
        HEAD + nodes + TAIL,
        HEAD + f"%y: Float32[1, 2, s0, 8] = Attention{attention} causal=False\nout %y",
    )


def test_a_factor_for_each_head(check):
    scaled = """
        const %h: Float32[2, 1, 1] = [3, 5]
        %p: Float32[1, 2, s0, 4] = Binary(%q, %h) kind=Mul
        %y: Float32[1, 2, s0, 8] = Attention(%p, %k, %v, %m) scale=1 causal=False
        out %y
    """
    check(recognize_attention, HEAD + BY_HEAD + TAIL, HEAD + scaled)


WINDOWS = """
    in %q: Float32[5, 2, 3, 4]
    in %b: Float32[1, 2, 3, 3]
    in %m: Float32[1, IMAGE, 1, 3, 3]
    %s: Float32[5, 2, 3, 3] = BatchMatMul(%q, %q) transpose_b=True
    %t: Float32[5, 2, 3, 3] = Binary(%s, %b) kind=Add
    %f: Float32[1, IMAGE, 2, 3, 3] = Reshape(%t) shape=(1, IMAGE, 2, 3, 3)
    %g: Float32[1, IMAGE, 2, 3, 3] = Binary(%f, %m) kind=Add
    %h: Float32[1, IMAGE, 2, 3, 3] = Binary(%m, %g) kind=Add
    %u: Float32[5, 2, 3, 3] = Reshape(%h) shape=(5, 2, 3, 3)
    %w: Float32[5, 2, 3, 3] = Softmax(%u) axis=3
    %y: Float32[5, 2, 3, 4] = BatchMatMul(%w, %q)
    out %y
"""


def test_masks_of_windows(check):
    found = """
        in %q: Float32[5, 2, 3, 4]
        in %b: Float32[1, 2, 3, 3]
        in %m: Float32[1, 5, 1, 3, 3]
        %c: Float32[5, 1, 3, 3] = Reshape(%m) shape=(5, 1, 3, 3)
        %d: Float32[5, 1, 3, 3] = Reshape(%m) shape=(5, 1, 3, 3)
        %e: Float32[5, 1, 3, 3] = Binary(%c, %d) kind=Add
        %f: Float32[5, 2, 3, 3] = Binary(%e, %b) kind=Add
        %y: Float32[5, 2, 3, 4] = Attention(%q, %q, %q, %f) scale=1 causal=False
        out %y
    """
    check(recognize_attention, WINDOWS.replace("IMAGE", "5"), found)


def test_keeps_masks_of_windows_of_several_images(check):
    several = WINDOWS.replace("IMAGE", "5").replace("[5, 2,", "[10, 2,").replace("[1, 5, 2,", "[2, 5, 2,")
    check(recognize_attention, several.replace("(1, 5, 2,", "(2, 5, 2,").replace("(5, 2,", "(10, 2,"))


@pytest.mark.parametrize("nodes", KEPT.values(), ids=KEPT)
def test_keeps(check, nodes):
    check(recognize_attention, HEAD + nodes + TAIL)


def test_keeps_softmax_over_queries(check):
    nodes = f"%u: {S} = BatchMatMul(%q, %k) transpose_b=True"
    check(recognize_attention, (HEAD + nodes + TAIL).replace("axis=3", "axis=2"))


def test_keeps_mask_that_empties_a_row(check):
    text = """
        in %q: Float32[1, 2, 4]
        const %m: Float32[2, 2] = [0, -inf, -inf, -inf]
        %s: Float32[1, 2, 2] = BatchMatMul(%q, %q) transpose_b=True
        %u: Float32[1, 2, 2] = Binary(%s, %m) kind=Add
        %w: Float32[1, 2, 2] = Softmax(%u) axis=2
        %y: Float32[1, 2, 4] = BatchMatMul(%w, %q)
        out %y
    """
    check(recognize_attention, text)


def test_grouped_heads(check):
    check(
        recognize_attention,
        """
        range s0 1..16 hint 8
        in %q: Float32[1, 6, s0, 4]
        in %k: Float32[1, 2, s0, 4]
        %a: Float32[1, 2, 1, s0, 4] = Reshape(%k) shape=(1, 2, 1, s0, 4)
        %b: Float32[1, 2, 3, s0, 4] = Expand(%a) shape=(1, 2, 3, s0, 4)
        %c: Float32[1, 6, s0, 4] = Reshape(%b) shape=(1, 6, s0, 4)
        %y: Float32[1, 6, s0, 4] = Attention(%q, %c, %c) scale=0.5 causal=True
        out %y
        """,
        """
        range s0 1..16 hint 8
        in %q: Float32[1, 6, s0, 4]
        in %k: Float32[1, 2, s0, 4]
        %a: Float32[1, 2, 1, s0, 4] = Reshape(%k) shape=(1, 2, 1, s0, 4)
        %b: Float32[1, 2, s0, 4] = Reshape(%a) shape=(1, 2, s0, 4)
        %c: Float32[1, 2, s0, 4] = Reshape(%a) shape=(1, 2, s0, 4)
        %y: Float32[1, 6, s0, 4] = Attention(%q, %b, %c) scale=0.5 causal=True
        out %y
        """,
    )


def test_grouped_heads_in_16_bits(check):
    check(
        recognize_attention,
        """
        range s0 1..16 hint 8
        in %q: Float32[1, 6, s0, 4]
        in %k: BFloat16[1, 2, s0, 4]
        %a: BFloat16[1, 2, 1, s0, 4] = Reshape(%k) shape=(1, 2, 1, s0, 4)
        %b: BFloat16[1, 2, 3, s0, 4] = Expand(%a) shape=(1, 2, 3, s0, 4)
        %c: BFloat16[1, 6, s0, 4] = Reshape(%b) shape=(1, 6, s0, 4)
        %d: Float32[1, 6, s0, 4] = Cast(%c) dtype=Float32
        %y: Float32[1, 6, s0, 4] = Attention(%q, %d, %d) scale=0.5 causal=True
        out %y
        """,
        """
        range s0 1..16 hint 8
        in %q: Float32[1, 6, s0, 4]
        in %k: BFloat16[1, 2, s0, 4]
        %a: BFloat16[1, 2, 1, s0, 4] = Reshape(%k) shape=(1, 2, 1, s0, 4)
        %b: BFloat16[1, 2, s0, 4] = Reshape(%a) shape=(1, 2, s0, 4)
        %c: Float32[1, 2, s0, 4] = Cast(%b) dtype=Float32
        %d: BFloat16[1, 2, s0, 4] = Reshape(%a) shape=(1, 2, s0, 4)
        %e: Float32[1, 2, s0, 4] = Cast(%d) dtype=Float32
        %y: Float32[1, 6, s0, 4] = Attention(%q, %c, %e) scale=0.5 causal=True
        out %y
        """,
    )


FIXED = """
    in %q: Float32[2, 3, 4]
    in %k: Float32[2, 3, 4]
    in %v: Float32[2, 3, 5]
"""
MASKS = {
    "causal": ("Bool[3, 3] = [True, False, False, True, True, False, True, True, True]", "causal=True"),
    "lowest": ("Float32[1, 3, 3] = [0, -3e38, -3e38, 0, 0, -inf, 0, 0, 0]", "causal=True"),
    "everything": ("Bool[3] = [True, True, True]", "causal=False"),
    "zero": ("Float32[] = [0]", "causal=False"),
    "another": ("Bool[3, 3] = [True, False, True, True, True, False, True, True, True]", None),
    "bias": ("Float32[3, 3] = [0, -1, -1, 0, 0, -1, 0, 0, 0]", None),
}


@pytest.mark.parametrize("mask,expected", MASKS.values(), ids=MASKS)
def test_constant_masks(check, mask, expected):
    head = FIXED + f"const %m: {mask}\n"
    before = head + "%y: Float32[2, 3, 5] = Attention(%q, %k, %v, %m) scale=0.5 causal=False\nout %y"
    after = FIXED + f"%y: Float32[2, 3, 5] = Attention(%q, %k, %v) scale=0.5 {expected}\nout %y"
    check(recognize_attention, before, before if expected is None else after)
