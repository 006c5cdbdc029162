# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What the integers of a value stand for."""

import dataclasses
import functools

import numpy as np

from ...serialization.schema import DType
from .dims import Dim


@dataclasses.dataclass(frozen=True, eq=False)
class Quantization:
    """What integers of ``dtype`` stand for: q for (q - zero_point) * scale.

    Scale (float32) and zero point (int32) have rank 0, as they always do if each is one number, or the rank of the
    tensor and sizes that divide those of the tensor: each element is for a block. Constants may have zero points of
    float32 that are not whole until ``write_out_zero_points``, the first pass that looks at them.
    """

    dtype: DType
    scale: np.ndarray
    zero_point: np.ndarray

    def __post_init__(self):
        if self.is_per_tensor:
            for name in ("scale", "zero_point"):
                object.__setattr__(self, name, getattr(self, name).reshape(()))

    @classmethod
    def per_tensor(cls, dtype: DType, scale: float, zero_point: int) -> "Quantization":
        return cls(dtype, np.array(scale, np.float32), np.array(zero_point, np.int32))

    @property
    def is_per_tensor(self) -> bool:
        return self.scale.size == self.zero_point.size == 1

    def fits(self, shape: tuple[Dim, ...]) -> bool:
        """Whether a tensor of this shape may have it."""
        return all(
            p.ndim == 0
            or p.ndim == len(shape)
            and all(n in (1, size) or (n and size % n == 0) for n, size in zip(p.shape, shape, strict=True))
            for p in (self.scale, self.zero_point)
        )

    @property
    def is_whole(self) -> bool:
        """Whether its zero points are integers."""
        return self.zero_point.dtype == np.int32

    @functools.cached_property
    def key(self):
        return self.dtype, self.is_whole, self.scale.shape, self.scale.tobytes(), self.zero_point.tobytes()

    def __eq__(self, other):
        return isinstance(other, Quantization) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def for_each(self, parameter: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """``parameter``, scale or zero point, for each element of a tensor of this shape."""
        for axis, blocks in enumerate(parameter.shape):
            if blocks not in (1, shape[axis]):
                parameter = parameter.repeat(shape[axis] // blocks, axis)
        return np.broadcast_to(parameter, shape)

    def dequantize(self, q: np.ndarray) -> np.ndarray:
        numbers = q.astype(np.float32)
        numbers -= self.for_each(self.zero_point.astype(np.float32), q.shape)
        numbers *= self.for_each(self.scale, q.shape)
        return numbers
