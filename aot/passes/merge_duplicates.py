# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import collections
import dataclasses
import math

import numpy as np

from ..ir import Graph, Node, Rewriter, Value
from ..traits import traits_of


def _signs(x):
    """What ``==`` does not see in attributes: the sign of a zero."""
    if isinstance(x, float):
        return math.copysign(1, x)
    return tuple(_signs(i) for i in x) if isinstance(x, tuple) else None


def _key(graph: Graph, node: Node, inputs: tuple[str | None, ...]):
    a = node.attributes
    if traits_of(a).commutative:
        inputs = tuple(sorted(inputs))
    signs = tuple(_signs(getattr(a, f.name)) for f in dataclasses.fields(a))
    return a, signs, inputs, tuple(graph.values[o].quantization for o in node.outputs)


def _sample(array: np.ndarray) -> bytes:
    """Some of the elements: what differs in them is not equal, and nobody has to read the rest."""
    places = np.linspace(0, array.size - 1, min(array.size, 16)).astype(int)
    return array.flat[places].tobytes()


def merge_duplicates(graph: Graph) -> Graph:
    """Computes equal things once and keeps equal constants once.

    ::

        %a: Float32[4] = Unary(%x) kind=Exp     %a: Float32[4] = Unary(%x) kind=Exp
        %b: Float32[4] = Unary(%x) kind=Exp     %c: Float32[4] = Binary(%a, %a)
        %c: Float32[4] = Binary(%a, %b)         out %c
        out %c
    """
    r = Rewriter(graph)
    groups = collections.defaultdict(list)
    for value in graph.values.values():
        if value.constant is not None:
            stored = value.constant.array  # of integers with a scale: these, without making floats of them
            groups[value.dtype, value.shape, value.quantization, _sample(stored)].append(value)
    for group in groups.values():
        if len(group) > 1:  # else nobody has to read the data
            first: dict[str, Value] = {}
            for value in group:
                r.replace(value.name, first.setdefault(value.constant.digest, value))
    seen: dict[object, Node] = {}
    for node in r.walk():
        key = _key(graph, node, tuple(None if i is None else r[i].name for i in node.inputs))
        if key in seen:
            for name, known in zip(node.outputs, seen[key].outputs, strict=True):
                r.replace(name, r[known])
        else:
            seen[key] = r.copy(node)
    return r.finish()
