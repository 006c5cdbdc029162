# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Decides for pt2e which values of a model become int8."""

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torchao.quantization.pt2e.quantizer import QuantizationSpecBase, SharedQuantizationSpec

from .ops import ROWS
from .ops.registry import Int8, Row
from .private.torch import OpOverload, tensor_parameters
from .private.torchao import ScopedQuantizer, annotate, annotation_of
from .traits import TRAITS

#: What ExecuTorch decomposes into the operator of a row.
_DECOMPOSED = {
    "aten.contiguous.default": "aten.clone.default",
    "aten.conv1d.default": "aten.convolution.default",
    "aten.conv1d.padding": "aten.convolution.default",
    "aten.conv2d.default": "aten.convolution.default",
    "aten.conv2d.padding": "aten.convolution.default",
    "aten.conv3d.default": "aten.convolution.default",
    "aten.conv3d.padding": "aten.convolution.default",
    "aten.conv_transpose1d.default": "aten.convolution.default",
    "aten.conv_transpose2d.input": "aten.convolution.default",
    "aten.conv_transpose3d.input": "aten.convolution.default",
    "aten.dropout.default": "aten.clone.default",
    "aten.flatten.using_ints": "aten.view_copy.default",
    "aten.narrow.int": "aten.slice_copy.Tensor",
    "aten.pixel_shuffle.default": "aten.view_copy.default",
    "aten.pixel_unshuffle.default": "aten.view_copy.default",
    "aten.reshape.default": "aten.view_copy.default",
    "aten.squeeze.default": "aten.squeeze_copy.dims",
    "aten.squeeze.dim": "aten.squeeze_copy.dims",
    "aten.t.default": "aten.permute_copy.default",
    "aten.transpose.int": "aten.permute_copy.default",
    "aten.unflatten.int": "aten.view_copy.default",
}
_CLAMPS = ("aten.relu.default", "aten.relu6.default", "aten.hardtanh.default", "aten.clamp.default")


def _row(node: FxNode) -> Row | None:
    """The row of what ``node``, as ``torch.export`` gives it, becomes."""
    if node.op != "call_function" or not isinstance(node.target, OpOverload):
        return None
    namespace, name, overload = str(node.target).split(".")
    name = name.removesuffix("_")
    target = f"{namespace}.{name}.{overload}"
    for candidate in (target, f"{namespace}.{name}_copy.{overload}", _DECOMPOSED.get(target)):
        if candidate in ROWS:
            return ROWS[candidate]
    return None


def _is_float(node) -> bool:
    value = node.meta.get("val") if isinstance(node, FxNode) else None
    return isinstance(value, torch.Tensor) and value.dtype == torch.float32


def _stored(node: FxNode) -> QuantizationSpecBase | None:
    """How the result of ``node`` is quantized."""
    annotation = annotation_of(node)
    return None if annotation is None else annotation.output_qspec


class EtXnnpackQuantizer(ScopedQuantizer):
    """ExecuTorch's ``XNNPACKQuantizer``, and after it every operator that et_xnnpack computes with int8.

    Configured in the same ways. What ``XNNPACKQuantizer`` annotates decides where integers begin. From
    there on they go through each operator whose row has an ``int8``, up to results of the program, which
    keep the precision of float32. A clamp to any range becomes part of the operator before it.
    """

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Makes tensors of numbers, but not of those that meet integers: they would become floats."""
        unchanged = {n: n.args for n in model.graph.nodes if n.op == "call_function" and not _is_float(n)}
        model = super().transform_for_annotation(model)
        for node, arguments in unchanged.items():
            node.args = arguments
        model.recompile()
        return model

    def annotate(self, model: GraphModule) -> GraphModule:
        model, self._specs = self.annotate_patterns(model)
        for node in self._specs:
            self._fuse_clamp(node)
        for node in model.graph.nodes:
            if node in self._specs and annotation_of(node) is None:
                self._follow(node)
        return model

    def _fuse_clamp(self, node: FxNode) -> None:
        """Quantizes the clamp instead of the product or sum that it reads."""
        row = _row(node)
        if row is None or row.target not in _CLAMPS or annotation_of(node) is not None:
            return
        source = node.args[0]
        annotation = annotation_of(source)
        maker = _row(source)
        operator = None if maker is None or len(source.users) > 1 else maker.operator
        absorbs_clamp = operator is not None and TRAITS[operator].absorbs_clamp
        if not absorbs_clamp or annotation is None or annotation.output_qspec is not self._specs[node]:
            return
        annotation.output_qspec = None
        annotate(node, {}, self._specs[node])

    def _follow(self, node: FxNode) -> None:
        """Lets integers go on through ``node`` if they reach it."""
        row = _row(node)
        if row is None or row.int8 is None or not _is_float(node):
            return
        operands = dict.fromkeys(node.args[: len(tensor_parameters(node.target))])
        if not all(_is_float(x) for x in operands) or not any(_stored(x) for x in operands):
            return
        if row.int8 == Int8.SAME:
            shared = SharedQuantizationSpec(node.args[0])
            annotate(node, {node.args[0]: shared}, shared)
        elif any(user.op != "output" for user in node.users):
            annotate(node, dict.fromkeys(operands, self._specs[node]), self._specs[node])
