# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Runs an ``ir.Graph`` with PyTorch: what every operator of the schema means, in a few lines each.

It proves lowering and passes without the runtime, and checks that each value has the
shape and type that the graph declares. Each family has a module with ``OPERATORS``.
"""

import sympy
import torch
from executorch.backends.et_xnnpack.aot.ir import Graph

from . import (
    attention,
    conv,
    elementwise,
    fft,
    find,
    image,
    index,
    linear,
    norm,
    pool,
    quantize,
    recurrent,
    reduce,
    shape,
)
from .quantize import stored
from .tensors import tensor, torch_dtype

_FAMILIES = (
    *(attention, conv, elementwise, fft, find, image, index, linear, norm, pool, quantize, recurrent, reduce, shape),
)

#: By member of the schema's union: a function of its attributes and its operands, which gives one result or several.
OPERATORS = {name: function for family in _FAMILIES for name, function in family.OPERATORS.items()}

_SEVERAL_RESULTS = ("LayerNorm", "GroupNorm", "MaxPoolIndices", "Recurrent", "ChooseQParams", "Fft")


def _solve(graph: Graph, arguments) -> dict[sympy.Symbol, int]:
    """The values of all symbols, from the sizes of the arguments."""
    equations = []
    for source, argument in zip(graph.arguments, arguments, strict=True):
        if source.value is None:
            equations.append((source.expr, argument))
        else:
            equations += zip(graph.values[source.value].shape, argument.shape, strict=False)
    symbols = {e: v for e, v in equations if isinstance(e, sympy.Symbol)}
    for expr, value in equations:
        expr = sympy.sympify(expr).subs(symbols)
        if len(expr.free_symbols) == 1:
            (symbol,) = expr.free_symbols
            symbols[symbol] = int(sympy.solve(expr - value, symbol)[0])
    return symbols


def run(graph: Graph, arguments, states: dict[str, torch.Tensor] | None = None) -> list[torch.Tensor]:
    """The delegate's outputs for its arguments, both as the caller sees them.

    ``states`` are read and set by name; what is missing has its initial content.
    """
    states = {} if states is None else states

    def physical(source, argument):
        if source.value is None or source.dim_order is None:
            return argument
        return argument.permute(source.dim_order)

    arguments = [physical(s, a) for s, a in zip(graph.arguments, arguments, strict=True)]
    symbols = _solve(graph, arguments)

    def number(d):
        d = d.subs(symbols) if isinstance(d, sympy.Expr) else d
        return d if isinstance(d, sympy.Symbol) else int(d) if isinstance(d, sympy.Expr) else d

    def numbers(x):
        return tuple(numbers(d) for d in x) if type(x) is tuple else number(x)

    def check(name, tensor):
        value = graph.values[name]
        shape = tuple(number(d) for d in value.shape)
        assert tuple(tensor.shape) == shape, f"%{name} is {tuple(tensor.shape)}, not {shape}"
        dtype = torch_dtype(value.dtype)
        assert tensor.dtype == dtype, f"%{name} is {tensor.dtype}, not {dtype}"
        return tensor

    env = {
        name: tensor(value.array).reshape(value.shape)
        for name, value in graph.values.items()
        if value.constant is not None
    }
    for source, argument in zip(graph.arguments, arguments, strict=True):
        if source.value is not None:
            env[source.value] = check(source.value, argument)
    for source in graph.inputs:
        if source.state is not None:
            initial = tensor(source.state.initial.array)
            env[source.value] = check(source.value, states.get(source.state.name, initial))
    for node in graph.nodes:
        attributes = type(node.attributes)(**{k: numbers(v) for k, v in vars(node.attributes).items()})
        operands = [None if i is None else env[i] for i in node.inputs]
        results = OPERATORS[node.op](attributes, *operands)
        if node.op in _SEVERAL_RESULTS:
            results = results[: len(node.outputs)]
        else:
            results = (results,)
        if node.found is not None:
            symbols.setdefault(node.found, results[0].shape[0])
        for output, result in zip(node.outputs, results, strict=True):
            env[output] = check(output, stored(graph.values[output].quantization, result))
    results = []
    for output in graph.outputs:
        if output.state is not None:
            states[output.state] = env[output.value].clone()
    for output in graph.results:
        y = env[output.value].contiguous()
        order = output.dim_order or tuple(range(y.dim()))
        results.append(y.permute([order.index(a) for a in range(y.dim())]))
    return results
