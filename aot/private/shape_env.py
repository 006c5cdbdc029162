# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A ShapeEnv of its own for what is being lowered: the user's program keeps what it knows of its sizes.

Nothing documented copies one, and every copy of a program shares that of the original.
"""

import contextlib
import copy
import sys

import torch
from torch._subclasses import fake_impls
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx import GraphModule
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._ordered_set import OrderedSet
from torch.utils._python_dispatch import is_traceable_wrapper_subclass, transform_subclass

from .torch import leaves, map_leaves, nodes

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class _OwnShapeEnv(ShapeEnv):
    """Sizes of a program that is being lowered, with what is known about them.

    Every program made of an exported one shares its ShapeEnv, and whatever runs on symbolic sizes may add to
    what that knows. The user's own stays as it is because what is lowered has this copy.
    """

    keeps_ranges = False

    @classmethod
    def copy_of(cls, original: ShapeEnv) -> "_OwnShapeEnv":
        """There is no other way to copy one: its members, with containers of their own."""
        own = cls.__new__(cls)
        vars(own).update({name: _own_containers(value) for name, value in vars(original).items()})
        own.fake_tensor_cache = {}  # what was computed with sizes of the original
        return own

    def _refine_ranges(self, expression) -> None:
        """With ``keeps_ranges`` for sizes read off a tensor alone: these have no example, and so nothing that
        is taken for a promise. How PyTorch would compute a convolution never is one."""
        keeps = self.keeps_ranges or _chooses_convolution()
        if not keeps or any(self.is_unbacked_symint(s) for s in expression.free_symbols):
            super()._refine_ranges(expression)


def _chooses_convolution() -> bool:
    """Whether a caller asks how PyTorch would compute a convolution, for which it compares the batch with 16."""
    frame = sys._getframe()
    while frame is not None and frame.f_code is not fake_impls.conv.__code__:
        frame = frame.f_back
    return frame is not None


def _own_containers(value):
    if isinstance(value, OrderedSet):
        return OrderedSet(value)
    if not isinstance(value, (dict, list, set)):
        return value
    own = copy.copy(value)
    if isinstance(own, dict):
        for key in own:
            own[key] = _own_containers(own[key])
    return own


def own_sizes(module: GraphModule) -> None:
    """Gives ``module``, a copy of what the user has, a ShapeEnv of its own if it has symbolic sizes."""
    owner = _Owner()
    all_nodes = list(nodes(module))
    values = [value for node in all_nodes for value in leaves(node.meta.get("val"))]
    if not any(isinstance(env, ShapeEnv) and not isinstance(env, _OwnShapeEnv) for env in map(_shape_env, values)):
        return
    for node in all_nodes:
        if "val" in node.meta:
            node.meta["val"] = map_leaves(owner, node.meta["val"])


def keep_ranges(module: GraphModule) -> None:
    """Dynamic sizes keep the range that the program was exported with.

    ExecuTorch runs what was delegated once more on symbolic sizes, to plan memory. Whatever PyTorch then compares
    sizes for, it takes the answer for the example input as a promise: ExecuTorch would refuse every call on the
    other side.
    """
    own_sizes(module)
    for node in nodes(module):
        for value in leaves(node.meta.get("val")):
            env = _shape_env(value)
            if env is not None:
                env.keeps_ranges = True


def _shape_env(value) -> ShapeEnv | None:
    """That of the symbolic sizes of ``value``, if it has any."""
    sizes = (*value.shape, *value.stride()) if isinstance(value, FakeTensor) else (value,)
    for size in sizes:
        if isinstance(size, _SYMBOLIC) and isinstance(size.node, SymNode):
            return size.node.shape_env
    return None


class _Owner:
    """Values of an exported program -> the same with sizes in a ShapeEnv of their own."""

    def __init__(self):
        self._envs: dict[ShapeEnv, ShapeEnv] = {}
        self._modes: dict[FakeTensorMode, FakeTensorMode] = {}
        self._tensors: dict[int, tuple[FakeTensor, FakeTensor]] = {}  # by id of the first, which so stays taken

    def __call__(self, value):
        if isinstance(value, _SYMBOLIC):
            return self._size(value)
        if isinstance(value, FakeTensor):
            if id(value) not in self._tensors:
                self._tensors[id(value)] = value, self._tensor(value)
            return self._tensors[id(value)][1]
        if isinstance(value, torch.Tensor) and is_traceable_wrapper_subclass(value):  # quantized weights
            return transform_subclass(value, lambda name, part: self(part))
        return value

    def _env(self, env: ShapeEnv | None) -> ShapeEnv | None:
        if env is not None and env not in self._envs:
            self._envs[env] = _OwnShapeEnv.copy_of(env)
        return self._envs.get(env)

    def _mode(self, mode: FakeTensorMode) -> FakeTensorMode:
        if mode not in self._modes:
            self._modes[mode] = FakeTensorMode(
                allow_fallback_kernels=mode.allow_fallback_kernels,
                allow_non_fake_inputs=mode.allow_non_fake_inputs,
                shape_env=self._env(mode.shape_env),
                static_shapes=mode.static_shapes,
                export=mode.fake_tensor_converter.export,
            )
        return self._modes[mode]

    def _size(self, size):
        if not isinstance(size, _SYMBOLIC) or not isinstance(size.node, SymNode):
            return size
        node = copy.copy(size.node)
        node.shape_env = self._env(node.shape_env)
        return type(size)(node)

    def _tensor(self, tensor: FakeTensor) -> FakeTensor:
        mode = self._mode(tensor.fake_mode)
        shape, stride = (tuple(map(self._size, sizes)) for sizes in (tensor.shape, tensor.stride()))
        without_guards = contextlib.nullcontext() if mode.shape_env is None else mode.shape_env.suppress_guards()
        with mode, without_guards:
            own = torch.empty_strided(shape, stride, dtype=tensor.dtype, device=tensor.device)
        if isinstance(tensor, torch.nn.Parameter):
            own = torch.nn.Parameter(own, tensor.requires_grad)
        return own.requires_grad_(tensor.requires_grad)
