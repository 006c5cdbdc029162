# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of programs that write to their buffers, which live on from call to call."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)

from . import ANY_OPERATOR, Argument, Sample, Size, integers, new, rand

_q = torch.ops.quantized_decomposed

#: Every call of a sample sees the state that the calls before it have left.
CALL = Size("length", 5, (1, 3, 5, 1, 2, 4))


class Stateful(nn.Module):
    """``function(self, *args)`` with buffers."""

    def __init__(self, function, persistent=True, **buffers):
        super().__init__()
        self.function = function
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer, persistent=persistent)

    def forward(self, *args):
        return self.function(self, *args)


def _state(name, function, *arguments, persistent=True, **buffers):
    return Sample(name, new(lambda: Stateful(function, persistent, **buffers)), *arguments)


def _counter(m, x):
    m.count += 1
    return x + m.count


def _counter_read_before(m, x):
    y = x * m.count
    m.count.add_(x.shape[0])
    return y, m.count * 1


def _flags(m, x):
    seen = m.seen.clone()
    m.seen.logical_or_(x[0, :4] > 0)
    return seen, m.seen.int()


def _index_put(m, x, position):
    m.cache[:, position] = x
    return m.cache.sum((0, 2))


def _doubled(m, x, position):
    m.cache[:, position] = x
    return m.cache * 2


def _index_copy(m, x, position):
    m.cache.index_copy_(1, position, x)
    return F.softmax(m.cache, -1)


class QuantizedCache(nn.Module):
    """Attention over keys and values that are kept in 8 bits, as ExecuTorch's ``QuantizedKVCache`` keeps them."""

    def __init__(self, positions=8, heads=2, size=6):
        super().__init__()
        for name in ("key", "value"):
            self.register_buffer(name, torch.zeros(1, positions, heads, size, dtype=torch.int8))
            self.register_buffer(f"{name}_scale", torch.ones(1, positions, heads, 1))
            self.register_buffer(f"{name}_zero_point", torch.zeros(1, positions, heads, 1, dtype=torch.int8))

    def _kept(self, name, x, position):
        cache, scale, zero_point = (self.get_buffer(name + part) for part in ("", "_scale", "_zero_point"))
        scales, zero_points = _q.choose_qparams_per_token_asymmetric(x, torch.int8)
        cache[:, position] = _q.quantize_per_token(x, scales, zero_points, -128, 127, torch.int8)
        scale[:, position] = scales.float()
        zero_point[:, position] = zero_points.to(torch.int8)
        wide = scale.double(), zero_point.long()
        return _q.dequantize_per_token(cache, *wide, -128, 127, torch.int8, torch.float32).transpose(1, 2)

    def forward(self, x, position):
        query, key, value = x.chunk(3, -1)
        key, value = self._kept("key", key, position), self._kept("value", value, position)
        seen = torch.arange(key.shape[2]) <= position[:, None]
        return F.scaled_dot_product_attention(query.transpose(1, 2), key, value, seen)


def _slice(m, x):
    m.cache[1, 2:5] = x
    m.cache[:, 5] += 1
    return m.cache * 2


def _written_twice(m, x, position):
    before = m.cache.sum()
    m.cache[:, position] = x
    between = m.cache[:, 0] * 2
    m.cache[:, 1:2] = x[:, :1]
    return before, between, m.cache.mean((0, 1))


def _read_later(m, x, position):
    old = m.cache.clone()
    m.cache[:, position] = x
    return m.cache - old  # the old content after the write


def _previous(m, x):
    y = m.last + 0
    m.last.copy_(x)
    return y


def _shift(m, x):
    m.window.copy_(torch.cat((m.window, x), 0)[-6:])
    return m.window.mean(0)


def _swap(m, x):
    a = m.a.clone()
    m.a.copy_(m.b)
    m.b.copy_(a + x)
    return m.a * 1, m.b * 1


def _crossed(m, x, position):
    a = m.a.index_put((position,), x)
    m.a.copy_(m.b)
    m.b.copy_(a)
    return m.a * 1, m.b * 1


def _returned(m, x):
    m.total += x
    return m.total


def _flipped(m, x):
    m.total.copy_(m.total.flip(0) + 1)
    return m.total + x


def _returned_from_buffer(m, x):
    m.total.mul_(0.5).add_(x)
    return x * 2, m.total, m.total + 1


def _set_to_constant(m, x):
    y = x + m.total
    m.total.copy_(torch.tensor([1.0, 2.0, 3.0]))
    return y


def _set_to_others(m, x):
    """``copy_`` converts and broadcasts."""
    y = x + m.total * m.steps
    m.total.copy_(x.sum().to(torch.float64))
    m.steps.copy_(x[:1] * 3)
    return y, m.total


def _set_after_writes(m, x):
    """Its content from before is read, too."""
    y = m.total * 2, m.steps * 2
    m.total.add_(1).copy_(x[0])
    m.total.copy_(m.total + x.long())
    m.steps[:].copy_(x[0])
    return *y, m.total * 1


def _unread(m, x):
    m.total += x
    return x * 2


def _nested(m, x, position):
    m.cache[:2, position : position + 2, 0] = x
    m.cache[0:1][:, 3:5, 1::2] = x[0].unsqueeze(-1)
    return m.cache[:, 1] * 2


def _nested_constant(m, x):
    return _nested(m, x, 4)


def _reset(m, x):
    y = m.cache + x
    m.cache.zero_()
    m.cache[1].fill_(2.0)
    return y


def _viewed(m, x):
    m.total.view(2, 6)[:, 1] = x
    return m.total.view(6, 2) * 1


def _scattered(m, x, position):
    m.total.scatter_add_(0, position, x)
    return m.total * 2


def _masked(m, x):
    m.total[x > 0] = 1.0
    return m.total * 2


def _chained(m, x, position):
    m.a[position] = x
    m.b[position] = m.a.sum() + x
    return m.b * 1


_PLACE = Argument((CALL,), lambda s, g: torch.randperm(8, generator=g)[: s[0]])

SAMPLES = [
    _state("state_counter", _counter, integers(CALL), count=torch.tensor(3)),
    _state(
        "state_counter_int32", _counter, integers(CALL, dtype=torch.int32), count=torch.tensor([3], dtype=torch.int32)
    ),
    _state("state_read_before", _counter_read_before, rand(CALL, 2), count=torch.zeros(2)),
    _state("state_bools", _flags, rand(CALL, 6), seen=torch.tensor([True, False, False, False])),
    _state("state_index_put", _index_put, rand(2, CALL, 3), _PLACE, cache=torch.rand(2, 8, 3)),
    _state("state_index_put_integers", _doubled, integers(2, CALL, 3), _PLACE, cache=torch.ones(2, 8, 3).long()),
    _state("state_index_copy", _index_copy, rand(2, CALL, 3), _PLACE, cache=torch.rand(2, 8, 3)),
    Sample(
        "quantized_cache", new(QuantizedCache), rand(1, CALL, 2, 18), _PLACE, rtol=0.02, atol=0.02, config=ANY_OPERATOR
    ),
    _state("state_not_persistent", _index_copy, rand(2, CALL, 3), _PLACE, persistent=False, cache=torch.rand(2, 8, 3)),
    _state("state_large", _index_copy, rand(2, CALL, 300), _PLACE, cache=torch.rand(2, 8, 300)),
    _state("state_slice", _slice, rand(3, 4), cache=torch.rand(2, 7, 4)),
    _state("state_nested", _nested_constant, rand(2, 2), cache=torch.rand(2, 7, 4)),
    _state("state_reset", _reset, rand(4), cache=torch.rand(2, 4)),
    _state("state_written_twice", _written_twice, rand(2, CALL, 3), _PLACE, cache=torch.rand(2, 8, 3)),
    _state("state_read_later", _read_later, rand(2, CALL, 3), _PLACE, cache=torch.rand(2, 8, 3)),
    _state("state_previous", _previous, rand(3), last=torch.rand(3)),
    _state("state_shift", _shift, rand(CALL, 3), window=torch.rand(6, 3)),
    _state("state_swap", _swap, rand(3), a=torch.rand(3), b=torch.rand(3)),
    _state("state_crossed", _crossed, rand(CALL), _PLACE, a=torch.rand(8), b=torch.rand(8)),
    _state("state_returned", _returned, rand(3), total=torch.rand(3)),
    _state("state_returned_from_buffer", _returned_from_buffer, rand(3), total=torch.rand(3)),
    _state("state_set_to_constant", _set_to_constant, rand(3), total=torch.rand(3)),
    _state("state_set_to_others", _set_to_others, rand(3), total=torch.rand(2, 3), steps=torch.ones(3).long()),
    _state("state_set_after_writes", _set_after_writes, rand(2, 3), total=torch.rand(2, 3), steps=torch.ones(3).long()),
    _state("state_unread", _unread, rand(3), total=torch.rand(3)),
    _state("state_viewed", _viewed, rand(2), total=torch.rand(12)),
    _state("state_scattered", _scattered, rand(CALL), _PLACE, total=torch.rand(8)),
    _state("state_masked", _masked, rand(4), total=torch.rand(4)),
    _state("state_chained", _chained, rand(CALL), _PLACE, a=torch.rand(8), b=torch.rand(8)),
    _state("state_transposed", _returned, rand(3, 4), total=torch.rand(4, 3).t()),
    _state("state_transposed_copy", _flipped, rand(3, 4), total=torch.rand(4, 3).t()),
]
