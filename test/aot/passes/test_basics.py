# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""drop_unused, fold_constants, merge_duplicates, copy_outputs."""

from executorch.backends.et_xnnpack.aot.ir import Quantization, parse
from executorch.backends.et_xnnpack.aot.passes.copy_outputs import copy_outputs
from executorch.backends.et_xnnpack.aot.passes.drop_unused import drop_unused
from executorch.backends.et_xnnpack.aot.passes.fold_constants import fold_constants
from executorch.backends.et_xnnpack.aot.passes.merge_duplicates import merge_duplicates


def test_drop_unused(check):
    check(
        drop_unused,
        """
        in %x: Float32[4]
        in %unused: Float32[4]
        const %c: Float32[] = [1]
        %a: Float32[4] = Unary(%x) kind=Exp
        %b: Float32[4] = Binary(%a, %c) kind=Add
        %y: Float32[4] = Unary(%x) kind=Neg
        out %y
        """,
        """
        in %x: Float32[4]
        in %unused: Float32[4]
        %y: Float32[4] = Unary(%x) kind=Neg
        out %y
        """,
    )


def test_fold_constants(check):
    check(
        fold_constants,
        """
        in %x: Float32[2]
        const %c: Float32[2] = [1, 2]
        %n: Float32[2] = Unary(%c) kind=Neg
        %m: Float32[2] = Binary(%n, %c) kind=Mul
        %y: Float32[2] = Binary(%x, %m) kind=Add
        out %y
        """,
        """
        in %x: Float32[2]
        const %m: Float32[2] = [-1, -4]
        %y: Float32[2] = Binary(%x, %m) kind=Add
        out %y
        """,
    )


def test_fold_constants_keeps_what_would_grow(check):
    check(
        fold_constants,
        """
        in %x: Float32[1000, 1000]
        const %c: Float32[1000] = #0
        %e: Float32[1000, 1000] = Expand(%c) shape=(1000, 1000)
        %y: Float32[1000, 1000] = Binary(%x, %e) kind=Add
        out %y
        """,
    )


def test_merge_duplicates(check):
    check(
        merge_duplicates,
        """
        in %x: Float32[2]
        const %c: Float32[2] = [1, 2]
        const %d: Float32[2] = [1, 2]
        %a: Float32[2] = Binary(%x, %c) kind=Add
        %b: Float32[2] = Binary(%d, %x) kind=Add
        %y: Float32[2] = Binary(%a, %b) kind=Mul
        %z: Float32[2] = Binary(%b, %a) kind=Mul
        out %y
        out %z
        """,
        """
        in %x: Float32[2]
        const %c: Float32[2] = [1, 2]
        %a: Float32[2] = Binary(%x, %c) kind=Add
        %y: Float32[2] = Binary(%a, %a) kind=Mul
        out %y
        out %y
        """,
    )


def test_merge_duplicates_tells_zeros_and_operands_apart(check):
    check(
        merge_duplicates,
        """
        in %x: Float32[2]
        in %y: Float32[2]
        const %c: Float32[] = [0]
        const %d: Float32[] = [-0.0]
        %a: Float32[2] = Binary(%x, %c) kind=Add
        %b: Float32[2] = Binary(%x, %d) kind=Add
        %e: Float32[2] = Binary(%x, %y) kind=Sub
        %f: Float32[2] = Binary(%y, %x) kind=Sub
        %g: Float32[3] = Pad(%x) before=(0) after=(1) value=0.0
        %h: Float32[3] = Pad(%x) before=(0) after=(1) value=-0.0
        out %a
        out %b
        out %e
        out %f
        out %g
        out %h
        """,
    )


def test_merge_duplicates_makes_no_floats_of_quantized_constants(monkeypatch):
    """Those of a language model would be larger than all else that lowering needs."""
    graph = parse(
        """
        in %x: Float32[2]
        const %c: Float32[2] as Int8(0.5 from 0) = [1, 2]
        const %d: Float32[2] as Int8(0.5 from 0) = [1, 2]
        const %e: Float32[2] as Int8(0.25 from 0) = [1, 2]
        %a: Float32[2] = Binary(%x, %c) kind=Add
        %b: Float32[2] = Binary(%x, %d) kind=Add
        %f: Float32[2] = Binary(%x, %e) kind=Add
        out %a
        out %b
        out %f
        """
    )
    monkeypatch.setattr(Quantization, "dequantize", None)
    merged = merge_duplicates(graph)
    assert [node.inputs for node in merged.nodes] == [("x", "c"), ("x", "e")]


def test_copy_outputs(check):
    check(
        copy_outputs,
        """
        in %x: Float32[2]
        const %c: Float32[1] = [1]
        %y: Float32[2] = Unary(%x) kind=Exp
        out %x
        out %y
        out %y
        out %c
        out %x
        """,
        """
        in %x: Float32[2]
        const %c: Float32[1] = [1]
        %y: Float32[2] = Unary(%x) kind=Exp
        %a: Float32[2] = Unary(%x) kind=Copy
        %b: Float32[2] = Unary(%y) kind=Copy
        %d: Float32[1] = Unary(%c) kind=Copy
        %e: Float32[2] = Unary(%x) kind=Copy
        out %a
        out %y
        out %b
        out %d
        out %e
        """,
    )
