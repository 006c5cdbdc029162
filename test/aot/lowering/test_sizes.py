# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""PyTorch's expressions of sizes as those of the IR."""

from types import SimpleNamespace

import sympy
from executorch.backends.et_xnnpack.aot.ir import dims
from executorch.backends.et_xnnpack.aot.lowering.sizes import Sizes
from executorch.backends.et_xnnpack.aot.private.sizes import FloorDiv


def test_quotients_have_no_common_factors():
    """With no batch one of them was 0, and the runtime refused to divide by it."""
    batch, length = (sympy.Symbol(name, integer=True, positive=True) for name in ("batch", "length"))
    frames = 5 * length - 1
    rows = FloorDiv(4 * batch * frames**2, frames * (20 * length - 4))
    sizes = Sizes(SimpleNamespace(range_constraints={}))
    assert sizes._rebuild(rows) == dims.symbol("batch")
    assert sizes._rebuild(FloorDiv(4 * batch, rows)) == 4
    assert sizes._rebuild(FloorDiv(batch, length)) == sympy.floor(dims.symbol("batch") / dims.symbol("length"))
