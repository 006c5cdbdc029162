# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""PyTorch with the arithmetic of ARM's float16: products are added to a sum in float16, one after the other."""

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten


class Float16Sums(TorchDispatchMode):
    """Within it linear layers and two-dimensional convolutions of float16 round each partial sum."""

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if function in (aten.addmm.default, aten.mm.default):
            *bias, x, weight = arguments
            y = _add_products(x.T[None, None], weight.T[None])[0, 0].T
            return y + bias[0] if bias else y
        if function is aten.convolution.default:
            return _convolve(*arguments)
        return function(*arguments, **(named or {}))


def _convolve(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    assert not transposed and x.dim() == 4
    columns = functional.unfold(x.float(), weight.shape[2:], dilation, padding, stride).to(x.dtype)
    sums = _add_products(columns.unflatten(1, (groups, -1)), weight.flatten(1).unflatten(0, (groups, -1)))
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, weight.shape[2:], strict=True)]
    sizes = [(n + 2 * p - span) // s + 1 for n, p, span, s in zip(x.shape[2:], padding, spans, stride, strict=True)]
    y = sums.flatten(1, 2).unflatten(2, sizes)
    return y if bias is None else y + bias[:, None, None]


def _add_products(x, weight):
    """Products of matrices, of shape [N, G, M, L], of those of ``weight`` [G, M, K] and ``x`` [N, G, K, L]."""
    total = x.new_zeros(*x.shape[:2], weight.shape[1], x.shape[3])
    x, weight = x.float(), weight.float()
    for k in range(x.shape[2]):
        total = torch.addcmul(total.float(), x[:, :, k, None], weight[:, :, k, None]).to(total.dtype)
    return total
