# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a node of a program calls, and what it computes."""

import torch
from torch.fx import Node as FxNode

from ..custom_ops import aten_of
from ..private.executorch import operator_of_edge
from ..private.sizes import expression
from ..private.torch import OpOverload


def aten_operator(node: FxNode) -> OpOverload | None:
    """The ATen operator that ``node`` calls, also through the Edge dialect or a custom operator of ours."""
    target = operator_of_edge(node.target)
    return aten_of(target) if isinstance(target, OpOverload) else None


def target_name(node: FxNode) -> str:
    """``aten.add.Tensor`` for an ATen or an Edge operator, else the name of the callable."""
    aten = aten_operator(node)
    return getattr(node.target, "__name__", str(node.target)) if aten is None else str(aten)


def is_size(node: FxNode) -> bool:
    """Whether a node computes a number from sizes, which costs nothing at run time."""
    value = node.meta.get("val")
    if isinstance(value, torch.SymFloat):
        return all(symbol.is_integer for symbol in expression(value).free_symbols)
    return isinstance(value, (int, bool, torch.SymInt, torch.SymBool))


def reads_or_checks_integer(node: FxNode) -> bool:
    """Whether it only gives an integer of an input to the program, or checks one.

    ExecuTorch does that before the delegate is called, which gets the integers as arguments.
    """
    if node.op != "call_function":
        return False
    name = target_name(node)
    if name in ("aten.select_copy.int", "aten.select.int"):
        readers = {target_name(user) for user in node.users}
        return readers == {"aten._local_scalar_dense.default"} and node.args[0].op == "placeholder"
    return is_check(node)


def is_check(node: FxNode) -> bool:
    """Whether it fails unless a condition of sizes holds, and does nothing else."""
    return node.op == "call_function" and target_name(node) == "aten._assert_scalar.default"


def is_wide_scale(node: FxNode) -> bool:
    """Whether it makes float64 of float32 for dequantization alone, whose scales are float32 here."""
    if node.op != "call_function" or not target_name(node).endswith(
        ("._to_copy.default", "._to_dim_order_copy.default")
    ):
        return False
    source = node.args[0].meta["val"]
    is_wide = source.dtype == torch.float32 and node.meta["val"].dtype == torch.float64
    return is_wide and bool(node.users) and all("dequantize" in str(user.target) for user in node.users)
