# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
TITLE = "eager PyTorch"
SCHEMES = ("bf16",)


def prepare(module, inputs, folder):
    import torch

    torch.save(module, folder / "module.pt")
    return {}


def convert(module, inputs, folder, scheme, calibration):
    assert scheme in SCHEMES, scheme
    return prepare(module.bfloat16(), inputs, folder)


def load(folder, threads):
    import torch

    torch.set_num_threads(threads)
    module = torch.load(folder / "module.pt", weights_only=False)

    def call(inputs):
        with torch.inference_mode():
            return [module(*inputs)]

    def call_in_bfloat16(inputs):
        return [call([x.bfloat16() if x.is_floating_point() else x for x in inputs])[0].float()]

    types = {p.dtype for p in module.parameters()}
    return call_in_bfloat16 if types == {torch.bfloat16} else call
