# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Numbers of a program that computes with them in float64."""

import struct
from collections.abc import Container

import torch
from torch.export import ExportedProgram
from torch.fx import Node as FxNode

from .graph_edit import MOST_ROUNDS, add_call
from .private.torch import (
    OpOverload,
    decompositions,
    fake_of,
    has_aliases,
    leaves,
    parameters,
    tensor_parameters,
)

_aten = torch.ops.aten


def decompose_float64(program: ExportedProgram, kept: Container[str]) -> ExportedProgram:
    """``program`` without operators on float64 that PyTorch decomposes and that are not ``kept``, by name.

    ExecuTorch would do it after ``keep_float64_numbers``, which would not see the numbers that come of it.
    """
    before = None
    for _ in range(MOST_ROUNDS):
        found = {
            node.target
            for node in program.graph.nodes
            if isinstance(node.target, OpOverload) and str(node.target) not in kept
            if not has_aliases(node.target) and _computes_float64(node)
        }
        if not found or found == before:
            break
        before, table = found, decompositions()
        known = {target: table[target] for target in found & table.keys()}
        if not known:
            break
        program = program.run_decompositions(known)
    return program


def keep_float64_numbers(program: ExportedProgram) -> None:
    """Makes tensors of float64 of the numbers that ExecuTorch would make tensors of float32 of.

    ::

        %y = mul(%x, 0.1)    ->    %n = full([], 0.1, dtype=float64)
                                   %y = mul(%x, %n)

    Where an operator takes a tensor, a number becomes one in float32 whatever the other operands are.
    """
    graph = program.graph
    for node in list(graph.nodes):
        if node.op != "call_function" or not isinstance(node.target, OpOverload) or not _computes_float64(node):
            continue
        if node.target is _aten.rsub.Scalar and len(node.args) == 2 and not node.kwargs:
            node.target, node.args = _aten.sub.Tensor, node.args[::-1]  # which it would become later
        names = tensor_parameters(node.target)
        for place, (parameter, number) in enumerate(zip(parameters(node.target), node.args, strict=False)):
            if parameter.name in names and isinstance(number, float) and not _is_float32(number):
                value = torch.full((), number, dtype=torch.float64)
                with graph.inserting_before(node):
                    fake = fake_of(value, beside=leaves(node.meta["val"])[0])
                    node.update_arg(place, add_call(graph, _aten.full.default, fake, [], number, dtype=torch.float64))
    program.graph_module.recompile()


def _computes_float64(node: FxNode) -> bool:
    operands = [v for n in node.all_input_nodes for v in leaves(n.meta.get("val"))]
    results = leaves(node.meta.get("val"))
    return any(getattr(v, "dtype", None) == torch.float64 for v in operands) and all(
        getattr(v, "dtype", None) in (torch.float64, torch.bool) for v in results
    )


def _is_float32(number: float) -> bool:
    """Whether nothing is lost; NaN counts as such."""
    try:
        return number != number or struct.unpack("f", struct.pack("f", number))[0] == number
    except OverflowError:
        return False
