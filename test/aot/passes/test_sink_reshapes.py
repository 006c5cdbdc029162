# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.sink_reshapes import sink_reshapes

HEAD = """
    range s0 1..8 hint 4
    in %x: Float32[s0, 1, 8, 4]
    in %y: Float32[s0, 1, 8, 4]
    in %z: Float32[s0, 8, 4]
    const %c: Float32[1, 4] = [1, 2, 3, 4]
    const %v: Float32[4] = [1, 2, 3, 4]
    const %rows: Float32[8, 1] = [1, 2, 3, 4, 5, 6, 7, 8]
    const %n: Float32[1, 1, 1] = [2]
    const %two: Float32[] = [2]
"""
SHORT, LONG = "Float32[s0, 8, 4]", "Float32[s0, 1, 8, 4]"
R = f"%r: {SHORT} = Reshape(%x) shape=(s0, 8, 4)"
SUNK = {
    "unary": (f"{R}\n%o: {SHORT} = Unary(%r) kind=Exp", f"%a: {LONG} = Unary(%x) kind=Exp"),
    "channels": (f"{R}\n%o: {SHORT} = Binary(%r, %c)", f"%a: {LONG} = Binary(%x, %v)"),
    "compare": (
        f"{R}\n%o: Bool[s0, 8, 4] = Compare(%r, %n) kind=Less",
        "%a: Bool[s0, 1, 8, 4] = Compare(%x, %two) kind=Less",
    ),
    "cast": (
        f"{R}\n%o: Float16[s0, 8, 4] = Cast(%r) dtype=Float16",
        "%a: Float16[s0, 1, 8, 4] = Cast(%x) dtype=Float16",
    ),
    "number": (f"{R}\n%o: {SHORT} = Binary(%n, %r)", f"%a: {LONG} = Binary(%two, %x)"),
    "two": (
        f"{R}\n%q: {SHORT} = Reshape(%y) shape=(s0, 8, 4)\n%o: {SHORT} = Binary(%r, %q)",
        f"%a: {LONG} = Binary(%x, %y)",
    ),
}
KEPT = {
    "other axes": f"{R}\n%o: {SHORT} = Binary(%r, %rows)",
    "another operand": f"{R}\n%o: {SHORT} = Binary(%r, %z)",
    "another reader": f"{R}\n%o: {SHORT} = Unary(%r) kind=Exp\nout %r",
    "another operator": f"{R}\n%o: {SHORT} = Softmax(%r) axis=2",
    "broadcast": """
        %r: Float32[s0, 1, 32] = Reshape(%x) shape=(s0, 1, 32)
        %q: Float32[s0, 32, 1] = Reshape(%y) shape=(s0, 32, 1)
        %o: Float32[s0, 32, 32] = Binary(%r, %q)
    """,
}


@pytest.mark.parametrize("case", SUNK.values(), ids=SUNK)
def test_sinks(check, case):
    before, after = case
    dtype = after.partition(": ")[2].partition("[")[0]
    after += f"\n%o: {dtype}[s0, 8, 4] = Reshape(%a) shape=(s0, 8, 4)"
    check(sink_reshapes, f"{HEAD}{before}\nout %o", f"{HEAD}{after}\nout %o")


def test_sinks_into_any_rank(check):
    """What computes with more axes than XNNPACK has is no business of a pass."""
    shape = (1, 1, 2, 1, 2, 1, 3)
    check(
        sink_reshapes,
        f"""
        in %x: Float32{list(shape)}
        %r: Float32[4, 3] = Reshape(%x) shape=(4, 3)
        %o: Float32[4, 3] = Unary(%r) kind=Exp
        out %o
        """,
        f"""
        in %x: Float32{list(shape)}
        %r: Float32{list(shape)} = Unary(%x) kind=Exp
        %o: Float32[4, 3] = Reshape(%r) shape=(4, 3)
        out %o
        """,
    )


@pytest.mark.parametrize("nodes", KEPT.values(), ids=KEPT)
def test_keeps(check, nodes):
    check(sink_reshapes, f"{HEAD}{nodes}\nout %o")
