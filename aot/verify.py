# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What every graph must satisfy, checked between passes and before serialization.

Shapes and attributes of single operators are not repeated here: their one home is
``infer`` in the runtime, which also verifies the finished blob.
"""

import collections

from .ir import Graph


def verify(graph: Graph) -> None:
    """Raises ValueError if a value is read before it is made, made twice, or unknown."""
    known = {v.name for v in graph.values.values() if v.constant is not None}
    known |= {i.value for i in graph.inputs if i.value is not None}
    late = {node.found for node in graph.nodes} - {None} - _symbols_of_inputs(graph)
    for node in graph.nodes:
        for name in node.inputs:
            if name is not None and name not in known:
                raise ValueError(f"{node.op} reads %{name}, which nothing before it makes")
        for name in node.outputs:
            if name not in graph.values:
                raise ValueError(f"{node.op} makes %{name}, which has no type")
            if name in known:
                raise ValueError(f"{node.op} makes %{name}, which exists already")
            known.add(name)
        late.discard(node.found)
        if late and late & node.attribute_symbols:
            raise ValueError(f"{node.op} reads a size that nothing before it finds")
    for output in graph.outputs:
        if output.value not in known:
            raise ValueError(f"output %{output.value} is not made by anything")
    types = {i.state.name: graph.values[i.value] for i in graph.inputs if i.state is not None}
    for output in graph.outputs:
        if output.state is not None:
            state, update = types.pop(output.state, None), graph.values[output.value]
            if state is None or (state.dtype, state.shape) != (update.dtype, update.shape):
                raise ValueError(f"%{output.value} cannot be the content of state {output.state}")
    if types:
        raise ValueError(f"these states have no content after the call: {', '.join(types)}")
    for value in graph.values.values():
        if value.constant is not None and value.constant.array.shape != value.shape:
            raise ValueError(f"constant %{value.name} holds {value.constant.array.shape}, not {value.shape}")
        if value.quantization is not None and not value.quantization.fits(value.shape):
            raise ValueError(f"the scales or zero points of %{value.name} do not fit its shape {value.shape}")


def _symbols_of_inputs(graph: Graph) -> set:
    symbols = {i.expr for i in graph.arguments if i.value is None}
    for source in graph.arguments:
        if source.value is not None:
            symbols.update(graph.values[source.value].shape)
    return symbols


def check_interface(before: Graph, after: Graph) -> None:
    """Raises ValueError if a pass changed number, order, shape or dtype of inputs or outputs."""
    if before.inputs != after.inputs:
        raise ValueError("the inputs changed")

    def kinds(graph):
        values = (graph.values[o.value] for o in graph.outputs)
        return [(v.dtype, v.shape, o.dim_order, o.state) for v, o in zip(values, graph.outputs, strict=True)]

    if kinds(before) != kinds(after):
        raise ValueError("the outputs changed")


def check_outputs(graph: Graph) -> None:
    """Raises ValueError if an output is an input, a constant, or another output too.

    The runtime gives each output memory that only its node writes.
    """
    for name, count in collections.Counter(output.value for output in graph.outputs).items():
        if name not in graph.producers:
            raise ValueError(f"output %{name} is not made by a node")
        if count > 1:
            raise ValueError(f"%{name} is more than one output")
