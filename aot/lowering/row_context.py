# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a row of ``ops`` sees as ``c``."""

import dataclasses
import operator

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx import Node as FxNode

from ...serialization import schema
from ...serialization.arrays import REDUCED_FLOATS, convert, number
from ...serialization.schema import DType
from ..fold import fold
from ..ir import Builder, Value, dims
from ..traits import traits_of
from .dtypes import DTYPES, dtype_reason, number_dtype, promote
from .sizes import Sizes
from .unsupported import Unsupported


class RowContext(Builder):
    """The node that is being translated, and everything of which a row makes what the node becomes."""

    def __init__(self, program: ExportedProgram):
        super().__init__()
        self.fx_node: FxNode | None = None
        self._sizes = Sizes(program)
        self._wide = False  # 16-bit floats are computed in float32
        self._unrounded: dict[str, Value] = {}  # tensors of 0 axes that ExecuTorch had rounded to 16 bits
        self._others: set[str] = set()  # arguments of another type than the 16-bit float that the node gives

    # What the node gives -------------------------------------------------------------

    @property
    def out(self) -> Value:
        """Shape and dtype of the (first) result of the node being translated."""
        value = self.fx_node.meta["val"]
        return self._result_meta(value[0] if isinstance(value, (tuple, list)) else value)

    @property
    def outs(self) -> list[Value]:
        """Shapes and dtypes of all results."""
        return [self._result_meta(v) for v in self.fx_node.meta["val"]]

    def used_outputs(self) -> set[int]:
        """Which results of the node anything reads."""
        return {u.args[1] for u in self.fx_node.users if u.target is operator.getitem}

    def _result_meta(self, value) -> Value:
        meta = self._meta(value)
        if self._wide and meta.dtype in REDUCED_FLOATS:
            return dataclasses.replace(meta, dtype=DType.Float32)
        return meta

    def _first_meta(self) -> Value:
        value = self.fx_node.meta["val"]
        return self._meta(value[0] if isinstance(value, (tuple, list)) else value)

    def _meta(self, value) -> Value:
        if not isinstance(value, torch.Tensor):
            raise Unsupported(f"a result has type {type(value).__name__}, not torch.Tensor")
        if value.dtype not in DTYPES:
            raise Unsupported(dtype_reason(value.dtype))
        return Value("", DTYPES[value.dtype], tuple(self.dim(s) for s in value.shape))

    # Conditions ----------------------------------------------------------------------

    def refuse(self, reason: str):
        raise Unsupported(reason)

    def require(self, condition: bool, reason: str) -> None:
        if not condition:
            raise Unsupported(reason)

    def require_static(self, dim: dims.Dim, what: str) -> int:
        self.require(isinstance(dim, int), f"{what} must not depend on an input size")
        return dim

    def _check_16_bits(self, attributes, inputs) -> None:
        if any(i is not None and i.dtype in REDUCED_FLOATS for i in inputs) and not traits_of(attributes).takes_16_bits:
            self.refuse(f"{type(attributes).__name__} does not take 16-bit floats")

    # Sizes and axes ------------------------------------------------------------------

    def dim(self, size: int | torch.SymInt) -> dims.Dim:
        return self._sizes.convert(size)

    def largest(self, dim: dims.Dim, what: str) -> int:
        """The upper bound of a size, which must be a number or one size of an input."""
        if isinstance(dim, int):
            return dim
        most = self._sizes.ranges[dim.name].max if dim.is_Symbol else None
        self.require(most is not None, f"{what} must be a number, or an input size that has an upper bound")
        return most

    def is_symbolic(self, x) -> bool:
        return isinstance(x, sympy.Expr)

    def is_from_end(self, index: dims.Dim) -> bool:
        """Whether a place is negative. Export has asked that: it is for all sizes what it is for the example."""
        return index < 0 if isinstance(index, int) else self._sizes.is_negative(index)

    def axis(self, axis: int, rank: int) -> int:
        """``axis`` counted from the front."""
        return axis + rank if axis < 0 else axis

    # Nodes of the graph --------------------------------------------------------------

    def node(self, attributes, *inputs, shape, dtype=None, name=None) -> Value:
        """As ``Builder.node``; computed at once if every input is a constant, unless that may take long."""
        self._check_16_bits(attributes, inputs)
        if inputs and not traits_of(attributes).evaluates_slowly:
            constant = fold(self, attributes, inputs)
            if constant is not None:
                return constant
        name = name or (self.fx_node.name if self.fx_node else None)
        return super().node(attributes, *inputs, shape=shape, dtype=dtype, name=name)

    def multi_node(self, attributes, *inputs, outputs, name=None, **options) -> list[Value]:
        self._check_16_bits(attributes, inputs)
        name = name or (self.fx_node.name if self.fx_node else None)
        return super().multi_node(attributes, *inputs, outputs=outputs, name=name, **options)

    def nhwc(self, x: Value) -> Value:
        """[N, C, ..., W] -> [N, ..., W, C]."""
        return self.transpose(x, (0, *range(2, x.rank), 1))

    def nchw(self, x: Value) -> Value:
        """The inverse of ``nhwc``."""
        return self.transpose(x, (0, x.rank - 1, *range(1, x.rank - 1)))

    # Types ---------------------------------------------------------------------------

    def cast(self, x: Value, dtype: DType) -> Value:
        if x.dtype == dtype:
            return x
        y = self.node(schema.Cast(dtype=dtype), x, shape=x.shape, dtype=dtype)
        if x.name in self._unrounded:
            self._unrounded[y.name] = self._unrounded[x.name]
        elif x.dtype not in REDUCED_FLOATS and y.dtype in REDUCED_FLOATS and x.rank == 0:
            if not self._is_cast_of_program():
                self._unrounded[y.name] = x
        return y

    def _is_cast_of_program(self) -> bool:
        """Whether the program itself asks for this type. A cast that ExecuTorch adds bears the name of an operator."""
        return self.fx_node is not None and str(self.fx_node.meta.get("original_aten")) == "aten._to_copy.default"

    def widened(self, x: Value) -> Value:
        """``x``, as Float32 if it is a 16-bit float."""
        return self.cast(x, DType.Float32) if x.dtype in REDUCED_FLOATS else x

    def of_result(self, x: Value) -> Value:
        """An argument as the type of the result, to which PyTorch casts it before it computes."""
        return self.rounded(x) if x.name in self._others else self.cast(x, self.out.dtype)

    def rounded(self, x: Value) -> Value:
        """``x`` in the type of the result, rounded as that is if it is a 16-bit float."""
        return self.cast(self.cast(x, self._first_meta().dtype), self.out.dtype)

    def operand(self, x, dtype: DType, exact: bool = False) -> Value:
        """A tensor cast to ``dtype``, or a number, perhaps one that depends on sizes, as such a tensor.

        A number for an operator of 16-bit floats is rounded to these, unless ``exact``; then a tensor without axes is
        the one that ExecuTorch rounded.
        """
        if isinstance(x, Value):
            return self.cast(self._unrounded.get(x.name, x) if exact and x.rank == 0 else x, dtype)
        if self.is_symbolic(x):
            size = self.node(schema.SizeValue(size=x), shape=(), dtype=DType.Int64)
            return self.cast(size, dtype)
        try:
            array = number(x, dtype)
        except OverflowError:
            self.refuse(f"{x} does not fit {dtype.name}")
        if self._wide and dtype == DType.Float32 and not exact:
            narrow = self._first_meta().dtype
            if narrow in REDUCED_FLOATS:
                array = convert(convert(array, narrow), DType.Float32)
        return self.constant(array)

    def common_dtype(self, *operands) -> DType:
        """The type that PyTorch computes with, given tensors and at most one number."""
        tensors = [x for x in operands if isinstance(x, Value)]
        return promote(
            [x.dtype for x in tensors if x.rank > 0],
            [x.dtype for x in tensors if x.rank == 0],
            [number_dtype(x) for x in operands],
        )
