# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

import numpy as np
import pytest
from executorch.backends.et_xnnpack.aot.ir import Builder, Constant, Quantization, Rewriter
from executorch.backends.et_xnnpack.aot.verify import verify
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.schema import DType, UnaryKind


def two_steps():
    b = Builder()
    x = b.value(DType.Float32, (2, 3), "x")
    b.input(x)
    y = b.node(schema.Unary(kind=UnaryKind.Abs), x, shape=x.shape, name="y")
    z = b.node(schema.Unary(kind=UnaryKind.Neg), y, shape=x.shape, name="z")
    b.output(z)
    return b.build()


def test_names_are_unique():
    b = Builder()
    names = [b.value(DType.Float32, (), "v").name for _ in range(3)]
    assert len(set(names)) == 3


def test_constants_are_equal_by_content():
    assert Constant(np.ones(3, np.float32)) == Constant(np.ones(3, np.float32))
    assert Constant(np.ones(3, np.float32)) != Constant(np.ones((1, 3), np.float32))
    assert Constant(np.float32([0.0])) != Constant(np.float32([-0.0]))


def quantization(*shape):
    return Quantization(DType.Int8, np.ones(shape, np.float32), np.zeros(shape, np.int32))


def test_one_scale_has_no_axes():
    assert quantization(1, 1) == quantization(1) == Quantization.per_tensor(DType.Int8, 1.0, 0)
    assert quantization(1, 1).scale.shape == quantization(1, 1).zero_point.shape == ()


@pytest.mark.parametrize("shape,fits", (((), True), ((2, 1), True), ((1, 3), True), ((2,), False), ((1, 4), False)))
def test_scales_fit_their_tensor(shape, fits):
    b = Builder()
    x = b.constant(np.zeros((2, 6), np.int8), "w", quantization(*shape))
    b.output(x)
    if fits:
        return verify(b.build())
    with pytest.raises(ValueError, match=r"the scales or zero points of %w do not fit its shape \(2, 6\)"):
        verify(b.build())


def test_producers_and_users():
    graph = two_steps()
    first, second = graph.nodes
    assert graph.producers == {"y": first, "z": second}
    assert graph.sole_user("y") is second
    assert graph.sole_user("z") is None


def test_a_graph_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        two_steps().nodes = ()


def test_a_rewriter_replaces_and_copies():
    graph = two_steps()
    r = Rewriter(graph)
    for node in graph.nodes:
        if node.outputs == ("y",):
            r.replace("y", r.node(schema.Unary(kind=UnaryKind.Exp), r["x"], shape=(2, 3)))
        else:
            r.copy(node)
    result = r.finish()
    assert [n.attributes.kind for n in result.nodes] == [UnaryKind.Exp, UnaryKind.Neg]
    assert result.nodes[1].inputs == result.nodes[0].outputs
    assert str(graph) == str(two_steps())
