# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tensors ahead of time: NumPy arrays, in which a bfloat16 is a 16-bit field of that name."""

import numpy as np

from .schema import DType, Storage

BFLOAT16 = np.dtype([("bfloat16", np.uint16)])

NUMPY_DTYPES = {d: BFLOAT16 if d == DType.BFloat16 else np.dtype(d.name.lower()) for d in DType}
DTYPES = {v: k for k, v in NUMPY_DTYPES.items()}

REDUCED_FLOATS = frozenset({DType.Float16, DType.BFloat16})
WIDE_FLOATS = frozenset({DType.Float32, DType.Float64})  #: floats that are computed with
FLOATS = REDUCED_FLOATS | WIDE_FLOATS
WIDE_INTEGERS = frozenset({DType.Int32, DType.Int64})  #: integers that are computed with, and that index


def convert(x: np.ndarray, dtype: DType) -> np.ndarray:
    """``x`` as a Cast to ``dtype`` gives it."""
    to = NUMPY_DTYPES[dtype]
    if x.dtype == to:
        return x
    if x.size and not any(x.strides) and x.ndim:  # one element, broadcast
        return np.broadcast_to(convert(x[(0,) * x.ndim], dtype), x.shape)
    if x.dtype == BFLOAT16:
        x = (x["bfloat16"].astype(np.uint32) << 16).view(np.float32)
    if to == BFLOAT16:
        return _to_bfloat16(x)
    if to == np.float16:
        x = x.astype(np.float32)  # as at run time
    return x.astype(to)


def _to_bfloat16(x: np.ndarray) -> np.ndarray:
    bits = np.asarray(x, np.float32, order="C").view(np.uint32)
    rounded = bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)
    rounded = np.where(np.isnan(x), bits | np.uint32(0x400000), rounded)
    return (rounded >> 16).astype(np.uint16).view(BFLOAT16)


def number(x, dtype: DType) -> np.ndarray:
    """A scalar of ``dtype``."""
    if dtype in REDUCED_FLOATS:
        return convert(np.array(x, np.float32), dtype)
    return np.array(x, NUMPY_DTYPES[dtype])


def pack(x: np.ndarray) -> tuple[np.ndarray, Storage]:
    """The bits of ``x`` in the smallest storage that holds them exactly."""
    if x.dtype == np.float32:
        bits = np.ascontiguousarray(x).view(np.uint32)
        sample = bits.ravel()[:1024]
        if _fits_bfloat16(sample) and _fits_bfloat16(bits):
            return (bits >> 16).astype(np.uint16), Storage.BFloat16
        if _fits_float16(sample.view(np.float32)) and _fits_float16(x):
            return np.ascontiguousarray(x).astype(np.float16), Storage.Float16
    return np.ascontiguousarray(x), Storage.Plain


def _fits_bfloat16(bits: np.ndarray) -> bool:
    return not np.any(bits & 0xFFFF)


def _fits_float16(x: np.ndarray) -> bool:
    with np.errstate(over="ignore"):
        back = x.astype(np.float16).astype(np.float32)
    return np.array_equal(back.view(np.uint32), np.ascontiguousarray(x).view(np.uint32))
