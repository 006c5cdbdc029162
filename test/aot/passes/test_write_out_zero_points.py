# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
from executorch.backends.et_xnnpack.aot.passes.write_out_zero_points import write_out_zero_points

TABLE = "const %t: Float32[3, 2] as Int8[3, 1]([0.5, 0.25, 2.0] from [0.5, 3.0, -1.75]) = [1, 2, 3, -4, 5, -128]"
PARTS = """
    const %q: Int8[3, 2] = [1, 2, 3, -4, 5, -128]
    const %s: Float32[3, 1] = [0.5, 0.25, 2.0]
    const %z: Float32[3, 1] = [0.5, 3.0, -1.75]
"""
NUMBERS = "const %t: Float32[3, 2] = [0.25, 0.75, 0.0, -1.75, 13.5, -252.5]"


def test_picks_rows_of_integers(check):
    check(
        write_out_zero_points,
        f"""
        in %i: Int64[4, 1]
        {TABLE}
        %y: Float32[4, 1, 2] = Index(%t, %i) wrap=False
        out %y""",
        f"""
        in %i: Int64[4, 1]
        {PARTS}
        %a: Int8[4, 1, 2] = Index(%q, %i) wrap=False
        %b: Float32[4, 1, 1] = Index(%s, %i) wrap=False
        %c: Float32[4, 1, 1] = Index(%z, %i) wrap=False
        %d: Float32[4, 1, 2] = Cast(%a) dtype=Float32
        %e: Float32[4, 1, 2] = Binary(%d, %c) kind=Sub
        %y: Float32[4, 1, 2] = Binary(%e, %b) kind=Mul
        out %y""",
    )


def test_rows_of_a_table_with_one_scale(check):
    check(
        write_out_zero_points,
        """
        in %i: Int64[4]
        const %t: Float32[2, 2] as UInt8(0.5 from 0.5) = [1, 2, 3, 255]
        %y: Float32[4, 2] = Index(%t, %i)
        out %y""",
        """
        in %i: Int64[4]
        const %q: UInt8[2, 2] = [1, 2, 3, 255]
        const %s: Float32[] = [0.5]
        const %z: Float32[] = [0.5]
        %a: UInt8[4, 2] = Index(%q, %i)
        %d: Float32[4, 2] = Cast(%a) dtype=Float32
        %e: Float32[4, 2] = Binary(%d, %z) kind=Sub
        %y: Float32[4, 2] = Binary(%e, %s) kind=Mul
        out %y""",
    )


def test_numbers_for_all_others(check):
    """Also for a table that is read as a matrix, which would be there twice."""
    for rest in (
        "%y: Float32[5, 3] = Linear(%x, %t)\nout %y",
        "%y: Float32[4, 2] = Index(%t, %i)\n%z: Float32[5, 3] = Linear(%x, %t)\nout %y\nout %z",
        "%y: Float32[4, 2] = Index(%t, %i)\nout %t\nout %y",
        "%y: Float32[3, 4] = Index(%t, %i) axis=1\nout %y",
        "%y: Float32[4] = Index(%t, %i, %i)\nout %y",
    ):
        head = "in %x: Float32[5, 2]\nin %i: Int64[4]\n"
        check(write_out_zero_points, f"{head}{TABLE}\n{rest}", f"{head}{NUMBERS}\n{rest}")


def test_leaves_whole_ones(check):
    check(
        write_out_zero_points,
        """
        in %i: Int64[4]
        const %t: Float32[2, 2] as UInt8[2, 1]([0.5, 0.25] from [1, 3]) = [1, 2, 3, 255]
        %y: Float32[4, 2] = Index(%t, %i)
        out %y""",
    )


def test_says_what_reads_them():
    from executorch.backends.et_xnnpack.aot.ir import parse

    refused = []
    graph = parse(f"in %x: Float32[5, 2]\n{TABLE}\n%y: Float32[5, 3] = Linear(%x, %t)\nout %y")
    write_out_zero_points(graph, refused)
    assert refused == [("y", "Linear", "a zero point of a constant is not a whole number")]
