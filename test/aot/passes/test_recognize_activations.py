# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import pytest
from executorch.backends.et_xnnpack.aot.passes.recognize_activations import recognize_activations

HEAD = """
    in %x: Float32[2, 4]
    in %u: Float32[2, 4]
    const %c0: Float32[] = [0]
    const %half: Float32[] = [0.5]
    const %c1: Float32[] = [1]
    const %c2: Float32[] = [2]
    const %c3: Float32[1] = [3]
    const %c6: Float32[] = [6]
    const %sixth: Float32[] = [0.1666666716337204]
    const %root: Float32[] = [0.7978845608028654]
    const %cubic: Float32[] = [0.044715]
    const %both: Float32[] = [0.035677408136300125]
"""
FOUND = {
    "silu": ("kind=Silu", ["Unary(%x) kind=Sigmoid", "Binary(%v0, %x) kind=Mul"]),
    "hardswish": (
        "kind=HardSwish",
        [
            "Binary(%x, %c3) kind=Add",
            "Unary(%v0) kind=Clamp clamp=(0, inf)",
            "Unary(%v1) kind=Clamp clamp=(-inf, 6)",
            "Binary(%x, %v2) kind=Mul",
            "Binary(%v3, %c6) kind=Div",
        ],
    ),
    "hardswish by a factor": (
        "kind=HardSwish",
        [
            "Binary(%c3, %x) kind=Add",
            "Unary(%v0) kind=Clamp clamp=(0, 6)",
            "Binary(%v1, %sixth) kind=Mul",
            "Binary(%x, %v2) kind=Mul",
        ],
    ),
    "hardswish of a hardsigmoid": (
        "kind=HardSwish",
        ["Unary(%x) kind=HardSigmoid", "Binary(%x, %v0) kind=Mul"],
    ),
    "hardsigmoid": (
        "kind=HardSigmoid",
        ["Binary(%x, %c3) kind=Add", "Unary(%v0) kind=Clamp clamp=(0, 6)", "Binary(%v1, %c6) kind=Div"],
    ),
    "gelu": (
        "kind=GeluTanh",
        [
            "Binary(%x, %c3) kind=Pow",
            "Binary(%v0, %cubic) kind=Mul",
            "Binary(%x, %v1) kind=Add",
            "Binary(%v2, %root) kind=Mul",
            "Unary(%v3) kind=Tanh",
            "Binary(%v4, %c1) kind=Add",
            "Binary(%half, %x) kind=Mul",
            "Binary(%v6, %v5) kind=Mul",
        ],
    ),
    "gelu, factored": (
        "kind=GeluTanh",
        [
            "Unary(%x) kind=Square",
            "Binary(%v0, %both) kind=Mul",
            "Binary(%v1, %root) kind=Add",
            "Binary(%v2, %x) kind=Mul",
            "Unary(%v3) kind=Tanh",
            "Binary(%c1, %v4) kind=Add",
            "Binary(%v5, %x) kind=Mul",
            "Binary(%v6, %c2) kind=Div",
        ],
    ),
    "maximum": ("kind=Clamp clamp=(0, inf)", ["Binary(%c0, %x) kind=Maximum"]),
    "minimum": ("kind=Clamp clamp=(-inf, 6)", ["Binary(%x, %c6) kind=Minimum"]),
}
KEPT = {
    "sigmoid of another": ["Unary(%u) kind=Sigmoid", "Binary(%v0, %x) kind=Mul"],
    "scaled": ["Unary(%x) kind=Sigmoid", "Binary(%v0, %x) kind=Mul", "Binary(%v1, %half) kind=Mul"],
    "another shift": [
        "Binary(%x, %c2) kind=Add",
        "Unary(%v0) kind=Clamp clamp=(0, 6)",
        "Binary(%v1, %c6) kind=Div",
    ],
    "another polynomial": [
        "Binary(%x, %root) kind=Mul",
        "Unary(%v0) kind=Tanh",
        "Binary(%v1, %c1) kind=Add",
        "Binary(%half, %x) kind=Mul",
        "Binary(%v2, %v3) kind=Mul",
    ],
}


def text(*ops):
    lines = [f"%v{i}: Float32[2, 4] = {op}" for i, op in enumerate(ops)]
    return "\n".join([HEAD, *lines, f"out %v{len(ops) - 1}"])


@pytest.mark.parametrize("case", FOUND.values(), ids=FOUND)
def test_finds(check, case):
    found, ops = case
    check(recognize_activations, text(*ops), text(f"Unary(%x) {found}"))


def test_scale_stays_outside(check):
    ops = KEPT["scaled"]
    check(
        recognize_activations,
        text(*ops),
        text("Unary(%x) kind=Silu", "Binary(%v0, %half) kind=Mul"),
    )


@pytest.mark.parametrize("name", [k for k in KEPT if k != "scaled"])
def test_keeps(check, name):
    check(recognize_activations, text(*KEPT[name]))


def test_keeps_gates_that_others_read(check):
    before = text("Unary(%x) kind=Sigmoid", "Binary(%v0, %x) kind=Mul")
    check(recognize_activations, before + "\nout %v0")


def test_keeps_wider_results(check):
    check(
        recognize_activations,
        """
        in %x: Float32[4]
        const %c: Float32[1, 1] = [0]
        %y: Float32[1, 4] = Binary(%x, %c) kind=Maximum
        out %y
        """,
    )
