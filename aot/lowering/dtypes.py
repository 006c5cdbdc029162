# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""PyTorch's dtypes and tensors as the schema and NumPy have them, and how PyTorch promotes."""

from collections.abc import Iterable

import numpy as np
import sympy
import torch

from ...serialization.arrays import BFLOAT16, REDUCED_FLOATS
from ...serialization.schema import DType

DTYPES = {getattr(torch, dtype.name.lower()): dtype for dtype in DType}

# As PyTorch promotes them, within a category from the first to the last.
_INTEGERS = (DType.UInt8, DType.Int8, DType.Int32, DType.Int64)
_FLOATS = (DType.Float16, DType.BFloat16, DType.Float32, DType.Float64)
_CATEGORY = {DType.Bool: 0, **dict.fromkeys(_INTEGERS, 1), **dict.fromkeys(_FLOATS, 2)}


def promote(*groups: Iterable[DType | None]) -> DType | None:
    """The type that PyTorch computes with.

    ``groups`` are the types of tensors with axes, of tensors without, and of numbers. A later group counts
    only where its category, of bools, integers and floats, is a higher one. None stands for no type.
    """
    dtype = None
    for other in map(_highest, groups):
        if dtype is None or (other is not None and _CATEGORY[other] > _CATEGORY[dtype]):
            dtype = other
    return dtype


def _highest(dtypes: Iterable[DType | None]) -> DType | None:
    known = {dtype for dtype in dtypes if dtype is not None}
    if known >= REDUCED_FLOATS:
        known.add(DType.Float32)
    if known >= {DType.UInt8, DType.Int8}:
        known.add(DType.Int32)  # PyTorch: int16, whose numbers it holds
    order = (DType.Bool, *_INTEGERS, *_FLOATS)
    return max(known, key=order.index, default=None)


def number_dtype(x) -> DType | None:
    """The type that a number or a size counts as in promotion; None if ``x`` is neither."""
    if isinstance(x, bool):
        return DType.Bool
    if isinstance(x, float):
        return DType.Float32
    return DType.Int64 if isinstance(x, (int, sympy.Expr)) else None


def computed(dtype: DType) -> DType:
    """The type that an operator on tensors of ``dtype`` computes with."""
    return DType.Float32 if dtype in REDUCED_FLOATS else dtype


def dtype_reason(dtype: torch.dtype) -> str:
    """Why a node with a tensor of ``dtype`` is refused."""
    return f"dtype {str(dtype).removeprefix('torch.')} is not supported"


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The tensor as NumPy has it, a bfloat16 as ``arrays.BFLOAT16``.

    Read-only: it may be the memory of the tensor, which is the user's.
    """
    tensor = tensor.detach().cpu()
    if tensor.dtype == torch.bfloat16:
        array = tensor.contiguous().view(torch.int16).numpy().view(BFLOAT16)
    else:
        array = tensor.numpy()
    array = array.view()
    array.flags.writeable = False
    return array
