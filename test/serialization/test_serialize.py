# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Blobs read back with the generated reader."""

import dataclasses
import struct

import harness
import numpy as np
import pytest
from executorch.backends.et_xnnpack.aot.ir import dims, parse
from executorch.backends.et_xnnpack.serialization import schema, schema_generated
from executorch.backends.et_xnnpack.serialization.schema import DimOp
from executorch.backends.et_xnnpack.serialization.serialize import INLINE_BYTES, serialize
from samples import families

# The runtime tests run all.
DYNAMIC = [s for samples in families().values() for s in samples if s.sizes][::10]


def read(blob):
    return schema_generated.GraphT.InitFromPackedBuf(blob, 0)


def evaluate(root, sizes, found):
    """The values of Graph.exprs for arguments of these physical sizes, with the size that each node finds."""
    operations = {
        DimOp.Add: lambda a, b: a + b,
        DimOp.Mul: lambda a, b: a * b,
        DimOp.FloorDiv: lambda a, b: a // b,
        DimOp.Mod: lambda a, b: a % b,
        DimOp.Min: min,
        DimOp.Max: max,
    }
    values = []
    for e in root.exprs or []:
        if e.op == DimOp.Const:
            values.append(e.a)
        elif e.op == DimOp.InputDim:
            values.append(sizes[e.a][e.b])
        elif e.op == DimOp.FoundSize:
            values.append(found[e.a])
        elif e.op == DimOp.Scale:
            values.append(int(values[e.a] * struct.unpack("<d", struct.pack("<q", e.b))[0]))
        else:
            values.append(operations[e.op](values[e.a], values[e.b]))
    return values


@pytest.mark.parametrize("sample", DYNAMIC, ids=lambda s: s.name)
def test_sizes_are_those_of_the_graph(sample):
    for graph in harness.lower_sample(sample).optimized.values():
        root = read(serialize(graph).blob)
        if any(i.value is None for i in graph.arguments):
            pytest.skip("takes an integer argument")
        for offset in range(3):
            symbols = {name: 2 * (r.min or 2) + 2 * offset for name, r in graph.ranges.items()}
            sizes = [[dims.evaluate(d, symbols) for d in graph.values[i.value].shape] for i in graph.arguments]
            finds = {i: dims.evaluate(n.found, symbols) for i, n in enumerate(graph.nodes) if n.found is not None}
            exprs = evaluate(root, sizes, finds)
            for value, written in zip(graph.values.values(), root.values, strict=True):
                entries = [size.value for size in written.dims or ()]
                found = [e if e >= 0 else exprs[-1 - e] for e in entries]
                assert found == [dims.evaluate(d, symbols) for d in value.shape], value.name


LARGE = "[" + ", ".join(str(i) for i in range(100)) + "]"
GRAPH = f"""
    in %x: Float32[100]
    const %a: Float32[100] = {LARGE}
    const %b: Float32[100] = {LARGE}
    const %c: Float32[1] = [2]
    %y: Float32[100] = Binary(%x, %a) kind=Mul clamp=(0, inf)
    %z: Float32[100] = Binary(%y, %b)
    %w: Float32[100] = Binary(%z, %c)
    out %w
"""


def test_equal_weights_are_stored_once_and_small_ones_inside():
    serialized = serialize(parse(GRAPH))
    assert len(serialized.weights) == 1
    a, b, c = (v.constant for v in read(serialized.blob).values if v.constant is not None)
    assert a.key == b.key and c.key is None
    assert np.frombuffer(bytes(c.data), np.float32).tolist() == [2]
    assert 4 <= INLINE_BYTES < 400


def test_nodes_and_attributes_come_back():
    root = read(serialize(parse(GRAPH)).blob)
    assert [n.attributesType for n in root.nodes] == [schema.AttributesType.Binary] * 3
    first = root.nodes[0].attributes
    assert (first.kind, first.clamp.min, first.clamp.max) == (schema.BinaryKind.Mul, 0, float("inf"))


def test_every_size_is_written_as_one():
    """Whatever the field is called: a symbolic size becomes an expression, a number stays one."""
    symbol, found_types = dims.symbol("s0"), set()
    for name, cls in schema.ATTRIBUTES.items():
        for field in dataclasses.fields(cls):
            type_ = schema.field_type(field)
            if type_.name != "Size":
                continue
            attributes = cls(**{field.name: (symbol, 7) if type_.is_vector else symbol})
            packed = schema.to_generated(attributes, lambda size: -1 if size == symbol else size)
            slot = list(vars(packed))[[f.name for f in dataclasses.fields(cls)].index(field.name)]
            written = getattr(packed, slot)
            found = [size.value for size in written] if type_.is_vector else written.value
            assert found == ([-1, 7] if type_.is_vector else -1), name
            found_types.add((name, field.name))
    assert {("Reshape", "shape"), ("Slice", "start"), ("SliceScatter", "start"), ("Iota", "size")} <= found_types


def test_enums_and_structs_have_their_types():
    assert isinstance(schema.GridSample().padding_mode, schema.GridPaddingMode)
    assert schema.Slice().start == 0
    assert schema.field_type(schema.ATTRIBUTES["Conv2d"].__dataclass_fields__["padding"]).name == "Padding2D"
    assert set(schema.STRUCTS) == {"Size", "Size2D", "Padding2D", "Clamp", "DimExpr", "DimRange"}


def test_the_same_graph_gives_the_same_bytes():
    assert serialize(parse(GRAPH)).blob == serialize(parse(GRAPH)).blob


def test_a_size_that_no_input_tells_is_refused():
    graph = parse("range s0 1..4 hint 2\nin %x: Float32[3]\n%y: Float32[s0] = Slice(%x) axis=0 size=s0\nout %y")
    with pytest.raises(ValueError, match="s0"):
        serialize(graph)
