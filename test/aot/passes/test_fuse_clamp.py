# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import math

import pytest
from executorch.backends.et_xnnpack.aot.passes.fuse_clamp import compose, fuse_clamp
from executorch.backends.et_xnnpack.serialization.schema import BinaryKind, Clamp
from hypothesis import given
from hypothesis import strategies as st

CONV = "stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)"
PRODUCERS = [
    *(("Float32[1, 2, 2, 2]", f"Binary(%x, %x) kind={kind.name}") for kind in BinaryKind if "Bit" not in kind.name),
    ("Float32[1, 2, 2, 2]", "Linear(%x, %l, none)"),
    ("Float32[1, 2, 2, 2]", f"Conv2d(%x, %w) {CONV}"),
    ("Float32[1, 2, 2, 2]", f"ConvTranspose2d(%x, %w) {CONV} output_padding=(0, 0)"),
]
HEAD = """
    in %x: Float32[1, 2, 2, 2]
    const %l: Float32[2, 2] = [1, 2, 3, 4]
    const %w: Float32[2, 1, 1, 2] = [1, 2, 3, 4]
"""


@pytest.mark.parametrize("type,producer", PRODUCERS)
def test_fuses(check, type, producer):
    check(
        fuse_clamp,
        f"""{HEAD}
        %y: {type} = {producer}
        %z: {type} = Unary(%y) kind=Clamp clamp=(0, inf)
        %u: {type} = Unary(%z) kind=Clamp clamp=(-1, 6)
        out %u
        """,
        f"""{HEAD}
        %y: {type} = {producer} clamp=(0, 6)
        out %y
        """,
    )


def test_fuses_through_views(check):
    check(
        fuse_clamp,
        f"""{HEAD}
        %y: Float32[1, 2, 2, 2] = Linear(%x, %l) clamp=(-1, 4)
        %t: Float32[1, 2, 2, 2] = Transpose(%y) perm=(0, 3, 1, 2)
        %p: Float32[1, 2, 4, 4] = Pad(%t) before=(0, 0, 1, 1) after=(0, 0, 1, 1)
        %r: Float32[32] = Reshape(%p) shape=(32)
        %z: Float32[32] = Unary(%r) kind=Clamp clamp=(0, 6)
        out %z
        """,
        f"""{HEAD}
        %y: Float32[1, 2, 2, 2] = Linear(%x, %l) clamp=(0, 4)
        %t: Float32[1, 2, 2, 2] = Transpose(%y) perm=(0, 3, 1, 2)
        %p: Float32[1, 2, 4, 4] = Pad(%t) before=(0, 0, 1, 1) after=(0, 0, 1, 1)
        %z: Float32[32] = Reshape(%p) shape=(32)
        out %z
        """,
    )


def test_fuses_through_what_picks_numbers(check):
    rest = """
        {head}
        %e: Float32[2, 2, 2, 2] = Expand(%y) shape=(2, 2, 2, 2)
        %u: Float32[2, 4, 4, 2] = Resize2d(%e) kind=Nearest shape=(4, 4)
        %a: Float32[2, 1, 1, 2] = AdaptivePool2d(%u) kind=Max output=(1, 1)
        %m: Float32[2, 2] = Reduce(%a) kind=Max axes=(1, 2)
    """
    y = "%y: Float32[1, 2, 2, 2] = Linear(%x, %l)"
    before = rest.format(head=f"{HEAD}{y}") + "%z: Float32[2, 2] = Unary(%m) kind=Clamp clamp=(0, 6)\nout %z"
    check(fuse_clamp, before, rest.format(head=f"{HEAD}{y} clamp=(0, 6)") + "out %m")


KEPT = {
    "another reader": "%y: Float32[1, 2, 2, 2] = Linear(%x, %l)\nout %y",
    "a padding outside the range": """
        %i: Float32[1, 2, 2, 1] = Slice(%x) axis=3 start=0 size=1
        %j: Float32[1, 2, 2, 1] = Binary(%i, %i)
        %y: Float32[1, 2, 2, 2] = Pad(%j) before=(0, 0, 0, 0) after=(0, 0, 0, 1) value=-1
    """,
    "an operator that cannot": "%y: Float32[1, 2, 2, 2] = Unary(%x) kind=Exp",
    "an input": "in %y: Float32[1, 2, 2, 2]",
    "a single value": "%y: Float32[1, 2, 2, 2] = Linear(%x, %l) clamp=(-5, 0)",
}


@pytest.mark.parametrize("nodes", KEPT.values(), ids=KEPT)
def test_keeps(check, nodes):
    check(
        fuse_clamp,
        f"""{HEAD}
        {nodes}
        %z: Float32[1, 2, 2, 2] = Unary(%y) kind=Clamp clamp=(0, inf)
        out %z
        """,
    )


_ENDS = st.sampled_from([-math.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf])
_CLAMPS = st.tuples(_ENDS, _ENDS).filter(lambda c: c[0] < c[1]).map(lambda c: Clamp(*c))


@given(_CLAMPS, _CLAMPS, st.sampled_from([-math.inf, -3.0, -1.5, -0.5, 0.0, 0.5, 1.5, 3.0, math.inf]))
def test_compose_is_one_after_the_other(inner, outer, x):
    def apply(c, x):
        return min(max(x, c.min), c.max)

    both = compose(inner, outer)
    if both is not None:
        assert apply(both, x) == apply(outer, apply(inner, x))
    else:
        assert apply(outer, apply(inner, x)) == apply(outer, inner.min)
