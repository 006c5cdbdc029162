# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import interpreter
import pytest
import torch
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.trim_windows import trim_windows

TEXT = """
    in %x: Float32[1, 5, WIDTH, 2]
    const %w: Float32[2, 3, 3, 2] = [{numbers}]
    const %b: Float32[2] = [1, -2]
    %y: Float32[1, OUT, 2] = Conv2d(%x, %w, %b) ATTRIBUTES
    out %y
""".replace("{numbers}", ", ".join(str((i * 7) % 11 - 5) for i in range(36)))


def graph_of(width: int, out: str, attributes: str):
    text = TEXT.replace("WIDTH", str(width)).replace("OUT", out).replace("ATTRIBUTES", attributes)
    return parse(text)


@pytest.mark.parametrize(
    ("width", "out", "attributes", "window"),
    [
        (7, "5, 7", "stride=(1, 1) padding=(9, 9, 9, 9) dilation=(9, 9)", (1, 1)),
        (7, "5, 7", "stride=(1, 1) padding=(5, 5, 5, 5) dilation=(5, 5)", (1, 3)),
        (9, "5, 1", "stride=(1, 9) padding=(4, 1, 4, 0) dilation=(4, 4)", (3, 3)),
        # Causal: only what lies before is padded.
        (7, "5, 7", "stride=(1, 1) padding=(1, 0, 1, 16) dilation=(1, 8)", (3, 1)),
        (7, "5, 7", "stride=(1, 1) padding=(1, 0, 1, 8) dilation=(1, 4)", (3, 2)),
        # The first tap sees nothing at the only position, but without it there would be less than no padding.
        (3, "5, 1", "stride=(1, 4) padding=(1, 5, 1, 1) dilation=(1, 3)", (3, 2)),
    ],
)
def test_windows_lose_what_sees_padding_alone(width, out, attributes, window):
    graph = graph_of(width, out, attributes)
    trimmed = trim_windows(graph)
    (node,) = trimmed.nodes
    assert trimmed.values[node.inputs[1]].shape[1:3] == window
    padding = node.attributes.padding
    assert min(padding.top, padding.right, padding.bottom, padding.left) >= 0
    x = torch.randn(1, 5, width, 2)
    torch.testing.assert_close(interpreter.run(trimmed, [x]), interpreter.run(graph, [x]))


def test_dynamic_sizes_keep_their_windows(check):
    check(
        trim_windows,
        """
        range s 1..4 hint 4
        in %x: Float32[1, s, 1, 1]
        const %w: Float32[1, 3, 1, 1] = [1, 2, 3]
        %y: Float32[1, s, 1, 1] = Conv2d(%x, %w) stride=(1, 1) padding=(8, 0, 8, 0) dilation=(8, 1)
        out %y
        """,
    )
