# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Diffusion: UNets, transformers and autoencoders of diffusers."""

import functools

from .registry import BATCH, Architecture, Size

_SMALL_UNET = {"block_out_channels": (32, 64), "layers_per_block": 1, "norm_num_groups": 8, "sample_size": 16}
_SMALL_VAE = {"block_out_channels": (16, 32), "norm_num_groups": 8}
_TWO_DOWN = {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
_TEXT = {"encoder_hidden_states": (2, 6, 32)}
_TIME = {"timestep": ()}


def _build(type_, inputs, config):
    """``inputs`` are shapes by name, or functions that make them."""
    import diffusers
    import torch

    from .modules import Named

    made = {}
    for name, shape in inputs.items():
        if name in ("timestep", "timesteps"):
            made[name] = torch.full(shape, 7)
        elif name == "class_labels":
            made[name] = torch.randint(0, 4, shape)
        elif name.endswith("_mask"):
            made[name] = torch.ones(shape, dtype=torch.bool)
        elif name.endswith("_ids"):
            made[name] = torch.randint(0, 8, shape).float()
        else:
            made[name] = torch.randn(*shape)
    model = getattr(diffusers, type_)(**config).eval()
    return Named(model, tuple(made), {}), tuple(made.values())


def _entry(name, dynamic, inputs, family="diffusion", **config) -> Architecture:
    return Architecture(f"diffusers/{name}", family, functools.partial(_build, name, inputs, config), dynamic)


_IMAGE = {"sample": (2, 3, 32, 32)}
_LATENT = {"sample": (2, 4, 16, 16)}
_SIDES = {0: {0: BATCH, 2: Size("height", 8, 8), 3: Size("width", 8, 8)}}
_ONE = {0: {0: BATCH}}
_WITH_TEXT = {0: {0: BATCH}, 2: {0: BATCH}}

ARCHITECTURES = [
    _entry(
        "UNet2DModel",
        _SIDES,
        {**_LATENT, **_TIME},
        in_channels=4,
        out_channels=4,
        **_SMALL_UNET,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ),
    _entry(
        "UNet1DModel",
        _ONE,
        {"sample": (2, 14, 32), "timestep": (2,)},
        sample_size=32,
        in_channels=14,
        out_channels=14,
        block_out_channels=(16, 32),
        time_embedding_type="positional",
        use_timestep_embedding=True,
        act_fn="mish",
        norm_num_groups=8,
        down_block_types=("DownResnetBlock1D",) * 2,
        up_block_types=("UpResnetBlock1D",),
        mid_block_type="MidResTemporalBlock1D",
        out_block_type="OutConv1DBlock",
        freq_shift=1.0,
        flip_sin_to_cos=False,
        layers_per_block=1,
    ),
    _entry(
        "UNet2DConditionModel",
        _WITH_TEXT,
        {**_LATENT, **_TIME, **_TEXT},
        **_SMALL_UNET,
        cross_attention_dim=32,
        attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    ),
    _entry(
        "UNet3DConditionModel",
        {},
        {"sample": (1, 4, 4, 16, 16), **_TIME, "encoder_hidden_states": (1, 6, 32)},
        **_SMALL_UNET,
        cross_attention_dim=32,
        attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock3D", "DownBlock3D"),
        up_block_types=("UpBlock3D", "CrossAttnUpBlock3D"),
    ),
    _entry(
        "ControlNetModel",
        {},
        {**_LATENT, **_TIME, **_TEXT, "controlnet_cond": (2, 3, 32, 32)},
        block_out_channels=(32, 64),
        layers_per_block=1,
        norm_num_groups=8,
        cross_attention_dim=32,
        attention_head_dim=8,
        conditioning_embedding_out_channels=(8, 16),
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    ),
    _entry(
        "DiTTransformer2DModel",
        {},
        {"hidden_states": (2, 4, 16, 16), "timestep": (2,), "class_labels": (2,)},
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        sample_size=16,
        num_embeds_ada_norm=8,
    ),
    _entry(
        "PixArtTransformer2DModel",
        {},
        {"hidden_states": (2, 4, 16, 16), "encoder_hidden_states": (2, 6, 32), "timestep": (2,)},
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        out_channels=8,
        num_layers=2,
        sample_size=16,
        caption_channels=32,
        cross_attention_dim=64,
        use_additional_conditions=False,
    ),
    _entry(
        "SD3Transformer2DModel",
        {i: {0: BATCH} for i in range(4)},
        {
            "hidden_states": (2, 4, 16, 16),
            "encoder_hidden_states": (2, 6, 32),
            "pooled_projections": (2, 64),
            "timestep": (2,),
        },
        sample_size=16,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=64,
        pooled_projection_dim=64,
        pos_embed_max_size=16,
    ),
    _entry(
        "FluxTransformer2DModel",
        {},
        {
            "hidden_states": (2, 16, 16),
            "encoder_hidden_states": (2, 6, 32),
            "pooled_projections": (2, 32),
            "timestep": (2,),
            "img_ids": (16, 3),
            "txt_ids": (6, 3),
        },
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
    ),
    _entry(
        "SanaTransformer2DModel",
        {},
        {"hidden_states": (2, 4, 8, 8), "encoder_hidden_states": (2, 6, 32), "timestep": (2,)},
        in_channels=4,
        out_channels=4,
        num_attention_heads=4,
        attention_head_dim=16,
        num_layers=2,
        num_cross_attention_heads=4,
        cross_attention_head_dim=16,
        cross_attention_dim=64,
        caption_channels=32,
        sample_size=8,
    ),
    _entry(
        "AuraFlowTransformer2DModel",
        {},
        {"hidden_states": (2, 4, 16, 16), "encoder_hidden_states": (2, 6, 32), "timestep": (2,)},
        sample_size=16,
        in_channels=4,
        num_mmdit_layers=1,
        num_single_dit_layers=1,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=64,
        out_channels=4,
        pos_embed_max_size=64,
    ),
    _entry(
        "Lumina2Transformer2DModel",
        {},
        {
            "hidden_states": (2, 4, 16, 16),
            "timestep": (2,),
            "encoder_hidden_states": (2, 6, 32),
            "encoder_attention_mask": (2, 6),
        },
        sample_size=16,
        in_channels=4,
        hidden_size=64,
        num_layers=1,
        num_refiner_layers=1,
        num_attention_heads=4,
        num_kv_heads=2,
        cap_feat_dim=32,
        axes_dim_rope=(4, 6, 6),
        axes_lens=(32, 32, 32),
    ),
    _entry(
        "CogVideoXTransformer3DModel",
        {},
        {"hidden_states": (1, 2, 4, 8, 8), "encoder_hidden_states": (1, 6, 32), "timestep": (1,)},
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        num_layers=1,
        text_embed_dim=32,
        time_embed_dim=32,
        sample_width=8,
        sample_height=8,
        sample_frames=5,
        max_text_seq_length=6,
        temporal_compression_ratio=4,
    ),
    _entry(
        "WanTransformer3DModel",
        {},
        {"hidden_states": (1, 4, 2, 8, 8), "timestep": (1,), "encoder_hidden_states": (1, 6, 32)},
        num_attention_heads=4,
        attention_head_dim=16,
        in_channels=4,
        out_channels=4,
        text_dim=32,
        freq_dim=32,
        ffn_dim=128,
        num_layers=1,
        cross_attn_norm=True,
        rope_max_seq_len=32,
    ),
    _entry("AutoencoderKL", _SIDES, _IMAGE, **_SMALL_VAE, **_TWO_DOWN),
    _entry(
        "AsymmetricAutoencoderKL",
        _ONE,
        _IMAGE,
        down_block_out_channels=(16, 32),
        up_block_out_channels=(16, 32),
        norm_num_groups=8,
        **_TWO_DOWN,
    ),
    _entry(
        "AutoencoderTiny",
        _SIDES,
        _IMAGE,
        encoder_block_out_channels=(16, 16),
        decoder_block_out_channels=(16, 16),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
    ),
    _entry(
        "AutoencoderDC",
        _ONE,
        _IMAGE,
        attention_head_dim=8,
        latent_channels=8,
        encoder_block_types=("ResBlock", "EfficientViTBlock"),
        decoder_block_types=("ResBlock", "EfficientViTBlock"),
        encoder_block_out_channels=(16, 32),
        decoder_block_out_channels=(16, 32),
        encoder_layers_per_block=(1, 1),
        decoder_layers_per_block=(1, 1),
        encoder_qkv_multiscales=((), (5,)),
        decoder_qkv_multiscales=((), (5,)),
        decoder_norm_types="rms_norm",
        decoder_act_fns="silu",
    ),
    _entry(
        "AutoencoderOobleck",
        {},
        {"sample": (1, 2, 640)},
        encoder_hidden_size=8,
        downsampling_ratios=[2, 4],
        channel_multiples=[1, 2],
        decoder_channels=8,
        decoder_input_channels=4,
        audio_channels=2,
    ),
    _entry("VQModel", _ONE, _IMAGE, block_out_channels=(16, 32), norm_num_groups=8, num_vq_embeddings=32, **_TWO_DOWN),
]
