# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""MobileNetV2 as exactly one delegate call: export, lower, save, load, run, compare.

The exit status is 0 only if nothing stays outside the delegate and the results equal those of
eager PyTorch within 1e-4. The weights are random: no download, and speed does not depend on them.
"""

import os
import sys

from common import (
    EAGER,
    OFFICIAL,
    OURS,
    console,
    largest_difference,
    lower_all,
    measure,
    measure_load,
    parse_arguments,
    print_latency,
    print_outside,
    print_programs,
    step,
    use_threads,
)

TOLERANCE = 1e-4

if __name__ == "__main__":  # before the imports, which take seconds
    arguments = parse_arguments(__doc__.splitlines()[0], "mobilenet_v2.pte")

with step("Importing PyTorch and ExecuTorch"):
    import torch
    import torch.nn.functional as F
    from executorch.backends import et_xnnpack
    from executorch.runtime import Runtime
    from torch import nn


def convolution(inputs: int, outputs: int, size: int = 1, stride: int = 1, groups: int = 1):
    return [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]


class Block(nn.Module):
    """An inverted residual: widen, filter each channel alone, narrow."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        wide = inputs * expansion
        widen = [*convolution(inputs, wide), nn.ReLU6()] if expansion != 1 else []
        depthwise = [*convolution(wide, wide, 3, stride, groups=wide), nn.ReLU6()]
        self.layers = nn.Sequential(*widen, *depthwise, *convolution(wide, outputs))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


class MobileNetV2(nn.Module):
    """Images [batch, 3, 224, 224] -> scores [batch, 1000]; width 1.0."""

    # expansion, output channels, number of blocks, stride of the first
    STAGES = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ]

    def __init__(self, classes: int = 1000):
        super().__init__()
        layers = [*convolution(3, 32, 3, 2), nn.ReLU6()]
        channels = 32
        for expansion, outputs, blocks, stride in self.STAGES:
            for i in range(blocks):
                layers.append(Block(channels, outputs, stride if i == 0 else 1, expansion))
                channels = outputs
        self.features = nn.Sequential(*layers, *convolution(channels, 1280), nn.ReLU6())
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, classes))

    def forward(self, image):
        return self.classifier(F.adaptive_avg_pool2d(self.features(image), 1).flatten(1))


def make_model() -> nn.Module:
    """The same random weights every time. The statistics are measured, as training would."""
    torch.manual_seed(0)
    model = MobileNetV2()
    for module in model.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, mode="fan_out")
        elif isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # average over the batches
    with torch.no_grad():
        model.train()(torch.rand(8, 3, 224, 224))
    return model.eval()


def main(arguments) -> int:
    if not et_xnnpack.is_available():
        sys.exit("The compiled part of et_xnnpack is missing: run `make build`.")
    with step("Making the model"):
        use_threads(arguments.threads)
        model = make_model()
    image = torch.rand(1, 3, 224, 224, generator=torch.Generator().manual_seed(1))
    ours, _ = programs = lower_all(lambda: torch.export.export(model, (image,)), arguments.output, __file__)

    with step("Running"), torch.inference_mode():
        expected = model(image)
        difference = {}
        for program in programs:
            method = Runtime.get().load_program(program.path).load_method("forward")
            difference[program.name] = largest_difference(method.execute((image,))[0], expected)

    with step("Measuring"), torch.inference_mode():
        load = measure_load(programs)
        methods = {p.name: p.load() for p in programs}
        latency = measure(
            {
                EAGER: lambda: model(image),
                OFFICIAL: lambda: methods[OFFICIAL].call((image,), clone_outputs=False),
                OURS: lambda: methods[OURS].call((image,), clone_outputs=False),
            },
            arguments.repeat,
        )

    console.print()
    print_programs(programs, load, difference)
    print_outside(ours)
    print_latency({"1 image": latency}, arguments.threads)

    whole = ours.delegate_calls == 1 and not ours.outside
    equal = difference[OURS] < TOLERANCE
    console.print()
    if not whole:
        console.print("[red]The model is not one delegate call with nothing outside.[/]")
    verdict = "[green]below[/]" if equal else "[red]not below[/]"
    console.print(f"Largest difference from eager PyTorch: {difference[OURS]:.1e}, {verdict} {TOLERANCE:.0e}")
    console.print(f"Written: {os.path.relpath(ours.path)}")
    return 0 if whole and equal else 1


if __name__ == "__main__":
    sys.exit(main(arguments))
