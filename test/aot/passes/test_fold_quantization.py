# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.fold_quantization import fold_quantization

HEAD = """
    in %x: Float32[1, 4, 4, 2]
    const %s: Float32[] = [0.5]
    const %z: Int32[] = [3]
    %q: Int8[1, 4, 4, 2] = Quantize(%x, %s, %z) dtype=Int8 min=-128 max=127
    %f: Float32[1, 4, 4, 2] = Dequantize(%q, %s, %z)
"""
POOL = "kernel=(2, 2) stride=(2, 2) padding=(0, 0, 0, 0)"


def test_stores_what_a_pool_reads_as_its_result_is_stored(check):
    check(
        fold_quantization,
        f"""{HEAD}
        %d: Float32[1, 4, 4, 2] = Binary(%f, %f) kind=Div clamp=(-5, 5)
        %m: Float32[1, 2, 2, 2] = MaxPool2d(%d) {POOL} dilation=(1, 1)
        %r: Float32[2, 2] = Reduce(%m) kind=Max axes=(0, 1)
        %p: Int8[2, 2] = Quantize(%r, %s, %z) dtype=Int8 min=-128 max=127
        %y: Float32[2, 2] = Dequantize(%p, %s, %z)
        out %y
        """,
        f"""
        in %x: Float32[1, 4, 4, 2]
        %c: Float32[1, 4, 4, 2] as Int8(0.5 from 3) = Unary(%x) kind=Copy
        %d: Float32[1, 4, 4, 2] as Int8(0.5 from 3) = Binary(%c, %c) kind=Div
        %l: Float32[1, 4, 4, 2] as Int8(0.5 from 3) = Unary(%d) kind=Clamp clamp=(-5, 5)
        %m: Float32[1, 2, 2, 2] as Int8(0.5 from 3) = MaxPool2d(%l) {POOL} dilation=(1, 1)
        %r: Float32[2, 2] as Int8(0.5 from 3) = Reduce(%m) kind=Max axes=(0, 1)
        %y: Float32[2, 2] = Unary(%r) kind=Copy
        out %y
        """,
    )


def test_keeps_floats_where_a_window_may_have_nothing_but_padding():
    """There the maximum is -inf, which no integer stands for."""
    graph = parse(f"""{HEAD}
        %m: Float32[1, 4, 4, 2] = MaxPool2d(%f) kernel=(1, 2) stride=(1, 1) padding=(0, 1, 0, 1) dilation=(1, 2)
        out %m
    """)
    refused = []
    (last,) = fold_quantization(graph, refused).outputs
    assert [(op, reason) for _, op, reason in refused] == [
        ("MaxPool2d", "it pads with [-inf], which its quantized operand cannot hold")
    ]
    assert last.value == "m"
