# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Custom operators that stand for ATen operators.

An ATen operator outside PyTorch's core set that nothing decomposes does not pass ExecuTorch's
check of the Edge dialect, whoever takes it later. A custom operator, which calls it, does.
"""

import functools
from collections.abc import Sequence

import torch

from .private.executorch import decomposed_operators
from .private.torch import OpOverload, has_aliases, qualified_name, signature_text

_LIBRARY = torch.library.Library("et_xnnpack", "DEF")
_custom_ops: dict[tuple, OpOverload] = {}  # by operator and parameters that get numbers
_aten_ops: dict[OpOverload, OpOverload] = {}


def can_be_custom_op(operator: OpOverload) -> bool:
    """Whether ``custom_op`` takes it."""
    return operator.namespace == "aten" and not has_aliases(operator)


@functools.cache
def needs_custom_op(operator: OpOverload) -> bool:
    """Whether ExecuTorch would refuse a program with ``operator`` in it."""
    allowed = {torch.Tag.core, torch.Tag.view_copy} & set(operator.tags)
    return can_be_custom_op(operator) and not allowed and operator not in decomposed_operators()


def custom_op(operator: OpOverload, numbers: Sequence[str] = ()) -> OpOverload:
    """The custom operator that calls ``operator``, an ATen operator that writes to no operand.

    It says nothing of a result that shares memory with an operand: only what is not run may be such an operator.
    numbers: the parameters for tensors that get numbers, which PyTorch's own operators take
    """
    key = operator, *numbers
    if key not in _custom_ops:
        name, overload = qualified_name(operator)
        name, overload = name.removeprefix("aten::"), "_".join((*filter(None, (overload,)), *numbers))
        full_name = f"{name}.{overload}" if overload else name
        signature = signature_text(operator)
        for number in numbers:
            signature = signature.replace(f"Tensor {number}", f"Scalar {number}")
        _LIBRARY.define(full_name + signature[signature.index("(") :])
        _LIBRARY.impl(full_name, operator, "CompositeExplicitAutograd")
        if torch.Tag.dynamic_output_shape in operator.tags:
            torch.library.register_fake(f"et_xnnpack::{full_name}", operator, lib=_LIBRARY)
        _custom_ops[key] = getattr(getattr(torch.ops.et_xnnpack, name), overload or "default")
        _aten_ops[_custom_ops[key]] = operator
    return _custom_ops[key]


def aten_of(operator: OpOverload) -> OpOverload:
    """The ATen operator that a custom operator stands for; any other operator as it is."""
    return _aten_ops.get(operator, operator)
