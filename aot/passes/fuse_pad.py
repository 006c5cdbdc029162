# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

from ...serialization import schema
from ...serialization.schema import Padding2D, PadMode
from ..ir import Graph, Node, Rewriter, Value, rewrite
from ..traits import TRAITS


def _added(padding: Padding2D, pad: Node) -> Padding2D:
    """``padding`` with the amounts of ``pad``, which lie on the outside of the image before it."""
    (_, top, left, _), (_, bottom, right, _) = pad.attributes.before, pad.attributes.after
    return Padding2D(
        top=padding.top + top,
        right=padding.right + right,
        bottom=padding.bottom + bottom,
        left=padding.left + left,
    )


def _fits(kernel, padding: Padding2D) -> bool:
    """Whether every window of a pool still touches the image."""
    vertical = max(padding.top, padding.bottom) < kernel.height
    return vertical and max(padding.left, padding.right) < kernel.width


def _with_pad(node: Node, pad: Node | None):
    """The attributes of ``node`` when it pads itself, or None."""
    if pad is None or len(pad.attributes.before) != 4 or pad.attributes.mode != PadMode.Constant:
        return None
    if pad.attributes.value != TRAITS[type(node.attributes)].pads_with:
        return None
    if any(amounts[axis] for amounts in (pad.attributes.before, pad.attributes.after) for axis in (0, 3)):
        return None
    a = node.attributes
    if getattr(a, "ceil_mode", False):  # depends on where the padding begins
        return None
    padding = _added(a.padding, pad)
    if node.is_a(schema.AvgPool2d, schema.MaxPool2d) and not _fits(a.kernel, padding):
        return None
    if node.is_a(schema.AvgPool2d):
        counted = _added(a.padding_counted or Padding2D(0, 0, 0, 0), pad)
        return dataclasses.replace(a, padding=padding, padding_counted=counted)
    return dataclasses.replace(a, padding=padding)


def fuse_pad(graph: Graph) -> Graph:
    """Lets convolutions and pools pad their own input where the padding means the same.

    Zeros around a convolution or (counted) around an average, -inf around a maximum::

        %p: Float32[1, 9, 9, 2] = Pad(%x) before=(0, 0, 0, 0) after=(0, 1, 1, 0)
        %y: Float32[1, 4, 4, 2] = Conv2d(%p, %w) padding=(0, 0, 0, 0) stride=(2, 2)

    becomes::

        %y: Float32[1, 4, 4, 2] = Conv2d(%x, %w) padding=(0, 1, 1, 0) stride=(2, 2)
    """
    return rewrite(graph, _padding_itself)


def _padding_itself(r: Rewriter, node: Node) -> Value | None:
    pad = r.producer(r[node.inputs[0]], schema.Pad) if node.inputs else None
    attributes = _with_pad(node, pad)
    if attributes is None:
        return None
    inputs = [r.values[pad.inputs[0]], *(r[i] for i in node.inputs[1:])]
    name = node.outputs[0]
    return r.node(attributes, *inputs, shape=r.graph.values[name].shape, name=name)
