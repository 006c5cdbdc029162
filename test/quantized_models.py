# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Small convolutional networks, and how people quantize them."""

import harness
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.aot.quantizer import EtXnnpackQuantizer
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e


class MobileBlock(nn.Module):
    """Expansion, depthwise, squeeze and excitation, projection: as in MobileNetV3."""

    def __init__(self, channels):
        super().__init__()
        wide = 2 * channels
        self.expand = nn.Sequential(nn.Conv2d(channels, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.ReLU6(True))
        depthwise = nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False)
        self.depthwise = nn.Sequential(depthwise, nn.BatchNorm2d(wide), nn.Hardswish(True))
        self.squeeze, self.excite = nn.Conv2d(wide, 4, 1), nn.Conv2d(4, wide, 1)
        self.project = nn.Sequential(nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        scale = F.hardsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1)))))
        return x + self.project(y * scale)


class ResidualBlock(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(channels, out, 3, 2, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(True))
        self.second = nn.Sequential(nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut = nn.Sequential(nn.Conv2d(channels, out, 1, 2, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.second(self.first(x)) + self.shortcut(x))


def mobile_net():
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 16), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(16, 10))
    stem = (nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(True))
    return nn.Sequential(*stem, MobileBlock(8), MobileBlock(8), *head)


def res_net():
    stem = (nn.Conv2d(3, 8, 7, 2, 3, bias=False), nn.BatchNorm2d(8), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))
    return nn.Sequential(*stem, ResidualBlock(8, 8), ResidualBlock(8, 16), *head)


def quantize(model, inputs, quantizer=None, dynamic_shapes=None, more_inputs=()):
    """The model with quantize and dequantize operators, and lowered. Calibrated with all inputs."""
    config = get_symmetric_quantization_config(is_per_channel=True)
    quantizer = EtXnnpackQuantizer().set_global(config) if quantizer is None else quantizer
    with torch.no_grad():
        exported = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes)
        prepared = prepare_pt2e(exported.module(), quantizer)
        for example in (inputs, *more_inputs):
            prepared(*example)
        converted = convert_pt2e(prepared)
        exported = torch.export.export(converted, inputs, dynamic_shapes=dynamic_shapes)
        return converted, harness.lower_exported(exported, _check_ir_validity=False)
