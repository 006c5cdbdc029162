# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
TITLE = "eager PyTorch"


def prepare(module, inputs, folder):
    import torch

    torch.save(module, folder / "module.pt")
    return {}


def load(folder, threads):
    import torch

    torch.set_num_threads(threads)
    module = torch.load(folder / "module.pt", weights_only=False)

    def call(inputs):
        with torch.inference_mode():
            return [module(*inputs)]

    return call
