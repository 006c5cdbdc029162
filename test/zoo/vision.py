# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Vision: timm, torchvision, and what transformers has for images and videos."""

import functools

from . import small
from .registry import BATCH, Architecture, Size

# A small model of each file of timm. There is none yet of csatv2, deepseek_vit, gemma4_vit, inception_resnet_v2,
# inception_v4, naflexvit, nasnet, pnasnet and qwen3_vit.
_TIMM = """mobileone_s0 convmixer_768_32 test_convnext cpubone_nano cs3darknet_focus_s cspnext_tiny davit_tiny
densenet121 dla34 dpn48b edgenext_xx_small tinynet_e efficientvim_m1 efficientvit_b0 fasternet_t0
fastvit_t8 focalnet_tiny_srf ghostnet_050 hardcorenas_b hgnetv2_b0 sam2_hiera_tiny hrnet_w18_small
iformer_t inception_next_atto inception_v3 lcnetv2_small lowformer_b0 test_mambaout poolformerv2_s12
lcnet_035 mobilenetv5_base mobilevit_xxs nextvit_small test_nfnet pvt_v2_b0 rdnet_tiny regnetx_002
repghostnet_050 repvit_m1 res2net50_14w_8s resnest14d resnet10t resnetv2_18 rexnet_100 selecsls42
legacy_seresnet18 shvit_s1 skresnet18 starnet_s050 tiny_vit_5m_224 tresnet_m vgg11 vovnet39a
legacy_xception xception41p"""
_TIMM_OF_ONE_SIZE = """beit_base_patch16_224 eca_botnext26ts_256 cait_xxs24_224 coat_tiny convit_tiny crossvit_tiny_240
deit_tiny_patch16_224 efficientformer_l1 efficientformerv2_s0 efficientvit_m0 eva02_tiny_patch14_224
gcvit_xxtiny hiera_tiny_224 levit_128s test_coatnet gmixer_12_224 mvitv2_tiny nest_tiny pit_ti_224
sequencer2d_s swiftformer_xs swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 swinv2_cr_tiny_224
tnt_s_legacy_patch16_224 twins_svt_small visformer_tiny test_vit vit_tiny_r_s16_p8_224
test_vit_relpos samvit_base_patch16_224 vitamin_small_224 volo_d1_224 xcit_nano_12_p8_224"""
_CLASSIFIERS = """alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet inception_v3 maxvit_t
mnasnet0_5 mobilenet_v2 mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnext50_32x4d
shufflenet_v2_x0_5 squeezenet1_1 swin_t swin_v2_t vgg11_bn vit_b_32 wide_resnet50_2"""
_SEGMENTATION = "deeplabv3_mobilenet_v3_large deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large"
_DETECTION = """fasterrcnn_mobilenet_v3_large_320_fpn fcos_resnet50_fpn maskrcnn_resnet50_fpn retinanet_resnet50_fpn
ssd300_vgg16 ssdlite320_mobilenet_v3_large"""
_VIDEO = "mc3_18 mvit_v2_s r2plus1d_18 r3d_18 s3d swin3d_t"
_FLOW = "raft_small"
#: The size of an image, where it is not 96; models whose size is part of their weights have their own.
_SIZES = {"inception_v3": 96, "maxvit_t": 224, "vit_b_32": 224, "ssd300_vgg16": 300, "raft_small": 128}

_HUGGING_FACE = """beit bit convnext convnextv2 cvt data2vec-vision deit dinov2 dinov2_with_registers efficientnet
focalnet hgnet_v2 hiera ijepa levit mobilenet_v1 mobilenet_v2 mobilevit mobilevitv2 poolformer pvt
pvt_v2 regnet resnet segformer swiftformer swin swinv2 vit vit_msn"""
_HUGGING_FACE_BASES = "aimv2_vision_model clip_vision_model dinov3_convnext dinov3_vit siglip_vision_model vitdet"
_HUGGING_FACE_DETECTION = "conditional_detr d_fine deformable_detr detr rt_detr rt_detr_v2 table-transformer yolos"
_HUGGING_FACE_OTHERS = {
    "depth_anything": "AutoModelForDepthEstimation",
    "dpt": "AutoModelForDepthEstimation",
    "glpn": "AutoModelForDepthEstimation",
    "mask2former": "AutoModelForUniversalSegmentation",
    "maskformer": "AutoModelForInstanceSegmentation",
    "superpoint": "AutoModelForKeypointDetection",
    "swin2sr": "AutoModelForImageToImage",
    "upernet": "AutoModelForSemanticSegmentation",
    "eomt": "AutoModelForUniversalSegmentation",
}
_HUGGING_FACE_VIDEO = "timesformer videomae vivit"
#: Shallow, narrow and of the usual form, where the sizes that all have do not say so.
_STAGES = {"depths": [1, 1, 1, 1]}
_SPECIAL = {
    "convnext": {**_STAGES, "hidden_sizes": [16, 24, 32, 40]},
    "convnextv2": {**_STAGES, "hidden_sizes": [16, 24, 32, 40]},
    "dinov3_convnext": {**_STAGES, "hidden_sizes": [16, 24, 32, 40]},
    "deformable_detr": {"use_timm_backbone": False, "use_pretrained_backbone": False},
    "deit": {"architectures": ["DeiTForImageClassification"]},
    "dpt": {
        "num_hidden_layers": 4,
        "backbone_out_indices": [0, 1, 2, 3],
        "neck_hidden_sizes": [16, 24, 32, 40],
        "image_size": 128,
    },
    "efficientnet": {"width_coefficient": 0.5, "depth_coefficient": 0.5, "hidden_dim": 640},
    "eomt": {"image_size": 128, "num_blocks": 1},
    "focalnet": {**_STAGES, "embed_dim": 16, "image_size": 64},
    "glpn": {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 40, 64], "decoder_hidden_size": 32},
    "hiera": {"depths": [1, 1, 1, 1], "embed_dim": 32, "image_size": [64, 64]},
    "ijepa": {"patch_size": 16},
    "levit": {
        "hidden_sizes": [32, 64, 96],
        "depths": [1, 1, 1],
        "num_attention_heads": [2, 4, 6],
        "architectures": ["LevitForImageClassification"],
    },
    "mobilevit": {"hidden_sizes": [32, 48, 64], "neck_hidden_sizes": [8, 16, 24, 32, 40, 48, 64]},
    "poolformer": {"depths": [1, 1, 1, 1], "hidden_sizes": [16, 32, 40, 48]},
    "regnet": {**_STAGES, "hidden_sizes": [16, 32, 48, 64], "groups_width": 8},
    "resnet": {**_STAGES, "hidden_sizes": [16, 32, 48, 64]},
    "segformer": {**_STAGES, "hidden_sizes": [16, 32, 40, 64], "decoder_hidden_size": 32},
    "swin": {"depths": [1, 1, 1], "embed_dim": 16, "num_heads": [1, 2, 2], "window_size": 4},
    "swinv2": {**_STAGES, "embed_dim": 16, "num_heads": [1, 2, 2, 4], "window_size": 4},
    "timesformer": {"num_frames": 4},
    "videomae": {"num_frames": 4},
    "vivit": {"num_frames": 4},
}


def _image(size: int, batch: int = 2):
    import torch

    return torch.randn(batch, 3, size, size)


def _timm(name):
    import timm

    model = timm.create_model(name, pretrained=False).eval()
    usual = model.pretrained_cfg["input_size"][1]
    return model, (_image(usual if name in _TIMM_OF_ONE_SIZE.split() else min(usual, 128)),)


def _torchvision(name):
    from torchvision.models import get_model

    from .modules import Positional

    model = get_model(name, weights=None, **({"weights_backbone": None} if name in _SEGMENTATION else {})).eval()
    return Positional(model), (_image(_SIZES.get(name, 96)),)


class _Images:
    """What torchvision's detectors take: a list of images."""

    def __new__(cls, model):
        from torch import nn

        from .modules import tensors

        class Images(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, image):
                return tuple(t for found in self.model([image]) for t in tensors(found))

        return Images()


def _detector(name):
    from torchvision.models import get_model

    model = get_model(name, weights=None, weights_backbone=None).eval()
    return _Images(model), (_image(_SIZES.get(name, 160), 1)[0],)


def _video(name):
    import torch
    from torchvision.models import get_model

    size = 224 if name in ("mvit_v2_s", "s3d") else 112
    return get_model(name, weights=None).eval(), (torch.randn(2, 3, 16, size, size),)


def _flow(name):
    from torchvision.models import get_model

    from .modules import Positional

    return Positional(get_model(name, weights=None).eval(), num_flow_updates=2), (_image(128, 1), _image(128, 1))


def _transformers(name, auto, size=64):
    inputs = {"pixel_values": _image(size)}
    return small.model(name, auto, inputs, **_SPECIAL.get(name, {}))


def _transformers_video(name):
    import torch

    inputs = {"pixel_values": torch.randn(2, 4, 3, 64, 64)}
    return small.model(name, "AutoModelForVideoClassification", inputs, **_SPECIAL.get(name, {}))


def _all(package, names, family, build, dynamic) -> list[Architecture]:
    return [
        Architecture(f"{package}/{name}", family, functools.partial(build, name), dynamic) for name in names.split()
    ]


_FIXED = {0: {0: BATCH}}
_SIDES = {2: Size("height", 6, 32), 3: Size("width", 6, 32)}
_ANY_SIZE = {0: {0: BATCH, **_SIDES}}
_OF_ONE_SIZE = "maxvit_t vit_b_32"

ARCHITECTURES = [
    *_all("timm", _TIMM, "timm", _timm, _ANY_SIZE),
    *_all("timm", _TIMM_OF_ONE_SIZE, "timm", _timm, _FIXED),
    *(
        a
        for name in _CLASSIFIERS.split()
        for a in _all("torchvision", name, "torchvision", _torchvision, _FIXED if name in _OF_ONE_SIZE else _ANY_SIZE)
    ),
    *_all("torchvision", _SEGMENTATION, "torchvision segmentation", _torchvision, _ANY_SIZE),
    *_all("torchvision", _DETECTION, "torchvision detection", _detector, {}),
    *_all("torchvision", _VIDEO, "torchvision video and optical flow", _video, _FIXED),
    *_all("torchvision", _FLOW, "torchvision video and optical flow", _flow, {0: {0: BATCH}, 1: {0: BATCH}}),
    *_all(
        "transformers",
        _HUGGING_FACE,
        "images",
        functools.partial(_transformers, auto="AutoModelForImageClassification"),
        _FIXED,
    ),
    *_all("transformers", _HUGGING_FACE_BASES, "images", functools.partial(_transformers, auto="AutoModel"), _FIXED),
    *_all(
        "transformers",
        _HUGGING_FACE_DETECTION,
        "detection, depth and segmentation",
        functools.partial(_transformers, auto="AutoModelForObjectDetection", size=128),
        _FIXED,
    ),
    *(
        a
        for name, auto in _HUGGING_FACE_OTHERS.items()
        for a in _all(
            "transformers",
            name,
            "detection, depth and segmentation",
            functools.partial(_transformers, auto=auto, size=128),
            _FIXED,
        )
    ),
    *_all("transformers", _HUGGING_FACE_VIDEO, "videos", _transformers_video, _FIXED),
]
