# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

import numpy as np
import pytest
from executorch.backends.et_xnnpack.aot.ir import Builder, Constant, Rewriter
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
