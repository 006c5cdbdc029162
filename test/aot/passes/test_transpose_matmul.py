# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from executorch.backends.et_xnnpack.aot.passes.transpose_matmul import transpose_matmul


def test_docstring_example(check):
    check(
        transpose_matmul,
        """
        in %a: Float32[2, 3, 4]
        in %b: Float32[2, 2, 4]
        const %c: Float32[1, 2, 3] = [1, 2, 3, 4, 5, 6]
        %t: Float32[2, 4, 2] = Transpose(%b) perm=(0, 2, 1)
        %y: Float32[2, 3, 2] = BatchMatMul(%a, %t)
        %e: Float32[2, 2, 3] = Expand(%c) shape=(2, 2, 3)
        %z: Float32[2, 3, 3] = BatchMatMul(%y, %e)
        out %z
        """,
        """
        in %a: Float32[2, 3, 4]
        in %b: Float32[2, 2, 4]
        const %w: Float32[3, 2] = [1, 4, 2, 5, 3, 6]
        %y: Float32[2, 3, 2] = BatchMatMul(%a, %b) transpose_b=True
        %z: Float32[2, 3, 3] = Linear(%y, %w)
        out %z
        """,
    )


def test_keeps_rows_together(check):
    check(
        transpose_matmul,
        """
        range s0 1..16 hint 8
        in %q: Float32[1, 2, s0, 4]
        in %k: Float32[1, s0, 2, 4]
        %t: Float32[1, 2, 4, s0] = Transpose(%k) perm=(0, 2, 3, 1)
        %y: Float32[1, 2, s0, s0] = BatchMatMul(%q, %t)
        out %y
        """,
        """
        range s0 1..16 hint 8
        in %q: Float32[1, 2, s0, 4]
        in %k: Float32[1, s0, 2, 4]
        %t: Float32[1, 2, s0, 4] = Transpose(%k) perm=(0, 2, 1, 3)
        %y: Float32[1, 2, s0, s0] = BatchMatMul(%q, %t) transpose_b=True
        out %y
        """,
    )


def test_keeps_other_transposes_and_batches(check):
    check(
        transpose_matmul,
        """
        in %q: Float32[2, 3, 4]
        in %v: Float32[4, 2, 5]
        const %c: Float32[2, 5, 1] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        %t: Float32[2, 4, 5] = Transpose(%v) perm=(1, 0, 2)
        %y: Float32[2, 3, 5] = BatchMatMul(%q, %t)
        %z: Float32[2, 3, 1] = BatchMatMul(%y, %c)
        out %z
        """,
    )


def test_equal_batches_are_one_weight(check):
    check(
        transpose_matmul,
        """
        in %a: Float32[2, 3, 2]
        const %c: Float32[2, 1, 2] = [1, 2, 1, 2]
        %y: Float32[2, 3, 1] = BatchMatMul(%a, %c) transpose_b=True
        out %y
        """,
        """
        in %a: Float32[2, 3, 2]
        const %c: Float32[1, 2] = [1, 2]
        %y: Float32[2, 3, 1] = Linear(%a, %c)
        out %y
        """,
    )
