# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import enum
import math

import harness
import numpy as np
import pytest
import sympy
from executorch.backends.et_xnnpack.aot.ir import Quantization, dims, parse
from executorch.backends.et_xnnpack.aot.ir.graph import Graph, Input, Node, Output, Value
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.schema import DType
from samples import all_samples

SIZE = dims.symbol("s0")

NAMES = (
    "linear_dynamic",
    "conv2d_dynamic_all",
    "slice_dynamic_last",
    "attention_mask",
    "image_and_vector_channels_last",
    "max_pool2d_indices_dynamic",
    "nearest1d_scale_dynamic",
)
SAMPLES = {s.name: s for s in all_samples()}


@pytest.mark.parametrize("name", NAMES)
def test_prints_what_it_parses(name):
    for graph in harness.lower_sample(SAMPLES[name]).optimized.values():
        text = str(graph)
        once = str(parse(text))
        assert str(parse(once)) == once
        assert [line for line in once.splitlines() if "#" not in line] == [
            line for line in text.splitlines() if "#" not in line
        ]


def some_values(cls, field):
    """Values of one field, with what a vector or a number may have in it."""
    if isinstance(field.default, enum.IntEnum):
        return list(type(field.default))
    if isinstance(field.default, bool):
        return [True, False]
    if isinstance(field.default, float):
        return [0.0, 1.0, -0.25, 1e-12, 3.4028234663852886e38, math.inf, -math.inf]
    if isinstance(field.default, int):
        return [0, 1, -7, 1 << 40, SIZE, 2 * SIZE - 1, sympy.floor(SIZE / 2), sympy.Max(0, SIZE - 3)]
    if schema.field_type(field).is_vector:
        return [(), (3,), (1, 2, 3), (SIZE, 2, sympy.Min(5, SIZE + 1)), None]
    struct = schema.STRUCTS[schema.field_type(field).name]
    one = struct(*range(1, 1 + len(struct._fields)))
    return [one, None, *([schema.Clamp(-math.inf, 0.5)] if struct is schema.Clamp else [])]


@pytest.mark.parametrize("name", schema.ATTRIBUTES)
def test_parses_every_attribute(name):
    cls = schema.ATTRIBUTES[name]
    fields = dataclasses.fields(cls)
    all_values = [some_values(cls, field) for field in fields]
    x = Value("x", DType.Float32, (SIZE, 3))
    for i in range(max((len(values) for values in all_values), default=1)):
        given = {f.name: values[i % len(values)] for f, values in zip(fields, all_values, strict=True)}
        y = Value("y", DType.Float32, (SIZE,))
        node = Node(cls(**given), ("x", None), ("y",))
        ranges = {"s0": dims.Range(0, 9, 4)}
        graph = Graph({"x": x, "y": y}, (node,), (Input("x"),), (Output("y"),), ranges)
        parsed = parse(str(graph))
        assert parsed.nodes == graph.nodes, str(graph)
        assert str(parsed) == str(graph)


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


def test_values_stored_as_integers():
    text = """in %x: Float32[2, 3] as Int8(0.5 from -1)
const %w: Float32[2, 3] as Int8[2, 1]([0.5, 0.25] from [0, 0]) = [1, 2, 3, -4, 5, -128]
const %b: Float32[2] as Int32[2]([0.25, 0.125] from [0, 0]) = [70000, -5]
%y: Float32[2, 2] as UInt8(0.1 from 128) = Linear(%x, %w, %b)
out %y
"""
    graph = parse(text)
    weight, result = graph.values["w"], graph.values["y"]
    assert weight.constant.array.dtype.name == "int8" and weight.quantization.scale.shape == (2, 1)
    assert result.quantization == Quantization.per_tensor(DType.UInt8, 0.1, 128)
    assert parse(str(graph)).values["y"].quantization == result.quantization
    assert str(graph).replace(repr(float(np.float32(0.1))), "0.1") == text
