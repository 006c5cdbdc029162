# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Samples of recurrent networks. Export fixes the number of steps."""

from torch import nn

from . import BATCH, Sample, new, rand


class Embedded(nn.Module):
    """Part of a larger model; only the last step is used."""

    def __init__(self):
        super().__init__()
        self.network = nn.LSTM(6, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.network(x)[0][:, -1])


class GivenState(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x, h, c):
        return self.network(x, (h, c))


def _given_state(**options):
    return GivenState(nn.LSTM(6, 5, **options))


def _of_each(name, cls, **options):
    def make(*args, **more):
        return new(cls, 6, *args, **options, **more)

    return [
        Sample(name, make(5), rand(7, BATCH, 6)),
        Sample(f"{name}_batch_first", make(5, batch_first=True), rand(BATCH, 4, 6)),
        Sample(f"{name}_no_bias", make(5, bias=False), rand(4, 2, 6)),
        Sample(f"{name}_unbatched", make(5), rand(4, 6)),
        Sample(f"{name}_one_step", make(5), rand(1, 2, 6)),
        Sample(f"{name}_wide", make(37), rand(3, 6, 6)),
        Sample(f"{name}_layers", make(5, num_layers=3, dropout=0.5), rand(4, 2, 6)),
        Sample(f"{name}_both_directions", make(5, num_layers=2, bidirectional=True), rand(4, BATCH, 6)),
    ]


SAMPLES = [
    *_of_each("lstm", nn.LSTM),
    *_of_each("gru", nn.GRU),
    *_of_each("rnn_tanh", nn.RNN),
    *_of_each("rnn_relu", nn.RNN, nonlinearity="relu"),
    Sample("lstm_projection", new(nn.LSTM, 6, 5, proj_size=3, num_layers=2, bidirectional=True), rand(4, BATCH, 6)),
    Sample("lstm_projection_no_bias", new(nn.LSTM, 6, 5, proj_size=3, bias=False), rand(4, 2, 6)),
    Sample("lstm_given_state", new(_given_state), rand(4, BATCH, 6), rand(1, BATCH, 5), rand(1, BATCH, 5)),
    Sample("lstm_given_state_projection", new(_given_state, proj_size=3), rand(4, 2, 6), rand(1, 2, 3), rand(1, 2, 5)),
    Sample("gru_given_state", new(nn.GRU, 6, 5, 2), rand(4, BATCH, 6), rand(2, BATCH, 5)),
    Sample("rnn_given_state", new(nn.RNN, 6, 5, 2), rand(4, BATCH, 6), rand(2, BATCH, 5)),
    Sample("lstm_large_gates", new(nn.LSTM, 6, 5), rand(4, 2, 6, low=-99, high=99)),
    Sample("lstm_in_model", new(Embedded), rand(BATCH, 4, 6)),
    Sample("lstm_cell", new(nn.LSTMCell, 6, 5), rand(BATCH, 6)),
    Sample("lstm_cell_no_bias", new(nn.LSTMCell, 6, 5, bias=False), rand(2, 6)),
    Sample("lstm_cell_unbatched", new(nn.LSTMCell, 6, 5), rand(6)),
    Sample("gru_cell", new(nn.GRUCell, 6, 5), rand(BATCH, 6)),
    Sample("gru_cell_given_state", new(nn.GRUCell, 6, 5), rand(BATCH, 6), rand(BATCH, 5)),
    Sample("rnn_tanh_cell", new(nn.RNNCell, 6, 5), rand(BATCH, 6)),
    Sample("rnn_relu_cell", new(nn.RNNCell, 6, 5, nonlinearity="relu"), rand(BATCH, 6)),
]
