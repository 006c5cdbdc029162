# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""More architectures at their published sizes, from the packages of ``test/zoo/requirements.txt``, with random weights.

They are what users bring beside the models of ``models.py``: mobile networks, blocks that wait to be re-parameterized,
transformers with windows and convolutions, segmentation, text, sound, recurrent networks and generators.
"""

import functools
import sys
from pathlib import Path

import torch
from models import Model, Output, image
from torch import nn

TIMM = {  # and the size of the image
    "convmixer_768_32": 224,
    "convnextv2_atto": 224,
    "davit_tiny": 224,
    "dpn68": 224,
    "eca_nfnet_l0": 224,
    "edgenext_small": 256,
    "efficientformer_l1": 224,
    "efficientvit_b0": 224,
    "fasternet_t0": 224,
    "fastvit_t8": 256,
    "focalnet_tiny_srf": 224,
    "gcvit_xxtiny": 224,
    "ghostnet_100": 224,
    "gmlp_s16_224": 224,
    "hiera_tiny_224": 224,
    "hrnet_w18_small": 224,
    "inception_next_tiny": 224,
    "inception_v3": 299,
    "lcnet_100": 224,
    "levit_256": 224,
    "mambaout_femto": 224,
    "maxvit_nano_rw_256": 256,
    "mixer_s32_224": 224,
    "mobilenetv4_conv_small": 224,
    "mobileone_s1": 224,
    "mobilevit_s": 256,
    "mvitv2_tiny": 224,
    "poolformer_s12": 224,
    "pvt_v2_b0": 224,
    "regnety_008": 224,
    "repvgg_a2": 224,
    "repvit_m1": 224,
    "res2net50_26w_4s": 224,
    "sequencer2d_s": 224,
    "shvit_s1": 224,
    "starnet_s1": 224,
    "swiftformer_xs": 224,
    "vgg11_bn": 224,
    "xception41": 299,
    "xcit_tiny_12_p16_224": 224,
}
TORCHVISION = ("densenet121", "efficientnet_b0", "resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "swin_v2_t")


def prepare() -> None:
    """Makes torchvision importable beside a PyTorch for CPUs, if it is installed; timm and transformers import it."""
    folder = str(Path(__file__).resolve().parent.parent / "test" / "zoo")
    if folder not in sys.path:
        sys.path.append(folder)
    import libraries

    libraries.prepare()


def _timm(name: str) -> nn.Module:
    import timm

    return timm.create_model(name, pretrained=False, exportable=True)


def _torchvision(name: str, **options) -> nn.Module:
    from torchvision.models import get_model

    return get_model(name, weights=None, **options)


class Segmented(nn.Module):
    """[1, 3, H, W] -> [1, classes, H, W], of what torchvision gives."""

    def __init__(self, name: str):
        super().__init__()
        self.model = _torchvision(name, weights_backbone=None)

    def forward(self, x):
        return self.model(x)["out"]


def deberta() -> nn.Module:
    from transformers import DebertaV2Config, DebertaV2Model

    config = DebertaV2Config(
        vocab_size=30000,
        hidden_size=768,
        intermediate_size=3072,
        num_hidden_layers=6,
        num_attention_heads=12,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
    )
    return Output(DebertaV2Model(config), ("input_ids",))


def wav2vec2() -> nn.Module:
    from transformers import Wav2Vec2Config, Wav2Vec2Model

    return Output(Wav2Vec2Model(Wav2Vec2Config()), ("input_values",))


def swin2sr() -> nn.Module:
    from transformers import Swin2SRConfig, Swin2SRForImageSuperResolution

    config = Swin2SRConfig(embed_dim=60, depths=[6] * 4, num_heads=[6] * 4, upsampler="pixelshuffledirect")
    return Output(Swin2SRForImageSuperResolution(config), ("pixel_values",), "reconstruction")


def segformer() -> nn.Module:
    from transformers import SegformerConfig, SegformerForSemanticSegmentation

    return Output(SegformerForSemanticSegmentation(SegformerConfig(num_labels=150)), ("pixel_values",), "logits")


class Recurrent(nn.Module):
    """Two layers, [1, steps, features] -> [1, steps, hidden]."""

    def __init__(self, network: type[nn.RNNBase], *sizes: int, **options):
        super().__init__()
        self.network = network(*sizes, num_layers=2, batch_first=True, **options)

    def forward(self, x):
        return self.network(x)[0]


def generator() -> nn.Module:
    """That of DCGAN, from a vector of 100 numbers to an image of 64 x 64."""
    layers, channels = [], (100, 512, 256, 128, 64)
    for i, (inputs, outputs) in enumerate(zip(channels, channels[1:], strict=False)):
        layers += [
            nn.ConvTranspose2d(inputs, outputs, 4, *((2, 1) if i else (1, 0))),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers, nn.ConvTranspose2d(channels[-1], 3, 4, 2, 1), nn.Tanh())


PUBLISHED = [
    *(
        Model(name, functools.partial(_timm, name), functools.partial(image, size), f"{size} x {size}")
        for name, size in TIMM.items()
    ),
    *(Model(name, functools.partial(_torchvision, name), image, "224 x 224") for name in TORCHVISION),
    Model(
        "deeplabv3_mobilenet_v3_large",
        functools.partial(Segmented, "deeplabv3_mobilenet_v3_large"),
        lambda: image(256),
        "256 x 256",
    ),
    Model("segformer_b0", segformer, lambda: image(256), "256 x 256"),
    Model("swin2sr", swin2sr, lambda: image(64), "64 x 64 to 128 x 128"),
    Model("deberta_v3_small", deberta, lambda: (torch.randint(5, 30000, (1, 128)),), "128 tokens"),
    Model("wav2vec2_base", wav2vec2, lambda: (torch.randn(1, 16000),), "1 second"),
    Model("lstm", lambda: Recurrent(nn.LSTM, 128, 256), lambda: (torch.rand(1, 100, 128),), "100 steps of 256"),
    Model(
        "gru",
        lambda: Recurrent(nn.GRU, 80, 128, bidirectional=True),
        lambda: (torch.rand(1, 100, 80),),
        "100 steps of 128, both ways",
    ),
    Model("dcgan", generator, lambda: (torch.rand(1, 100, 1, 1),), "to 64 x 64"),
]
