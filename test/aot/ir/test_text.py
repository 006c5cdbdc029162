# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import harness
import pytest
from executorch.backends.et_xnnpack.aot.ir import parse
from samples import all_samples

NAMES = (
    "linear_dynamic",
    "conv2d_dynamic_all",
    "slice_dynamic_last",
    "attention_mask",
    "image_and_vector_channels_last",
)
SAMPLES = [s for s in all_samples() if s.name in NAMES]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_prints_what_it_parses(sample):
    for graph in harness.lower_sample(sample).optimized.values():
        text = str(graph)
        once = str(parse(text))
        assert str(parse(once)) == once
        assert [line for line in once.splitlines() if "#" not in line] == [
            line for line in text.splitlines() if "#" not in line
        ]


def test_reads_the_example_of_the_module():
    graph = parse(
        """
        range s0 1..128 hint 16
        in %x: Float32[s0, 3]
        const %w: Float32[2, 3] = [1, 2, 3, 4, 5, 6]
        %y: Float32[s0, 2] = Linear(%x, %w) clamp=(0, inf)
        out %y
        """
    )
    assert [n.op for n in graph.nodes] == ["Linear"]
    assert graph.ranges["s0"].max == 128
    assert graph.values["w"].array.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("line", ("%y: Float32[2] = Nothing(%x)", "in %x Float32[2]", "%y: Float12[2] = Unary(%x)"))
def test_says_which_line_it_cannot_read(line):
    with pytest.raises(ValueError, match="cannot read"):
        parse(line)
