# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Speech, vocoders and codecs of sound, and time series."""

import functools

from . import small
from .registry import BATCH, LENGTH, Architecture, Size

_WAVES = "data2vec-audio hubert sew sew-d unispeech unispeech-sat wav2vec2 wav2vec2-conformer wavlm"
_CONVOLUTIONS = {
    "conv_dim": [32, 32],
    "conv_stride": [4, 4],
    "conv_kernel": [8, 4],
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
_SEW = {"squeeze_factor": 2}
_SPECIAL = {"sew": _SEW, "sew-d": _SEW, "wav2vec2-conformer": {"vocab_size": small.VOCABULARY}}


def _wave(kind):
    import torch

    special = {**_CONVOLUTIONS, **_SPECIAL.get(kind, {})}
    return small.model(kind, "AutoModelForCTC", {"input_values": torch.randn(2, 1600)}, **special)


def _spectrogram(kind, auto, name, bins, length, **special):
    import torch

    return small.model(kind, auto, {name: torch.randn(2, length, bins)}, **special)


def _whisper():
    import torch

    inputs = {"input_features": torch.randn(2, 80, 64), "decoder_input_ids": torch.randint(3, 128, (2, 8))}
    return small.model(
        "whisper",
        "AutoModelForSpeechSeq2Seq",
        inputs,
        fixed={"use_cache": False},
        max_source_positions=32,
        max_target_positions=32,
    )


def _speech_to_text():
    import torch

    inputs = {"input_features": torch.randn(2, 64, 80), "decoder_input_ids": torch.randint(3, 128, (2, 8))}
    return small.model(
        "speech_to_text", "AutoModelForSpeechSeq2Seq", inputs, fixed={"use_cache": False}, max_source_positions=64
    )


def _moonshine():
    import torch

    inputs = {"input_values": torch.randn(2, 4000), "decoder_input_ids": torch.randint(3, 128, (2, 8))}
    return small.model("moonshine", "AutoModelForSpeechSeq2Seq", inputs, fixed={"use_cache": False})


def _hifigan(type_):
    import torch
    import transformers

    config = getattr(transformers, f"{type_}Config")(upsample_initial_channel=32, model_in_dim=80)
    from .modules import Positional

    return Positional(getattr(transformers, type_)(config).eval()), (torch.randn(2, 12, 80),)


def _univnet():
    import torch

    inputs = {"input_features": torch.randn(2, 12, 100), "noise_sequence": torch.randn(2, 12, 64)}
    return small.model("univnet", "UnivNetModel", inputs)


def _codec(kind, auto, **special):
    import torch

    return small.model(kind, auto, {"input_values": torch.randn(1, 1, 1920)}, **special)


def _torchaudio(make, *shape):
    import torch
    import torchaudio

    return make(torchaudio.models), (torch.randn(*shape),)


def _conformer():
    import torch
    from torchaudio.models import Conformer

    from .modules import Positional

    module = Conformer(input_dim=80, num_heads=4, ffn_dim=128, num_layers=2, depthwise_conv_kernel_size=15)
    return Positional(module.eval()), (torch.randn(2, 24, 80), torch.tensor([24, 20]))


def _vocos(padding: str | None):
    import torch
    from torch import nn
    from vocos.heads import ISTFTHead
    from vocos.models import VocosBackbone

    backbone = VocosBackbone(input_channels=80, dim=64, intermediate_dim=128, num_layers=2)
    if padding is None:
        return backbone.eval(), (torch.randn(2, 80, 24),)
    return nn.Sequential(backbone, ISTFTHead(64, 64, 16, padding)).eval(), (torch.randn(2, 80, 24),)


def _snac():
    import torch
    from snac import SNAC

    from .modules import Positional

    module = SNAC(
        encoder_dim=8,
        encoder_rates=[2, 4],
        decoder_dim=32,
        decoder_rates=[4, 2],
        vq_strides=[2, 1],
        noise=False,
        attn_window_size=None,
        codebook_size=32,
    )
    return Positional(module.eval()), (torch.randn(1, 1, 640),)


def _series(kind, auto, length, channels, **special):
    import torch

    name = {"context_length": length, "prediction_length": 8, "num_input_channels": channels}
    return small.model(kind, auto, {"past_values": torch.randn(2, length, channels)}, **name, **special)


def _forecaster(kind):
    import torch

    lags = [1, 2, 3]
    past, future = 24 + max(lags), 8
    inputs = {
        "past_values": torch.randn(2, past),
        "past_time_features": torch.randn(2, past, 2),
        "past_observed_mask": torch.ones(2, past),
        "future_values": torch.randn(2, future),
        "future_time_features": torch.randn(2, future, 2),
    }
    types = {"autoformer": "AutoformerModel", "informer": "InformerModel"}
    return small.model(
        kind,
        types.get(kind, "TimeSeriesTransformerModel"),
        inputs,
        fixed={"use_cache": False},
        context_length=24,
        prediction_length=future,
        lags_sequence=lags,
        num_time_features=2,
    )


def _entry(name, family, dynamic, build, *arguments, **named) -> Architecture:
    return Architecture(name, family, functools.partial(build, *arguments, **named), dynamic)


_SOUND = {0: {0: BATCH, 1: Size("samples", 16, 160)}}
_FRAMES = {0: {0: BATCH, 1: Size("frames", 24)}}
_BATCH_ONLY = {0: {0: BATCH}}
_TWO = {0: {0: BATCH}, 1: {0: BATCH}}

ARCHITECTURES = [
    *(_entry(f"transformers/{kind}", "speech", _SOUND, _wave, kind) for kind in _WAVES.split()),
    _entry(
        "transformers/wav2vec2-bert",
        "speech",
        _FRAMES,
        _spectrogram,
        "wav2vec2-bert",
        "AutoModelForCTC",
        "input_features",
        160,
        24,
        vocab_size=small.VOCABULARY,
    ),
    _entry(
        "transformers/audio-spectrogram-transformer",
        "speech",
        _BATCH_ONLY,
        _spectrogram,
        "audio-spectrogram-transformer",
        "AutoModelForAudioClassification",
        "input_values",
        64,
        64,
        max_length=64,
        num_mel_bins=64,
    ),
    _entry("transformers/whisper", "speech", {0: {0: BATCH}, 1: {0: BATCH, 1: LENGTH}}, _whisper),
    _entry("transformers/speech_to_text", "speech", _TWO, _speech_to_text),
    _entry("transformers/moonshine", "speech", _TWO, _moonshine),
    _entry("torchaudio/conformer", "speech", _TWO, _conformer),
    _entry(
        "torchaudio/conv_tasnet",
        "speech",
        _BATCH_ONLY,
        _torchaudio,
        lambda m: m.ConvTasNet(
            enc_num_feats=32, msk_num_feats=16, msk_num_hidden_feats=32, msk_num_layers=3, msk_num_stacks=2
        ).eval(),
        2,
        1,
        800,
    ),
    _entry(
        "torchaudio/deepspeech",
        "speech",
        {0: {0: BATCH, 2: Size("frames", 24)}},
        _torchaudio,
        lambda m: m.DeepSpeech(n_feature=32, n_hidden=64).eval(),
        2,
        1,
        12,
        32,
    ),
    _entry(
        "torchaudio/wav2letter",
        "speech",
        _BATCH_ONLY,
        _torchaudio,
        lambda m: m.Wav2Letter(input_type="mfcc", num_features=13).eval(),
        2,
        13,
        64,
    ),
    _entry(
        "torchaudio/wav2vec2",
        "speech",
        _BATCH_ONLY,
        _torchaudio,
        lambda m: _encoder_of(
            m.wav2vec2_model(
                "group_norm", [(32, 10, 5), (32, 3, 2)], False, 64, 0.0, 16, 4, 2, 4, 0.0, 128, 0.0, 0.0, False, 0.0, 32
            )
        ),
        2,
        1600,
    ),
    _entry("transformers/speecht5_hifigan", "vocoders and codecs", _FRAMES, _hifigan, "SpeechT5HifiGan"),
    _entry(
        "transformers/fastspeech2_conformer_hifigan",
        "vocoders and codecs",
        _FRAMES,
        _hifigan,
        "FastSpeech2ConformerHifiGan",
    ),
    _entry("transformers/univnet", "vocoders and codecs", {}, _univnet),
    _entry(
        "transformers/encodec",
        "vocoders and codecs",
        {},
        _codec,
        "encodec",
        "EncodecModel",
        num_filters=8,
        hidden_size=32,
        codebook_dim=32,
        codebook_size=64,
    ),
    _entry(
        "transformers/dac",
        "vocoders and codecs",
        {},
        _codec,
        "dac",
        "DacModel",
        encoder_hidden_size=8,
        decoder_hidden_size=64,
        downsampling_ratios=[2, 4],
        upsampling_ratios=[4, 2],
        codebook_size=64,
        n_codebooks=3,
        hidden_size=32,
    ),
    _entry("vocos/backbone", "vocoders and codecs", {0: {0: BATCH, 2: Size("frames", 24)}}, _vocos, None),
    _entry("vocos/istft", "vocoders and codecs", {0: {0: BATCH}}, _vocos, "center"),
    _entry("vocos/istft-same", "vocoders and codecs", {0: {0: BATCH}}, _vocos, "same"),
    _entry("snac/snac", "vocoders and codecs", {}, _snac),
    _entry(
        "torchaudio/hdemucs",
        "speech",
        {},
        _torchaudio,
        lambda m: m.HDemucs(["drums", "bass"], channels=8, nfft=1024, depth=5).eval(),
        1,
        2,
        22050,
    ),
    _entry(
        "transformers/patchtst",
        "time series",
        _BATCH_ONLY,
        _series,
        "patchtst",
        "PatchTSTForPrediction",
        32,
        3,
        patch_length=8,
        patch_stride=8,
    ),
    _entry(
        "transformers/patchtsmixer",
        "time series",
        _BATCH_ONLY,
        _series,
        "patchtsmixer",
        "PatchTSMixerForPrediction",
        32,
        3,
    ),
    *(
        _entry(f"transformers/{kind}", "time series", {i: {0: BATCH} for i in range(5)}, _forecaster, kind)
        for kind in ("autoformer", "informer", "time_series_transformer")
    ),
]


def _encoder_of(model):
    from .modules import Positional

    return Positional(model.eval())
