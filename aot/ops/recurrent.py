# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Recurrent networks, kept whole: for each direction of each layer one Linear for all steps, one Recurrent."""

from ...serialization import schema
from ...serialization.schema import BinaryKind, DType, RecurrentKind
from .registry import op


def _state(c, x, i):
    """Row ``i`` of the initial state, [layers * directions, B, size]."""
    shape = (1, *x.shape[1:])
    row = c.node(schema.Slice(axis=0, start=i, size=1, step=1), x, shape=shape)
    return c.reshape(row, shape[1:])


def _direction(c, kind, x, weights, biases, projection, state, reverse):
    """Results of Recurrent for x [T, B, I]."""
    bias, bias_hidden = biases
    if bias is not None and kind != RecurrentKind.Gru:
        bias = c.node(schema.Binary(kind=BinaryKind.Add), bias, bias_hidden, shape=bias.shape)
        bias_hidden = None
    input_weight, weight = weights
    gates = c.node(schema.Linear(), x, input_weight, bias, shape=(*x.shape[:-1], input_weight.shape[0]))
    batch, size = x.shape[1], weight.shape[1]
    shapes = [(*x.shape[:-1], size), (batch, size)]
    operands = [gates, weight, bias_hidden, state[0]]
    if kind == RecurrentKind.Lstm:
        hidden = size if projection is None else projection.shape[1]
        shapes.append((batch, hidden))
        operands += [state[1], projection]
    attributes = schema.Recurrent(kind=kind, reverse=reverse)
    return c.multi_node(attributes, *operands, outputs=[(DType.Float32, s) for s in shapes])


def _network(c, kind, x, states, params, has_biases, num_layers, train, dropout, bidirectional, batch_first):
    """[y, h_n] and, for Lstm, c_n."""
    c.require(not train or not dropout, "a recurrent network with dropout is for training only")
    c.require(x.rank == 3, f"the input has rank {x.rank}, not 3: it needs a batch axis")
    directions = 2 if bidirectional else 1
    count = len(params) // (num_layers * directions)
    x = c.transpose(x, (1, 0, 2)) if batch_first else x
    last = []  # of each direction of each layer
    for layer in range(num_layers):
        results = []
        for direction in range(directions):
            i = layer * directions + direction
            own = params[i * count : (i + 1) * count]
            biases = own[2:4] if has_biases else (None, None)
            projection = own[-1] if count in (3, 5) else None
            state = [_state(c, s, i) for s in states]
            results.append(_direction(c, kind, x, own[:2], biases, projection, state, reverse=direction == 1))
        last += [r[1:] for r in results]
        x = _concat(c, [r[0] for r in results], 2)
    y = c.transpose(x, (1, 0, 2)) if batch_first else x
    stacked = []
    for parts in zip(*last, strict=True):
        stacked.append(_concat(c, [c.reshape(p, (1, *p.shape)) for p in parts], 0))
    return y, *stacked


def _concat(c, parts, axis):
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    shape[axis] = sum(p.shape[axis] for p in parts)
    return c.node(schema.Concat(axis=axis), *parts, shape=shape)


@op("aten.lstm.input", preserve=True)
def lstm(c, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    return _network(
        c, RecurrentKind.Lstm, input, hx, params, has_biases, num_layers, train, dropout, bidirectional, batch_first
    )


def _with_one_state(kind: RecurrentKind, target: str) -> None:
    @op(target, preserve=True)
    def lower(c, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        return _network(
            c, kind, input, [hx], params, has_biases, num_layers, train, dropout, bidirectional, batch_first
        )


_with_one_state(RecurrentKind.Gru, "aten.gru.input")
_with_one_state(RecurrentKind.Tanh, "aten.rnn_tanh.input")
_with_one_state(RecurrentKind.Relu, "aten.rnn_relu.input")


def _cell(c, kind, x, hx, weights, biases):
    """One step, for x [B, I]; the results without the sequence."""
    c.require(x.rank == 2, f"the input has rank {x.rank}, not 2: it needs a batch axis")
    sequence = c.reshape(x, (1, *x.shape))
    return _direction(c, kind, sequence, weights, biases, None, hx, reverse=False)[1:]


@op("aten.lstm_cell.default", preserve=True)
def lstm_cell(c, input, hx, w_ih, w_hh, b_ih, b_hh):
    return _cell(c, RecurrentKind.Lstm, input, hx, (w_ih, w_hh), (b_ih, b_hh))


def _cell_with_one_state(kind: RecurrentKind, target: str) -> None:
    @op(target, preserve=True)
    def lower(c, input, hx, w_ih, w_hh, b_ih, b_hh):
        return _cell(c, kind, input, [hx], (w_ih, w_hh), (b_ih, b_hh))[0]


_cell_with_one_state(RecurrentKind.Gru, "aten.gru_cell.default")
_cell_with_one_state(RecurrentKind.Tanh, "aten.rnn_tanh_cell.default")
_cell_with_one_state(RecurrentKind.Relu, "aten.rnn_relu_cell.default")
