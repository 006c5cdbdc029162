# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Rows: which ATen operators are taken, under which conditions, and what they become.

A row is a function from the arguments of an operator, named as in its ATen schema, to
values of the IR::

    @op("aten.linear.default", preserve=True)
    def linear(c, input, weight, bias):
        c.require(input.rank > 0, "the input is a scalar, not a vector or matrix")
        return c.node(schema.Linear(), input, weight, bias, shape=c.out.shape)

Tensors arrive as ``ir.Value``, integers that depend on input sizes as SymPy expressions,
everything else as in the graph. ``c`` is the ``Lowering`` of the node. What cannot be
taken is refused with ``c.require`` or ``c.refuse``; the reason reaches the user.
"""

import dataclasses
import enum
from collections.abc import Callable

from ...serialization.schema import DType


class Int8(enum.Enum):
    """With which scale an operator of int8 numbers stores its result."""

    SAME = enum.auto()  #: that of its operand
    OWN = enum.auto()  #: any


@dataclasses.dataclass(frozen=True)
class Row:
    target: str  #: "aten.linear.default"
    lower: Callable
    family: str  #: the module of the row: "linear"
    preserve: bool  #: keep the operator whole where ExecuTorch would decompose it
    moves_data: bool  #: computes nothing: not worth a delegate call of its own
    operator: type | None  #: of the delegate, that computes the result; where the quantizer asks
    dtypes: frozenset[DType]  #: what its tensors may hold
    result_dtypes: tuple[DType, ...] | None  #: of its results here where eager PyTorch has others
    int8: Int8 | None  #: the quantizer lets it compute with int8


ROWS: dict[str, Row] = {}


def op(
    *targets: str,
    preserve: bool = False,
    moves_data: bool = False,
    operator: type | None = None,
    dtypes=(DType.Float32,),
    result_dtypes=None,
    int8: Int8 | None = None,
):
    """Registers the decorated function as the row of each target."""

    def register(lower):
        family = lower.__module__.rpartition(".")[2]
        for target in targets:
            if target in ROWS:
                raise ValueError(f"{target} has two rows")
            allowed = frozenset(dtypes)
            ROWS[target] = Row(target, lower, family, preserve, moves_data, operator, allowed, result_dtypes, int8)
        return lower

    return register
