# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from executorch.backends.et_xnnpack.aot.passes.choose_layout import choose_layout

CONV = "stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)"


def transposes(graph):
    return [n for n in graph.nodes if n.op == "Transpose"]


def test_docstring_example(check):
    check(
        choose_layout,
        """
        in %x: Float32[1, 2, 8, 8]
        const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
        const %b: Float32[2, 1, 1] = [3, 4]
        %t: Float32[1, 8, 8, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[1, 8, 8, 2] = Conv2d(%t, %w)
        %u: Float32[1, 2, 8, 8] = Transpose(%c) perm=(0, 3, 1, 2)
        %a: Float32[1, 2, 8, 8] = Binary(%u, %b)
        %v: Float32[1, 8, 8, 2] = Transpose(%a) perm=(0, 2, 3, 1)
        %d: Float32[1, 8, 8, 2] = Conv2d(%v, %w)
        out %d
        """,
        """
        in %x: Float32[1, 2, 8, 8]
        const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
        const %b: Float32[2] = [3, 4]
        %t: Float32[1, 8, 8, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[1, 8, 8, 2] = Conv2d(%t, %w)
        %a: Float32[1, 8, 8, 2] = Binary(%c, %b)
        %d: Float32[1, 8, 8, 2] = Conv2d(%a, %w)
        out %d
        """,
    )


def test_residual_and_squeeze_excite(check):
    check(
        choose_layout,
        """
        range s0 1..4 hint 2
        in %x: Float32[s0, 2, 8, 8] order (0, 2, 3, 1)
        const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
        %xt: Float32[s0, 8, 8, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[s0, 8, 8, 2] = Conv2d(%xt, %w)
        %u: Float32[s0, 2, 8, 8] = Transpose(%c) perm=(0, 3, 1, 2)
        %m: Float32[s0, 2, 1, 1] = Reduce(%u) kind=Mean axes=(2, 3) keep_dims=True
        %mt: Float32[s0, 1, 1, 2] = Transpose(%m) perm=(0, 2, 3, 1)
        %e: Float32[s0, 1, 1, 2] = Conv2d(%mt, %w)
        %et: Float32[s0, 2, 1, 1] = Transpose(%e) perm=(0, 3, 1, 2)
        %g: Float32[s0, 2, 1, 1] = Unary(%et) kind=HardSigmoid
        %s: Float32[s0, 2, 8, 8] = Binary(%g, %u) kind=Mul
        %a: Float32[s0, 2, 8, 8] = Binary(%s, %x) kind=Add
        %p: Float32[s0, 2, 9, 9] = Pad(%a) before=(0, 0, 0, 0) after=(0, 0, 1, 1)
        %q: Float32[s0, 4, 9, 9] = Concat(%p, %p) axis=1
        %f: Float32[s0, 4] = Reduce(%q) kind=Mean axes=(2, 3)
        %l: Float32[s0, 4] = Softmax(%f) axis=1
        out %l
        """,
        """
        range s0 1..4 hint 2
        in %x: Float32[s0, 2, 8, 8] order (0, 2, 3, 1)
        const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
        %xt: Float32[s0, 8, 8, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[s0, 8, 8, 2] = Conv2d(%xt, %w)
        %m: Float32[s0, 1, 1, 2] = Reduce(%c) kind=Mean axes=(1, 2) keep_dims=True
        %e: Float32[s0, 1, 1, 2] = Conv2d(%m, %w)
        %g: Float32[s0, 1, 1, 2] = Unary(%e) kind=HardSigmoid
        %s: Float32[s0, 8, 8, 2] = Binary(%g, %c) kind=Mul
        %a: Float32[s0, 8, 8, 2] = Binary(%s, %xt) kind=Add
        %p: Float32[s0, 9, 9, 2] = Pad(%a) before=(0, 0, 0, 0) after=(0, 1, 1, 0)
        %q: Float32[s0, 9, 9, 4] = Concat(%p, %p) axis=3
        %f: Float32[s0, 4] = Reduce(%q) kind=Mean axes=(1, 2)
        %l: Float32[s0, 4] = Softmax(%f) axis=1
        out %l
        """,
    )


def test_attention_with_heads_of_tokens_side_by_side(check):
    check(
        choose_layout,
        """
        range s0 1..9 hint 5
        in %x: BFloat16[2, s0, 3, 4]
        in %k: Float32[2, s0, 3, 4]
        in %m: Float32[1, 3, s0, s0]
        %xt: BFloat16[2, 3, s0, 4] = Transpose(%x) perm=(0, 2, 1, 3)
        %q: Float32[2, 3, s0, 4] = Cast(%xt) dtype=Float32
        %kt: Float32[2, 3, s0, 4] = Transpose(%k) perm=(0, 2, 1, 3)
        %a: Float32[2, 3, s0, 4] = Attention(%q, %kt, %kt, %m) scale=0.5 causal=False
        %b: BFloat16[2, 3, s0, 4] = Cast(%a) dtype=BFloat16
        %y: BFloat16[2, s0, 3, 4] = Transpose(%b) perm=(0, 2, 1, 3)
        out %y
        """,
        """
        range s0 1..9 hint 5
        in %x: BFloat16[2, s0, 3, 4]
        in %k: Float32[2, s0, 3, 4]
        in %m: Float32[1, 3, s0, s0]
        %q: Float32[2, s0, 3, 4] = Cast(%x) dtype=Float32
        %a: Float32[2, s0, 3, 4] = Attention(%q, %k, %k, %m) scale=0.5 causal=False by_token=True
        %b: BFloat16[2, s0, 3, 4] = Cast(%a) dtype=BFloat16
        out %b
        """,
    )


def test_attention_stays_where_moving_it_gains_nothing(check):
    head = """
        in %q: Float32[2, 3, 5, 4]
        in %k: Float32[2, 3, 5, 4]
        in %x: Float32[2, 5, 3, 4]
        %v: Float32[2, 3, 5, 4] = Transpose(%x) perm=(0, 2, 1, 3)
        %a: Float32[2, 3, 5, 4] = Attention(%q, %k, %v) scale=0.5 causal=True
        out %a
    """
    check(choose_layout, head, head)


def test_attention_without_heads_has_one_layout(check):
    before = """
        in %q: Float32[5, 4]
        in %k: Float32[4, 5]
        %t: Float32[5, 4] = Transpose(%k) perm=(1, 0)
        %a: Float32[5, 4] = Attention(%q, %t, %t) scale=0.5 causal=True
        %y: Float32[4, 5] = Transpose(%a) perm=(1, 0)
        out %y
    """
    check(choose_layout, before, before)


def test_channel_shuffles(check):
    """Units of ShuffleNet: half of the channels are convolved, then all are mixed.

    Which order pays shows only behind the next convolution.
    """

    def before(i):
        return f"""
        %a{i}: Float32[2, 2, 8, 8] = Slice(%x{i}) axis=1 start=0 size=2
        %b{i}: Float32[2, 2, 8, 8] = Slice(%x{i}) axis=1 start=2 size=2
        %t{i}: Float32[2, 8, 8, 2] = Transpose(%b{i}) perm=(0, 2, 3, 1)
        %c{i}: Float32[2, 8, 8, 2] = Conv2d(%t{i}, %w)
        %u{i}: Float32[2, 2, 8, 8] = Transpose(%c{i}) perm=(0, 3, 1, 2)
        %j{i}: Float32[2, 4, 8, 8] = Concat(%a{i}, %u{i}) axis=1
        %g{i}: Float32[2, 2, 2, 8, 8] = Reshape(%j{i}) shape=(2, 2, 2, 8, 8)
        %s{i}: Float32[2, 2, 2, 8, 8] = Transpose(%g{i}) perm=(0, 2, 1, 3, 4)
        %x{i + 1}: Float32[2, 4, 8, 8] = Reshape(%s{i}) shape=(2, 4, 8, 8)
        """

    def after(i):
        return f"""
        %a{i}: Float32[2, 8, 8, 2] = Slice(%x{i}) axis=3 start=0 size=2
        %b{i}: Float32[2, 8, 8, 2] = Slice(%x{i}) axis=3 start=2 size=2
        %c{i}: Float32[2, 8, 8, 2] = Conv2d(%b{i}, %w)
        %j{i}: Float32[2, 8, 8, 4] = Concat(%a{i}, %c{i}) axis=3
        %g{i}: Float32[2, 8, 8, 2, 2] = Reshape(%j{i}) shape=(2, 8, 8, 2, 2)
        %s{i}: Float32[2, 8, 8, 2, 2] = Transpose(%g{i}) perm=(0, 1, 2, 4, 3)
        %x{i + 1}: Float32[2, 8, 8, 4] = Reshape(%s{i}) shape=(2, 8, 8, 4)
        """

    begin = """
        in %x: Float32[2, 4, 8, 8]
        const %v: Float32[4, 1, 1, 4] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]
        const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
        %z: Float32[2, 8, 8, 4] = Transpose(%x) perm=(0, 2, 3, 1)
    """
    check(
        choose_layout,
        begin
        + """
        %y: Float32[2, 8, 8, 4] = Conv2d(%z, %v)
        %x0: Float32[2, 4, 8, 8] = Transpose(%y) perm=(0, 3, 1, 2)
        """
        + before(0)
        + before(1)
        + """
        %e: Float32[2, 8, 8, 4] = Transpose(%x2) perm=(0, 2, 3, 1)
        %f: Float32[2, 8, 8, 4] = Conv2d(%e, %v)
        out %f
        """,
        begin
        + """
        %x0: Float32[2, 8, 8, 4] = Conv2d(%z, %v)
        """
        + after(0)
        + after(1)
        + """
        %f: Float32[2, 8, 8, 4] = Conv2d(%x2, %v)
        out %f
        """,
    )
