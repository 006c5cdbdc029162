# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Recurrent layers, step by step."""

import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.serialization.schema import RecurrentKind


def _recurrent(a, x, weight, bias=None, h=None, cell=None, projection=None):
    steps, batch, gates = x.shape
    h = torch.zeros(batch, weight.shape[1]) if h is None else h
    hidden = gates // 4 if a.kind == RecurrentKind.Lstm else h.shape[1]
    cell = torch.zeros(batch, hidden) if cell is None else cell
    y = torch.empty(steps, batch, h.shape[1])
    for t in reversed(range(steps)) if a.reverse else range(steps):
        product = F.linear(h, weight, bias)
        if a.kind == RecurrentKind.Lstm:
            i, f, g, o = (x[t] + product).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            h = o.sigmoid() * cell.tanh()
            h = h if projection is None else F.linear(h, projection)
        elif a.kind == RecurrentKind.Gru:
            r, z, n = zip(x[t].chunk(3, 1), product.chunk(3, 1), strict=True)
            r, z = sum(r).sigmoid(), sum(z).sigmoid()
            h = (1 - z) * (n[0] + r * n[1]).tanh() + z * h
        else:
            h = {RecurrentKind.Tanh: torch.tanh, RecurrentKind.Relu: torch.relu}[a.kind](x[t] + product)
        y[t] = h
    return y, h, cell


OPERATORS = {
    "Recurrent": _recurrent,
}
