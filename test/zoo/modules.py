# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Modules around architectures: positional tensors in, a tuple of tensors out."""

import torch
from torch import nn
from torch.utils import _pytree as pytree


def tensors(results) -> tuple[torch.Tensor, ...]:
    """The tensors in nested results, in their order, each once."""
    if hasattr(results, "to_tuple"):
        results = results.to_tuple()
    found = {}
    for part in results if isinstance(results, (tuple, list)) else pytree.tree_leaves(results):
        if isinstance(part, torch.Tensor):
            found[id(part)] = part
        elif hasattr(part, "to_tuple") or isinstance(part, (tuple, list, dict)):
            found.update((id(t), t) for t in tensors(list(part.values()) if isinstance(part, dict) else part))
    return tuple(found.values())


@torch.no_grad()
def vary(module: nn.Module) -> None:
    """Gives random numbers to weights that begin as one number, such as zero biases and scales of 1e-6.

    Else what they add or multiply would not show in any result. Routers of experts would choose among equal scores.
    """
    for weight in module.parameters():
        if weight.is_floating_point() and weight.numel() > 1 and weight.min() == weight.max():
            weight.add_(torch.randn_like(weight) * (0.1 if weight.dim() == 1 else 0.02))
    for name, buffer in module.named_buffers():
        if name.endswith("running_mean"):
            buffer.add_(torch.randn_like(buffer) * 0.1)
        elif name.endswith("running_var"):
            buffer.mul_(1 + torch.rand_like(buffer) * 0.1)


class Positional(nn.Module):
    def __init__(self, model: nn.Module, **fixed):
        super().__init__()
        self.model, self.fixed = model, fixed

    def forward(self, *inputs):
        return tensors(self.model(*inputs, **self.fixed))


class Named(nn.Module):
    def __init__(self, model: nn.Module, names: tuple[str, ...], fixed: dict):
        super().__init__()
        self.model, self.names, self.fixed = model, names, fixed

    def forward(self, *inputs):
        return tensors(self.model(**dict(zip(self.names, inputs, strict=True)), **self.fixed))


class Method(nn.Module):
    """A method of a model that is not ``forward``."""

    def __init__(self, model: nn.Module, name: str):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, *inputs):
        return tensors(getattr(self.model, self.name)(*inputs))


class WithCache(nn.Module):
    """A decoder that is called with the keys and values so far, and returns the logits and those with the new ones."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, tokens, *past):
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer in range(len(past) // 2):
            cache.update(past[2 * layer], past[2 * layer + 1], layer)
        result = self.model(input_ids=tokens, past_key_values=cache, use_cache=True)
        new = [t for layer in cache.layers for t in (layer.keys, layer.values)]
        return (result.logits, *new)
