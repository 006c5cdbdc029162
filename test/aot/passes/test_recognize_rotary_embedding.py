# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.recognize_rotary_embedding import recognize_rotary_embedding

HEAD = """
    range s0 1..16 hint 8
    in %x: Float32[2, 3, s0, 8]
    in %cos: Float32[s0, 8]
    in %sin: Float32[1, 1, s0, 8]
    in %c: Float32[s0, 4]
    in %s: Float32[s0, 4]
"""
X, HALF = "Float32[2, 3, s0, 8]", "Float32[2, 3, s0, 4]"
PARTS = {
    "halves": f"""
        %l: {HALF} = Slice(%x) axis=3 start=0 size=4
        %h: {HALF} = Slice(%x) axis=3 start=4 size=4
    """,
    "steps": f"""
        %l: {HALF} = Slice(%x) axis=3 start=0 size=4 step=2
        %h: {HALF} = Slice(%x) axis=3 start=1 size=4 step=2
    """,
    "columns": f"""
        %p: Float32[2, 3, s0, 4, 2] = Reshape(%x) shape=(2, 3, s0, 4, 2)
        %q: Float32[2, 3, s0, 4, 1] = Slice(%p) axis=4 start=0 size=1
        %l: {HALF} = Reshape(%q) shape=(2, 3, s0, 4)
        %r: Float32[2, 3, s0, 4, 1] = Slice(%p) axis=4 start=1 size=1
        %h: {HALF} = Reshape(%r) shape=(2, 3, s0, 4)
    """,
}


def joined(parts, first, second, name):
    """Nodes that put ``first`` and ``second`` where the parts of x are."""
    if parts == "halves":
        return f"%{name}: {X} = Concat(%{first}, %{second}) axis=3\n"
    column = "Float32[2, 3, s0, 4, 1]"
    return f"""
        %{name}1: {column} = Reshape(%{first}) shape=(2, 3, s0, 4, 1)
        %{name}2: {column} = Reshape(%{second}) shape=(2, 3, s0, 4, 1)
        %{name}3: Float32[2, 3, s0, 4, 2] = Concat(%{name}1, %{name}2) axis=4
        %{name}: {X} = Reshape(%{name}3) shape=(2, 3, s0, 8)
    """


def turned(parts):
    return PARTS[parts] + f"%n: {HALF} = Unary(%h) kind=Neg\n" + joined(parts, "n", "l", "t")


def rotary(parts, cos="cos", sin="sin"):
    return f"%y: {X} = RotaryEmbedding(%x, %{cos}, %{sin}) interleaved={parts != 'halves'}\nout %y"


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("operands", ["%a, %b", "%b, %a"])
def test_sum(check, parts, operands):
    nodes = f"""
        %a: {X} = Binary(%x, %cos) kind=Mul
        %b: {X} = Binary(%sin, %t) kind=Mul
        %y: {X} = Binary({operands}) kind=Add
        out %y
    """
    check(recognize_rotary_embedding, HEAD + turned(parts) + nodes, HEAD + rotary(parts))


@pytest.mark.parametrize("parts", PARTS)
def test_parts(check, parts):
    nodes = f"""
        %a: {HALF} = Binary(%l, %c) kind=Mul
        %b: {HALF} = Binary(%h, %s) kind=Mul
        %d: {HALF} = Binary(%a, %b) kind=Sub
        %e: {HALF} = Binary(%s, %l) kind=Mul
        %f: {HALF} = Binary(%h, %c) kind=Mul
        %g: {HALF} = Binary(%e, %f) kind=Add
    """
    doubled = {
        True: """
            %c1: Float32[s0, 4, 1] = Reshape(%c) shape=(s0, 4, 1)
            %c2: Float32[s0, 4, 2] = Expand(%c1) shape=(s0, 4, 2)
            %c3: Float32[s0, 8] = Reshape(%c2) shape=(s0, 8)
            %s1: Float32[s0, 4, 1] = Reshape(%s) shape=(s0, 4, 1)
            %s2: Float32[s0, 4, 2] = Expand(%s1) shape=(s0, 4, 2)
            %s3: Float32[s0, 8] = Reshape(%s2) shape=(s0, 8)
        """,
        False: """
            %c3: Float32[s0, 8] = Concat(%c, %c) axis=1
            %s3: Float32[s0, 8] = Concat(%s, %s) axis=1
        """,
    }[parts != "halves"]
    before = HEAD + PARTS[parts] + nodes + joined(parts, "d", "g", "y") + "out %y"
    check(recognize_rotary_embedding, before, HEAD + doubled + rotary(parts, "c3", "s3"))


def test_columns_of_another_shape(check):
    half = "Float32[1, s0, 3, 4]"
    head = """
        range s0 1..16 hint 8
        in %w: Float32[1, s0, 24]
        in %c: Float32[1, s0, 1, 4]
        in %s: Float32[1, s0, 1, 4]
    """
    nodes = f"""
        %p: Float32[1, s0, 3, 4, 2] = Reshape(%w) shape=(1, s0, 3, 4, 2)
        %q: Float32[1, s0, 3, 4, 1] = Slice(%p) axis=4 start=0 size=1
        %l: {half} = Reshape(%q) shape=(1, s0, 3, 4)
        %r: Float32[1, s0, 3, 4, 1] = Slice(%p) axis=4 start=1 size=1
        %h: {half} = Reshape(%r) shape=(1, s0, 3, 4)
        %a: {half} = Binary(%l, %c) kind=Mul
        %b: {half} = Binary(%h, %s) kind=Mul
        %d: {half} = Binary(%a, %b) kind=Sub
        %e: {half} = Binary(%l, %s) kind=Mul
        %f: {half} = Binary(%h, %c) kind=Mul
        %g: {half} = Binary(%e, %f) kind=Add
        %y1: Float32[1, s0, 3, 4, 1] = Reshape(%d) shape=(1, s0, 3, 4, 1)
        %y2: Float32[1, s0, 3, 4, 1] = Reshape(%g) shape=(1, s0, 3, 4, 1)
        %y3: Float32[1, s0, 3, 4, 2] = Concat(%y1, %y2) axis=4
        %y: Float32[1, s0, 3, 8] = Reshape(%y3) shape=(1, s0, 3, 8)
        out %y
    """
    after = """
        %x: Float32[1, s0, 3, 8] = Reshape(%w) shape=(1, s0, 3, 8)
        %c1: Float32[1, s0, 1, 4, 1] = Reshape(%c) shape=(1, s0, 1, 4, 1)
        %c2: Float32[1, s0, 1, 4, 2] = Expand(%c1) shape=(1, s0, 1, 4, 2)
        %c3: Float32[1, s0, 1, 8] = Reshape(%c2) shape=(1, s0, 1, 8)
        %s1: Float32[1, s0, 1, 4, 1] = Reshape(%s) shape=(1, s0, 1, 4, 1)
        %s2: Float32[1, s0, 1, 4, 2] = Expand(%s1) shape=(1, s0, 1, 4, 2)
        %s3: Float32[1, s0, 1, 8] = Reshape(%s2) shape=(1, s0, 1, 8)
        %y: Float32[1, s0, 3, 8] = RotaryEmbedding(%x, %c3, %s3) interleaved=True
        out %y
    """
    check(recognize_rotary_embedding, head + nodes, head + after)


KEPT = {
    "the other part negated": PARTS["halves"] + f"%n: {HALF} = Unary(%l) kind=Neg\n" + joined("halves", "h", "n", "t"),
    "nothing negated": PARTS["halves"] + joined("halves", "h", "l", "t"),
    "not swapped": PARTS["halves"] + f"%n: {HALF} = Unary(%l) kind=Neg\n" + joined("halves", "n", "h", "t"),
    "joined in another way": PARTS["steps"] + f"%n: {HALF} = Unary(%h) kind=Neg\n" + joined("halves", "n", "l", "t"),
}


@pytest.mark.parametrize("nodes", KEPT.values(), ids=KEPT)
def test_keeps(check, nodes):
    tail = f"""
        %a: {X} = Binary(%x, %cos) kind=Mul
        %b: {X} = Binary(%t, %sin) kind=Mul
        %y: {X} = Binary(%a, %b) kind=Add
        out %y
    """
    check(recognize_rotary_embedding, HEAD + nodes + tail)


@pytest.mark.parametrize("cos, rows", [("in %cos: Float32[3, 4]", 3), ("const %cos: Float32[] = [0.5]", 1)])
def test_keeps_angles_of_another_shape_than_the_operand(check, cos, rows):
    text = f"""
        in %x: Float32[1, 4]
        {cos}
        %l: Float32[1, 2] = Slice(%x) axis=1 start=0 size=2
        %h: Float32[1, 2] = Slice(%x) axis=1 start=2 size=2
        %n: Float32[1, 2] = Unary(%h) kind=Neg
        %t: Float32[1, 4] = Concat(%n, %l) axis=1
        %a: Float32[{rows}, 4] = Binary(%x, %cos) kind=Mul
        %b: Float32[{rows}, 4] = Binary(%t, %cos) kind=Mul
        %y: Float32[{rows}, 4] = Binary(%a, %b) kind=Add
        out %y
    """
    check(recognize_rotary_embedding, text)


@pytest.mark.parametrize("form", ["sum", "parts"])
def test_part_of_each_row(check, form):
    head = """
        in %w: Float32[5, 11]
        in %cos: Float32[5, 6]
        in %c: Float32[5, 3]
    """
    window = "%x: Float32[5, 6] = Slice(%w) axis=1 start=2 size=6\n"
    parts = """
        %l: Float32[5, 3] = Slice(%w) axis=1 start=2 size=3
        %h: Float32[5, 3] = Slice(%w) axis=1 start=5 size=3
    """
    if form == "sum":
        nodes = """
            %n: Float32[5, 3] = Unary(%h) kind=Neg
            %t: Float32[5, 6] = Concat(%n, %l) axis=1
            %a: Float32[5, 6] = Binary(%x, %cos) kind=Mul
            %b: Float32[5, 6] = Binary(%t, %cos) kind=Mul
            %y: Float32[5, 6] = Binary(%a, %b) kind=Add
            out %y
        """
        after = "%y: Float32[5, 6] = RotaryEmbedding(%x, %cos, %cos) interleaved=False\nout %y"
        check(recognize_rotary_embedding, head + window + parts + nodes, head + window + after)
        return
    nodes = """
        %a: Float32[5, 3] = Binary(%l, %c) kind=Mul
        %b: Float32[5, 3] = Binary(%h, %c) kind=Mul
        %d: Float32[5, 3] = Binary(%a, %b) kind=Sub
        %e: Float32[5, 3] = Binary(%h, %c) kind=Mul
        %f: Float32[5, 3] = Binary(%l, %c) kind=Mul
        %g: Float32[5, 3] = Binary(%e, %f) kind=Add
        %y: Float32[5, 6] = Concat(%d, %g) axis=1
        out %y
    """
    after = """
        %c1: Float32[5, 6] = Concat(%c, %c) axis=1
        %c2: Float32[5, 6] = Concat(%c, %c) axis=1
        %y: Float32[5, 6] = RotaryEmbedding(%x, %c1, %c2) interleaved=False
        out %y
    """
    check(recognize_rotary_embedding, head + parts + nodes, head + window + after)
