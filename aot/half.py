# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is done with 16-bit floats as they are."""

from ..serialization.schema import UnaryKind, UpdateKind

_MOVES = frozenset(
    {
        "Cast",
        "Reshape",
        "Transpose",
        "Expand",
        "Concat",
        "Slice",
        "Pad",
        "Where",
        "Index",
        "Gather",
        "SliceScatter",
        "MaskedScatter",
    }
)


def takes_half(attributes) -> bool:
    """Whether an operator moves elements and computes nothing, so that it takes 16-bit floats.

    All others take Float32: lowering casts their operands and rounds their results.
    """
    name = type(attributes).__name__
    if name == "Unary":
        return attributes.kind == UnaryKind.Copy
    if name in ("IndexPut", "Scatter"):
        return attributes.kind == UpdateKind.Assign
    return name in _MOVES
