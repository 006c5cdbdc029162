# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.merge_convolutions import merge_convolutions

HEAD = """
    in %x: Float32[1, 6, 7, 4]
    const %three: Float32[4, 3, 3, IN] = [{three}]
    const %wide: Float32[4, 1, 3, IN] = [{wide}]
    const %high: Float32[4, 3, 1, IN] = [{wide}]
    const %one: Float32[4, 1, 1, IN] = [{one}]
    const %bias: Float32[4] = [1, -2, 3, 0.5]
    const %s: Float32[4] = [2, 3, -4, 5]
    const %two: Float32[] = [2]
"""
CONV = "stride=(STRIDE, STRIDE) dilation=(1, 1) groups=GROUPS"
OUT = "Float32[1, 6, 7, 4]"


def graph_of(text: str, groups: int = 1, stride: int = 1):
    inputs = 4 // groups
    numbers = [str((i * 7) % 11 - 5) for i in range(144)]
    text = text.replace("CONV", CONV).replace("OUT", OUT if stride == 1 else "Float32[1, 3, 4, 4]")
    head = HEAD.format(**{n: ", ".join(numbers[: 4 * inputs * t]) for n, t in (("three", 9), ("wide", 3), ("one", 1))})
    for name, value in (("GROUPS", groups), ("STRIDE", stride), ("IN", inputs)):
        head, text = head.replace(name, str(value)), text.replace(name, str(value))
    return parse(head + text)


def check(graph, operators: list[str]):
    merged = merge_convolutions(graph)
    assert [n.op for n in merged.nodes] == operators, str(merged)
    x = torch.randn(1, 6, 7, 4)
    torch.testing.assert_close(interpreter.run(merged, [x]), interpreter.run(graph, [x]), rtol=1e-5, atol=1e-5)


THREE = "Conv2d(%x, %three, %bias) padding=(1, 1, 1, 1) CONV"
ONE = "Conv2d(%x, %one) padding=(0, 0, 0, 0) CONV"


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kind", ["Add", "Sub"])
def test_windows_within_each_other(groups, stride, kind):
    text = f"%a: OUT = {THREE}\n %b: OUT = {ONE}\n %y: OUT = Binary(%a, %b) kind={kind}\n out %y"
    check(graph_of(text, groups, stride), ["Conv2d"])
    swapped = text.replace("%a, %b", "%b, %a")
    check(graph_of(swapped, groups, stride), ["Conv2d"] if kind == "Add" else ["Conv2d", "Conv2d", "Binary"])


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_block_of_rep_vgg(groups):
    text = f"""
        %a: OUT = {THREE}
        %b: OUT = {ONE}
        %m: OUT = Binary(%x, %s) kind=Mul
        %n: OUT = Binary(%m, %bias) kind=Add
        %c: OUT = Binary(%a, %b) kind=Add
        %y: OUT = Binary(%c, %n) kind=Add
        out %y
    """
    check(graph_of(text, groups), ["Conv2d"])


def test_a_batch_norm_that_is_taken_away():
    text = f"%a: OUT = {ONE}\n %m: OUT = Binary(%x, %s) kind=Mul\n %y: OUT = Binary(%a, %m) kind=Sub\n out %y"
    check(graph_of(text), ["Conv2d"])


KEPT = {
    "neither_window_has_the_other": """
        %a: OUT = Conv2d(%x, %wide) padding=(0, 1, 0, 1) CONV
        %b: OUT = Conv2d(%x, %high) padding=(1, 0, 1, 0) CONV
        %y: OUT = Binary(%a, %b) kind=Add
        out %y
    """,
    "something_else_reads_one": f"""
        %a: OUT = {THREE}
        %b: OUT = {ONE}
        %y: OUT = Binary(%a, %b) kind=Add
        out %y
        out %a
    """,
    "images_differ": f"""
        %z: OUT = Unary(%x) kind=Abs
        %a: OUT = {THREE}
        %b: OUT = Conv2d(%z, %one) padding=(0, 0, 0, 0) CONV
        %y: OUT = Binary(%a, %b) kind=Add
        out %y
    """,
    "one_is_limited": f"""
        %a: OUT = {THREE} clamp=(0, 6)
        %b: OUT = {ONE}
        %y: OUT = Binary(%a, %b) kind=Add
        out %y
    """,
    "the_image_is_added_as_it_is": f"%a: OUT = {THREE}\n %y: OUT = Binary(%a, %x) kind=Add\n out %y",
    "the_image_is_added_twice": f"""
        %a: OUT = {THREE}
        %b: OUT = Binary(%x, %two) kind=Mul
        %y: OUT = Binary(%a, %b) kind=Add
        out %y
    """,
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_keeps(text):
    graph = graph_of(text)
    check(graph, [n.op for n in graph.nodes])


def test_keeps_what_other_groups_or_strides_have():
    other = "Conv2d(%x, %one) padding=(0, 0, 0, 0) stride=(1, 1) dilation=(1, 1) groups=1"
    text = f"""
        const %many: Float32[4, 3, 3, 1] = [{", ".join("1" * 36)}]
        %a: OUT = Conv2d(%x, %many) padding=(1, 1, 1, 1) stride=(1, 1) dilation=(1, 1) groups=4
        %b: OUT = {other}
        %y: OUT = Binary(%a, %b) kind=Add
        out %y
    """
    check(graph_of(text), ["Conv2d", "Conv2d", "Binary"])
