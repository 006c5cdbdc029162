# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs that give the values inside of their delegates as further results, to find where two of them differ first.

What becomes a result is no longer part of a fused pass, so such a program may round otherwise than the original.
"""

import dataclasses
import math
import tempfile
from pathlib import Path

import flatbuffers
from executorch.exir import schema as et
from executorch.exir.scalar_type import ScalarType

from ...serialization import schema
from ...serialization import schema_generated as generated
from ...serialization.serialize import IDENTIFIER
from ..backend import BACKEND_ID
from ..private.executorch import rewrite_program
from .execute import Loaded
from .program import Method
from .steps import matching, nodes_of
from .tensors import compare, laid_out

_TYPES = {
    "Float32": ScalarType.FLOAT,
    "Int32": ScalarType.INT,
    "Int64": ScalarType.LONG,
    "Bool": ScalarType.BOOL,
    "Float16": ScalarType.HALF,
    "BFloat16": ScalarType.BFLOAT16,
    "Int8": ScalarType.CHAR,
    "UInt8": ScalarType.BYTE,
    "Float64": ScalarType.DOUBLE,
}
_ALIGNMENT = 64


def first_difference(a, one: Method, b, other: Method, inputs, atol, rtol, options, data_path) -> dict | None:
    """Of nodes that both have the first one whose results differ by more than the tolerances."""
    found = [_values(path, method, inputs, options, data_path) for path, method in ((a, one), (b, other))]
    for x, y in zip(one.delegates, other.delegates, strict=False):
        if x.blob is None or y.blob is None:
            continue
        for i, j in matching(nodes_of(x.blob), nodes_of(y.blob)):
            nodes = x.blob.nodes[i], y.blob.nodes[j]
            for k, values in enumerate(zip(nodes[0].outputs, nodes[1].outputs, strict=True)):
                results = found[0].get((x.index, values[0])), found[1].get((y.index, values[1]))
                if results[0] is None or results[1] is None:
                    continue
                (difference,) = compare([results[1]], [results[0]], atol, rtol)
                if not difference.is_close:
                    names = {"a": nodes[0].name, "b": nodes[1].name, "result": k, "delegate": x.index}
                    return names | dataclasses.asdict(difference)
    return None


def _values(path, method: Method, inputs, options, data_path) -> dict[tuple[int, int], object]:
    """By delegate and value the results of all nodes, for one call."""
    probed: list[tuple[int, int]] = []
    data = rewrite_program(Path(path).read_bytes(), lambda program: probed.extend(_add_results(program, method)))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.pte")
        file.write_bytes(data)
        loaded = Loaded(file, method.name, None, options, data_path, operators=list(method.operators))
        results = loaded.call(laid_out(method, inputs))
    return dict(zip(probed, results[len(method.outputs) :], strict=True))


def _add_results(program: et.Program, method: Method) -> list[tuple[int, int]]:
    """Has every value that a node of our delegates makes be a result of the method; which ones, in their order."""
    plan = next(plan for plan in program.execution_plan if plan.name == method.name)
    pool, offset = len(plan.non_const_buffer_sizes), 0
    probed = []
    instructions = [i.instr_args for chain in plan.chains for i in chain.instructions]
    for call in (i for i in instructions if isinstance(i, et.DelegateCall)):
        delegate = method.delegates[call.delegate_index]
        if delegate.backend != BACKEND_ID or delegate.calls != 1:
            continue
        index = plan.delegates[call.delegate_index].processed.index
        data, values = _with_results(delegate)
        program.backend_delegate_data[index].data = data
        for value in values:
            info = delegate.blob.values[value]
            dtype = "Float32" if info.quantized else info.dtype
            size = math.prod(info.sizes) * (4 if info.quantized else info.bytes // max(1, math.prod(info.sizes)))
            plan.values.append(et.EValue(_tensor(_TYPES[dtype], info, pool, offset)))
            offset += -(-size // _ALIGNMENT) * _ALIGNMENT
            call.args.append(len(plan.values) - 1)
            plan.outputs.append(len(plan.values) - 1)
            probed.append((delegate.index, value))
    plan.non_const_buffer_sizes.append(max(offset, _ALIGNMENT))
    return probed


def _tensor(dtype: ScalarType, info, pool: int, offset: int) -> et.Tensor:
    return et.Tensor(
        scalar_type=dtype,
        storage_offset=0,
        sizes=list(info.sizes),
        dim_order=list(range(len(info.sizes))),
        requires_grad=False,
        layout=0,
        data_buffer_idx=0,
        allocation_info=et.AllocationDetails(pool, offset & 0xFFFFFFFF, offset >> 32),
        shape_dynamism=et.TensorShapeDynamism.DYNAMIC_BOUND if info.is_dynamic else et.TensorShapeDynamism.STATIC,
    )


def _with_results(delegate) -> tuple[bytes, list[int]]:
    """The blob with all values as outputs: as they are where that is possible, else copies of them."""
    blob = delegate.blob
    graph = generated.GraphT.InitFromObj(generated.Graph.GetRootAs(delegate.data))
    updates = {state.update for state in graph.states or []}
    views = {value for node in blob.nodes if node.choice and node.choice.by == "view" for value in node.outputs}
    probed = [value for node in blob.nodes for value in node.outputs if math.prod(blob.values[value].sizes)]
    for value in probed:
        result = value
        if value in blob.outputs or value in updates or value in views or blob.values[value].quantized:
            result = len(graph.values)
            graph.values.append(_plain(graph.values[value]))
            graph.nodes.append(_copy(value, result))
        output = generated.OutputT()
        output.value = result
        graph.outputs = [*(graph.outputs or []), output]
    builder = flatbuffers.Builder(1024)
    builder.Finish(graph.Pack(builder), IDENTIFIER)
    return bytes(builder.Output()), probed


def _plain(value):
    result = generated.ValueT()
    result.dtype = schema.DType.Float32 if value.quantization is not None else value.dtype
    result.dims = value.dims
    return result


def _copy(value: int, result: int):
    node = generated.NodeT()
    node.attributesType = generated.Attributes.Unary
    node.attributes = schema.to_generated(schema.Unary(kind=schema.UnaryKind.Copy), lambda size: size)
    node.inputs, node.outputs = [value], [result]
    return node
