# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Models with complex numbers inside: one delegate call, nothing outside, and what eager PyTorch computes."""

import math

import harness
import pytest
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import nn
from torch.export import Dim, export

pytestmark = harness.needs_runtime


class WhisperWithFrontEnd(nn.Module):
    """From samples: the log-mel spectrogram as Whisper computes it, and its encoder."""

    def __init__(self, mels=20, frames=50):
        super().__init__()
        from transformers import WhisperConfig, WhisperModel

        config = WhisperConfig(
            num_mel_bins=mels,
            d_model=32,
            encoder_layers=1,
            encoder_attention_heads=2,
            encoder_ffn_dim=64,
            max_source_positions=frames // 2,
            vocab_size=100,
            decoder_layers=1,
            decoder_attention_heads=2,
            decoder_ffn_dim=64,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
        )
        self.encoder = WhisperModel(config).encoder
        self.register_buffer("window", torch.hann_window(400))
        self.register_buffer("filters", torch.rand(mels, 201))

    def forward(self, samples):
        stft = torch.stft(samples, 400, 160, window=self.window, return_complex=True)
        power = stft[..., :-1].abs() ** 2
        log = torch.clamp(self.filters @ power, min=1e-10).log10()
        log = torch.maximum(log, log.amax(dim=(1, 2), keepdim=True) - 8.0)
        return self.encoder((log + 4.0) / 4.0).last_hidden_state


class Separator(nn.Module):
    """As Demucs: the spectrum as channels, convolutions on it, and back to samples."""

    def __init__(self, size=64, sources=2):
        super().__init__()
        self.size, self.step, self.sources = size, size // 4, sources
        self.register_buffer("window", torch.hann_window(size))
        self.encode = nn.Conv2d(4, 8, (8, 1), (4, 1), (2, 0))
        self.decode = nn.ConvTranspose2d(8, 4 * sources, (8, 1), (4, 1), (2, 0))

    def forward(self, mix):
        batch, channels, length = mix.shape
        frames = math.ceil(length / self.step)
        pad = self.step // 2 * 3
        x = F.pad(mix, (pad, pad + frames * self.step - length), mode="reflect").reshape(batch * channels, -1)
        z = torch.stft(x, self.size, self.step, window=self.window, normalized=True, return_complex=True, center=True)
        z = z[:, :-1, 2 : 2 + frames].reshape(batch, channels, self.size // 2, frames)
        cac = torch.view_as_real(z).permute(0, 1, 4, 2, 3).reshape(batch, channels * 2, self.size // 2, frames)
        mask = self.decode(F.gelu(self.encode(cac)))
        out = mask.view(batch, self.sources, channels, 2, self.size // 2, frames).permute(0, 1, 2, 4, 5, 3)
        z = torch.view_as_complex(out.contiguous())
        z = F.pad(F.pad(z, (0, 0, 0, 1)), (2, 2))
        z = z.reshape(-1, self.size // 2 + 1, frames + 4)
        y = torch.istft(z, self.size, self.step, window=self.window, normalized=True, center=True)
        return y.view(batch, self.sources, channels, -1)[..., pad : pad + length]


class Vocoder(nn.Module):
    """Ends in an inverse STFT of magnitudes and phases, as Vocos does."""

    def __init__(self, size=64, step=16):
        super().__init__()
        self.size, self.step = size, step
        self.body = nn.Conv1d(20, size + 2, 7, padding=3)
        self.register_buffer("window", torch.hann_window(size))

    def forward(self, mel):
        magnitude, phase = self.body(mel).chunk(2, dim=1)
        magnitude = torch.exp(magnitude).clip(max=1e2)
        spectrum = magnitude * (torch.cos(phase) + 1j * torch.sin(phase))
        return torch.istft(spectrum, self.size, self.step, window=self.window, center=True)


class FourierOperator(nn.Module):
    """Two layers of a Fourier neural operator."""

    def __init__(self, width=6, modes=4):
        super().__init__()
        self.modes = modes
        self.lift, self.project = nn.Conv2d(1, width, 1), nn.Conv2d(width, 1, 1)
        self.skips = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(2))
        self.weights = nn.ParameterList(
            torch.randn(2, width, width, modes, modes, dtype=torch.complex64) / width for _ in range(2)
        )

    def spectral(self, x, weight):
        m = self.modes
        y = torch.fft.rfft2(x)
        out = torch.zeros_like(y)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", y[:, :, :m, :m], weight[0])
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", y[:, :, -m:, :m], weight[1])
        return torch.fft.irfft2(out, s=x.shape[-2:])

    def forward(self, x):
        x = self.lift(x)
        for weight, skip in zip(self.weights, self.skips, strict=True):
            x = F.gelu(self.spectral(x, weight) + skip(x))
        return self.project(x)


class Attention(nn.Module):
    """Self-attention with rotary embeddings of complex numbers, as in Llama's first code."""

    def __init__(self, heads=2, size=8, length=32):
        super().__init__()
        self.heads, self.size = heads, size
        self.qkv = nn.Linear(heads * size, 3 * heads * size)
        angles = torch.outer(torch.arange(length).float(), 10000 ** (-torch.arange(0, size, 2).float() / size))
        self.register_buffer("freqs_cis", torch.polar(torch.ones_like(angles), angles))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, self.size).unbind(2)

        def turned(y):
            z = torch.view_as_complex(y.float().reshape(*y.shape[:-1], -1, 2))
            return torch.view_as_real(z * self.freqs_cis[:length].view(1, length, 1, -1)).flatten(3).type_as(y)

        q, k, v = turned(q).transpose(1, 2), turned(k).transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).flatten(2)


class StateSpace(nn.Module):
    """A recurrence of complex states, step by step, as S4 and the first Mamba have it."""

    def __init__(self, channels=4, states=3):
        super().__init__()
        self.a = nn.Parameter(
            torch.view_as_real(torch.complex(-torch.rand(channels, states), torch.rand(channels, states)))
        )
        self.b = nn.Parameter(torch.randn(channels, states, 2))
        self.c = nn.Parameter(torch.randn(channels, states, 2))

    def forward(self, x):
        a, b, c = map(torch.view_as_complex, (self.a, self.b, self.c))
        decay = torch.exp(a * 0.1)
        state = torch.zeros(x.shape[0], *a.shape, dtype=torch.complex64)
        results = []
        for t in range(x.shape[1]):
            state = decay * state + b * x[:, t, :, None]
            results.append((state * c).sum(-1).real * 2)
        return torch.stack(results, 1)


_BATCH = Dim("batch", max=4)
#: The module, an input, which of its axes may change, and shapes that the program is called with.
MODELS = {
    "whisper": (WhisperWithFrontEnd, (2, 8000), {0: _BATCH}, [(1, 8000), (3, 8000)]),
    "separator": (Separator, (2, 2, 1000), {0: _BATCH}, [(1, 2, 1000), (4, 2, 1000)]),
    "vocoder": (Vocoder, (2, 20, 12), {0: _BATCH, 2: Dim("frames", min=4, max=30)}, [(1, 20, 5), (3, 20, 30)]),
    "fourier_operator": (FourierOperator, (2, 1, 16, 15), {0: _BATCH}, [(1, 1, 16, 15), (3, 1, 16, 15)]),
    "rotary_embedding": (Attention, (2, 9, 16), {0: _BATCH, 1: Dim("length", max=32)}, [(1, 1, 16), (3, 32, 16)]),
    "state_space": (StateSpace, (2, 6, 4), {0: _BATCH}, [(1, 6, 4), (4, 6, 4)]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("is_dynamic", (False, True), ids=("static", "dynamic"))
@pytest.mark.parametrize("name", MODELS)
def test_is_one_delegate_call(name, is_dynamic):
    make, shape, axes, calls = MODELS[name]
    torch.manual_seed(0)
    module = make().eval()
    partitioner = EtXnnpackPartitioner(require_full_delegation=True)
    with torch.no_grad():
        exported = export(module, (torch.randn(shape),), dynamic_shapes=(axes,) if is_dynamic else None)
    program = to_edge_transform_and_lower(exported, partitioner=[partitioner]).to_executorch()
    method = harness.load_method(program.buffer)
    for size in [shape, *calls, shape] if is_dynamic else [shape]:
        x = torch.randn(size)
        with torch.no_grad():
            expected = module(x)
        (y,) = method.execute((x,))
        assert y.shape == expected.shape
        assert (y - expected).abs().max() <= 2e-5 * expected.abs().max()


def test_rotary_embedding_is_one_operator():
    """What is written with complex numbers becomes what is written with pairs of real ones."""
    module = Attention().eval()
    with torch.no_grad():
        lowered = harness.lower_exported(export(module, (torch.randn(2, 9, 16),)))
    (graph,) = lowered.optimized.values()
    assert [node.op for node in graph.nodes].count("RotaryEmbedding") == 2


@pytest.mark.parametrize(
    ("function", "shape", "reason"),
    [
        (torch.fft.rfft, (3, 8), "complex numbers leave the program"),
        (lambda x: torch.view_as_complex(x).asin().abs(), (3, 2), "no rule for this operator"),
        (lambda x: torch.linalg.inv(torch.view_as_complex(x)).abs(), (3, 3, 2), "no rule for this operator"),
    ],
)
def test_says_what_stays_outside(function, shape, reason):
    class Module(nn.Module):
        def forward(self, x):
            return function(x)

    lowered = harness.lower_exported(export(Module(), (torch.randn(shape),)))
    assert reason in str(lowered.report)


def test_says_that_complex_numbers_enter():
    class Module(nn.Module):
        def forward(self, x):
            return torch.fft.irfft(x)

    lowered = harness.lower_exported(export(Module(), (torch.randn(3, 5, dtype=torch.complex64),)))
    assert "complex numbers enter the program" in str(lowered.report)


#: Programs with complex results that ExecuTorch lowers and runs without us, if it does not check operators.
COMPLEX_RESULTS = {
    "mul": lambda z: z * z,
    "add": lambda z: z + z,
    "add_number": lambda z: z + 1.5,
    "cat": lambda z: torch.cat([z, z]),
    "clone": torch.clone,
    "reshape": lambda z: z.reshape(-1),
    "permute": lambda z: z.permute(1, 0),
    "slice": lambda z: z[1:],
    "sum": lambda z: z.sum(0),
    "bmm": lambda z: torch.bmm(z[None], z[None].transpose(1, 2)),
    "stack": lambda z: torch.stack([z, z]),
    "select": lambda z: z[1],
    "expand": lambda z: z.expand(2, 4, 5),
    "unsqueeze": lambda z: z[None],
    "repeat": lambda z: z.repeat(2, 1),
    "index": lambda z: z[torch.tensor([0, 2])],
    "split": lambda z: [part + part for part in z.split(2)],
    "conj": lambda z: z.conj().resolve_conj() * z,
    "rfft": lambda z: torch.fft.rfft(z.real),
    "branch": lambda z: torch.cond(z.real.sum() > 0, lambda z: z + z, lambda z: z * z, (z,)),
    "real_parts_inside": lambda z: (z * z.abs(), torch.fft.fft(z).abs(), (z * z).real),
}
_PASS_CHECKS = ("clone", "permute", "slice", "expand", "unsqueeze", "rfft")


@pytest.mark.parametrize(
    ("name", "checks"), [*((name, False) for name in COMPLEX_RESULTS), *((name, True) for name in _PASS_CHECKS)]
)
@pytest.mark.parametrize("is_dynamic", (False, True), ids=("static", "dynamic"))
def test_complex_results(name, checks, is_dynamic):
    """What is lowered and runs without us does so with us."""

    class Module(nn.Module):
        def forward(self, z):
            return COMPLEX_RESULTS[name](z)

    z = torch.randn(4, 5, dtype=torch.complex64)
    axes = ({0: Dim("rows", min=3, max=9)},) if is_dynamic and name not in ("expand", "split") else None
    lowered = harness.lower_exported(export(Module(), (z,), dynamic_shapes=axes), _check_ir_validity=checks)
    expected = Module()(z)
    results = harness.load_method(lowered.buffer).execute((z,))
    for y, e in zip(results, expected if isinstance(expected, (tuple, list)) else [expected], strict=True):
        torch.testing.assert_close(y, e, rtol=1e-4, atol=1e-4)
    reasons = {refusal.reason for refusal in lowered.report.refusals}
    assert any("complex numbers leave the program" in reason for reason in reasons) or name == "branch"


def test_complex_state():
    """A buffer of complex numbers stays with ExecuTorch."""

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(3, dtype=torch.complex64))

        def forward(self, z):
            self.total.add_(z)
            return torch.view_as_real(z * self.total)

    z = torch.randn(3, dtype=torch.complex64)
    lowered = harness.lower_exported(export(Module(), (z,)), _check_ir_validity=False)
    method = harness.load_method(lowered.buffer)
    eager = Module()
    for _ in range(3):
        torch.testing.assert_close(method.execute((z,))[0], eager(z))


def test_no_rule_for_some():
    """An operator that only some calls of have a rule stays as it is where the rule does not take it."""

    class Module(nn.Module):
        def forward(self, z):
            return z.prod(0).real, z.prod(1).real

    z = torch.randn(4, 5, dtype=torch.complex64)
    exported = export(Module(), (z,), dynamic_shapes=({0: Dim("rows", max=9)},))
    lowered = harness.lower_exported(exported, _check_ir_validity=False)
    assert lowered.outside.count("aten.prod.dim_int") == 2
    assert lowered.manager.to_executorch().buffer


_PARTS = (0.0, 1.0, -1.0, 2.5, 1e-40, -3e-39, 1e-30, 3e38, -3e38, 88.0)
#: What is computed of numbers of all magnitudes, and how eager PyTorch computes it in float64.
EXTREME = {
    "abs": torch.abs,
    "sgn": torch.sgn,
    "sqrt": torch.sqrt,
    "half": lambda z: z**0.5,
    "rsqrt": lambda z: torch.rsqrt(torch.where(z == 0, 1, z)),
    "reciprocal": torch.reciprocal,
    "over_zero": lambda z: z / 0j,
    "number_over_zero": lambda z: z / (z * 0j),
    "to_zero": lambda z: (z.sgn() * (z.real != 3e38)) ** 0j,
    "zero_to_tensor": lambda z: (z * 0) ** torch.complex(z.real.sign(), z.imag.sign().abs() + 1),
    "zero_to": lambda z: torch.pow(0, torch.complex(z.real.sign(), z.imag.sign().abs() + 1)),
    "zero_to_negative": lambda z: (z * 0) ** (-1 + 1j),
}


@pytest.mark.parametrize("name", EXTREME)
def test_numbers_of_all_magnitudes(name):
    class Module(nn.Module):
        def forward(self, x):
            y = EXTREME[name](torch.view_as_complex(x))
            return torch.view_as_real(y) if y.is_complex() else y

    x = torch.cartesian_prod(*[torch.tensor(_PARTS)] * 2).contiguous()
    lowered = harness.lower_exported(export(Module(), (x,)))
    method = harness.load_method(lowered.buffer)
    (y,) = method.execute((x,))
    torch.testing.assert_close(y, Module()(x.double()).float(), rtol=1e-4, atol=1e-44, equal_nan=True)


def test_size_beside_nan():
    """A number is infinite if one of its parts is."""

    class Module(nn.Module):
        def forward(self, x):
            z = torch.view_as_complex(x)
            return z.abs(), torch.linalg.vector_norm(z[:, None], dim=1)

    x = torch.tensor([[math.inf, math.nan], [math.nan, -math.inf], [1, math.nan], [math.nan, 0], [math.inf, 1]])
    lowered = harness.lower_exported(export(Module(), (x,)))
    method = harness.load_method(lowered.buffer)
    for y in method.execute((x,)):
        torch.testing.assert_close(y, torch.tensor([math.inf, math.inf, math.nan, math.nan, math.inf]), equal_nan=True)


def test_a_conjugated_buffer_stays_as_it_was():
    """The program that was exported keeps what is lazily conjugated."""

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("c", torch.randn(5, dtype=torch.complex64).conj())

        def forward(self, x):
            return torch.view_as_real(torch.view_as_complex(x) * self.c)

    exported = export(Module(), (torch.randn(5, 2),))
    assert harness.lower_exported(exported).outside == []
    (buffer,) = (node for node in exported.graph.nodes if node.name == "c" or node.name.endswith("_c"))
    assert exported.state_dict["c"].is_conj() and buffer.meta["val"].is_conj()
