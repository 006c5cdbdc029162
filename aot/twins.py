# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Operators under a name of our own.

An ATen operator outside PyTorch's core set that nothing decomposes does not pass ExecuTorch's
check of the Edge dialect, whoever takes it later. Its twin, which does the same, does.
"""

import functools

import torch
from executorch.exir.tracer import _default_decomposition_table

_LIBRARY = torch.library.Library("et_xnnpack", "DEF")
_twins: dict[torch._ops.OpOverload, torch._ops.OpOverload] = {}
_originals: dict[torch._ops.OpOverload, torch._ops.OpOverload] = {}


@functools.cache
def _decomposed() -> frozenset:
    return frozenset(_default_decomposition_table())


@functools.cache
def needs_twin(operator: torch._ops.OpOverload) -> bool:
    allowed = operator.namespace != "aten" or {torch.Tag.core, torch.Tag.view_copy} & set(operator.tags)
    aliases = any(a.alias_info for a in (*operator._schema.arguments, *operator._schema.returns))
    return not allowed and not aliases and operator not in _decomposed()


def twin(operator: torch._ops.OpOverload) -> torch._ops.OpOverload:
    if operator not in _twins:
        name, overload = operator._schema.name.removeprefix("aten::"), operator._schema.overload_name
        _LIBRARY.define(str(operator._schema).removeprefix("aten::"))
        _LIBRARY.impl(f"{name}.{overload}" if overload else name, operator, "CompositeExplicitAutograd")
        _twins[operator] = getattr(getattr(torch.ops.et_xnnpack, name), overload or "default")
        _originals[_twins[operator]] = operator
    return _twins[operator]


def original(operator: torch._ops.OpOverload) -> torch._ops.OpOverload:
    """The operator that ``operator`` is the twin of, or itself."""
    return _originals.get(operator, operator)
