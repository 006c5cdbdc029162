# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import dataclasses
import math

from ...serialization import schema
from ...serialization.schema import Clamp, DType, UnaryKind
from ..ir import Graph, Node, Rewriter
from ..traits import TRAITS, traits_of

_MAX_VIEWS = 8


def compose(inner: Clamp | None, outer: Clamp) -> Clamp | None:
    """One clamp for ``outer`` of ``inner``; None if it would leave one value only, or with NaN.

    min(max(y, lo), hi) is monotone, so it maps the ends of the inner range.
    """
    low, high = (-math.inf, math.inf) if inner is None else inner
    low, high = (min(max(end, outer.min), outer.max) for end in (low, high))
    return Clamp(low, high) if low < high else None


def is_clamp(node: Node | None) -> bool:
    return node is not None and node.is_a(schema.Unary) and node.attributes.kind == UnaryKind.Clamp


def _merge_clamps(graph: Graph) -> Graph:
    r = Rewriter(graph)
    for node in r.walk():
        new = r.copy(node)
        inner = r.producer(r[node.inputs[0]]) if is_clamp(node) else None
        if not is_clamp(inner):
            continue
        merged = compose(inner.attributes.clamp, node.attributes.clamp)
        if merged is not None:
            attributes = schema.Unary(kind=UnaryKind.Clamp, clamp=merged)
            x = r.values[inner.inputs[0]]
            r.replace(new.outputs[0], r.node(attributes, x, shape=x.shape))
    return r.finish()


def _lets_through(node: Node, clamp: Clamp) -> bool:
    """Whether a clamp of the result is the same as a clamp of the one operand."""
    fixed = traits_of(node.attributes).passes
    return len(node.inputs) == 1 and fixed is not None and all(clamp.min <= x <= clamp.max for x in fixed)


def _source(graph: Graph, node: Node) -> tuple[Node, list[Node]] | None:
    """The node that can carry the clamp ``node``, and what lets it through between them, nearest first."""
    views = []
    name = node.inputs[0]
    while len(views) <= _MAX_VIEWS and graph.sole_user(name) is not None:
        producer = graph.producers.get(name)
        if producer is None or graph.values[name].dtype != DType.Float32:
            return None
        if TRAITS[type(producer.attributes)].absorbs_clamp:
            return producer, views
        if not _lets_through(producer, node.attributes.clamp):
            return None
        views.append(producer)
        name = producer.inputs[0]
    return None


def fuse_clamp(graph: Graph) -> Graph:
    """Lets producers limit their own results, also through views, and merges clamps of clamps.

    ::

        %y: Float32[1, 4] = Linear(%x, %w)
        %r: Float32[4] = Reshape(%y) shape=(4)
        %a: Float32[4] = Unary(%r) kind=Clamp clamp=(0, inf)
        %b: Float32[4] = Unary(%a) kind=Clamp clamp=(-1, 6)

    becomes::

        %y: Float32[1, 4] = Linear(%x, %w) clamp=(0, 6)
        %b: Float32[4] = Reshape(%y) shape=(4)
    """
    graph = _merge_clamps(graph)
    r = Rewriter(graph)
    for node in r.walk():
        source = _source(graph, node) if is_clamp(node) else None
        clamp = None
        if source is not None:
            producer, views = source
            clamp = compose(producer.attributes.clamp, node.attributes.clamp)
        if clamp is None:
            r.copy(node)
            continue
        attributes = dataclasses.replace(producer.attributes, clamp=clamp)
        value = None
        for old in (producer, *reversed(views)):
            inputs = [r[i] for i in old.inputs] if old is producer else [value]
            shape = graph.values[old.outputs[0]].shape
            r.debug_handle = old.debug_handle
            value = r.node(
                attributes if old is producer else old.attributes,
                *inputs,
                shape=shape,
                name=old.outputs[0],
            )
        r.replace(node.outputs[0], value)
    return r.finish()
