# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``DimOp.Scale`` as a SymPy function."""

import struct

import sympy


class Scaled(sympy.Function):
    """A size times a factor as PyTorch computes it: in float64, without its fraction.

    The factor is the rational number that the float64 is. ``floor`` of the product would be another number where
    float64 rounds: 100 times 0.29 gives 28, 10 times 0.7 gives 7.
    """

    nargs = 2
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, size, factor):
        if size.is_Integer:
            return sympy.Integer(int(float(int(size)) * (factor.p / factor.q)))
        return None

    @property
    def bits(self) -> int:
        """The factor as the operand of ``DimOp.Scale``."""
        factor = self.args[1]
        return struct.unpack("<q", struct.pack("<d", factor.p / factor.q))[0]
