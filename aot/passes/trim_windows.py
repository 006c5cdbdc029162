# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses

import numpy as np

from ...serialization import schema
from ...serialization.schema import Padding2D, Size2D
from ..ir import Graph, Node, Rewriter, Value, rewrite


@dataclasses.dataclass(frozen=True)
class _Axis:
    """One axis of an image of a known size, and how a window moves along it."""

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    def seen(self) -> range:
        """The taps that see the image at any position, and those that must stay so that no padding gets negative."""
        reach = self.size + self.before + self.after - (self.kernel - 1) * self.dilation - 1
        last = reach // self.stride * self.stride - self.before  # where tap 0 is at the last position
        first, end = 0, self.kernel
        while first + 1 < end and last + first * self.dilation < 0 and (first + 1) * self.dilation <= self.before:
            first += 1
        while (
            end - 1 > first
            and (end - 1) * self.dilation - self.before >= self.size
            and (self.kernel - end + 1) * self.dilation <= self.after
        ):
            end -= 1
        return range(first, end)


def _axes(node: Node, x: Value, weight: Value) -> tuple[_Axis, _Axis]:
    a, padding = node.attributes, node.attributes.padding
    (_, height, width, _), (_, kernel_height, kernel_width, _) = x.shape, weight.shape
    return (
        _Axis(height, kernel_height, a.stride.height, a.dilation.height, padding.top, padding.bottom),
        _Axis(width, kernel_width, a.stride.width, a.dilation.width, padding.left, padding.right),
    )


def _trimmed(r: Rewriter, node: Node) -> Value | None:
    if not node.is_a(schema.Conv2d):
        return None
    x, weight, *bias = (r[i] for i in node.inputs)
    if weight.constant is None or not all(isinstance(size, int) for size in x.shape[1:3]):
        return None
    q = weight.quantization
    if q is not None and any(p.shape[1:3] not in ((), (1, 1)) for p in (q.scale, q.zero_point)):
        return None  # taps have scales of their own
    height, width = _axes(node, x, weight)
    rows, columns = height.seen(), width.seen()
    if len(rows) == height.kernel and len(columns) == width.kernel:
        return None
    array = weight.constant.array[:, rows.start : rows.stop, columns.start : columns.stop]
    attributes = dataclasses.replace(
        node.attributes,
        padding=Padding2D(
            top=height.before - rows.start * height.dilation,
            right=width.after - (width.kernel - columns.stop) * width.dilation,
            bottom=height.after - (height.kernel - rows.stop) * height.dilation,
            left=width.before - columns.start * width.dilation,
        ),
        dilation=Size2D(
            height=height.dilation if len(rows) > 1 else 1,
            width=width.dilation if len(columns) > 1 else 1,
        ),
    )
    taps = r.constant(np.ascontiguousarray(array), weight.name, q)
    y = r.graph.values[node.outputs[0]]
    return r.node(attributes, x, taps, *bias, shape=y.shape, dtype=y.dtype, quantization=y.quantization)


def trim_windows(graph: Graph) -> Graph:
    """Leaves out the taps of convolutions that see nothing but padding, as in atrous pyramids over small images.

    ::

        const %w: Float32[8, 3, 3, 4] = [...]
        %y: Float32[1, 16, 16, 8] = Conv2d(%x, %w) stride=(1, 1) padding=(24, 24, 24, 24) dilation=(24, 24)

    becomes::

        const %w: Float32[8, 1, 1, 4] = [...]
        %y: Float32[1, 16, 16, 8] = Conv2d(%x, %w) stride=(1, 1) padding=(0, 0, 0, 0) dilation=(1, 1)
    """
    return rewrite(graph, _trimmed)
