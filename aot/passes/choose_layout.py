# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
import collections

from ...serialization import schema
from ..fold import fold
from ..ir import Dim, Graph, Node, Rewriter, Source, Value
from ..traits import TRAITS
from ..traits.loops import Layout, layout_of, order_of
from .layout_search import Aliases, Problem, identity, solve


class _Mover:
    """Gives each value of the old graph in any layout, each move made once."""

    def __init__(self, r: Rewriter, aliases: Aliases):
        self._r = r
        self._aliases = aliases
        self._at: dict[str, dict[Layout, tuple[Layout, Value]]] = collections.defaultdict(dict)
        self._shaped: dict[tuple[str, tuple[Dim, ...]], Value] = {}

    def made(self, name: str, layout: Layout, value: Value) -> None:
        self._at[name][order_of(self._r.graph.values[name].shape, layout)] = layout, value

    def get(self, name: str, layout: Layout) -> Value:
        base = self._r.graph.values[self._aliases.base(name)]
        layout = self._aliases.to_base(name, layout)
        shape = tuple(base.shape[a] for a in layout)
        if base.constant is not None:
            return self._constant(base, layout)
        known = self._at[base.name]
        if not known:
            self.made(base.name, identity(base), self._r[base.name])
        order = order_of(base.shape, layout)
        if order not in known:
            source_layout, source = next(iter(known.values()))
            perm = tuple(source_layout.index(a) for a in layout)
            self.made(base.name, layout, self._r.transpose(source, perm))
        return self.reshaped(known[order][1], shape)

    def _constant(self, base: Value, layout: Layout) -> Value:
        if layout == identity(base):
            return self._r[base.name]
        key = base.name, layout
        if key not in self._shaped:
            self._shaped[key] = fold(self._r, schema.Transpose(perm=layout), [base], base.name)
        return self._shaped[key]

    def reshaped(self, value: Value, shape: tuple[Dim, ...]) -> Value:
        """``value`` with other axes of size 1."""
        if value.shape == shape:
            return value
        key = value.name, shape
        if key not in self._shaped:
            if value.constant is not None:
                made = fold(self._r, schema.Reshape(shape=shape), [value], value.name)
            else:
                made = self._r.reshape(value, shape)
            self._shaped[key] = made
        return self._shaped[key]


def _sources(graph: Graph, aliases: Aliases) -> dict[str, Source]:
    """The sources of values that no Transpose makes, and of what is a transposed view of one: by its name, and with
    its axes."""
    result = {}
    for value in graph.values.values():
        if value.source is not None:
            view = aliases.to_base(value.name, identity(value))
            order = tuple(value.source.order[view.index(a)] for a in identity(value))
            result.setdefault(aliases.base(value.name), Source(value.source.debug_handle, order))
    return result


def _operand(mover: _Mover, value: Value, name: str, blocks, order: Layout) -> Value:
    if blocks is None:
        return mover.get(name, identity(value))
    moved = mover.get(name, layout_of(blocks, order))
    if all(len(block) == 1 for block in blocks) or any(len(block) > 1 for block in blocks):
        return moved
    shape = [value.shape[blocks[loop][0]] if blocks[loop] else 1 for loop in order]
    while shape and shape[0] == 1 and (len(shape) > value.rank or moved.constant is not None):
        shape.pop(0)
    return mover.reshaped(moved, tuple(shape))


def choose_layout(graph: Graph) -> Graph:
    """Gives every value the axis order in memory that moves the fewest bytes.

    Lowering puts a Transpose before and after each operator that wants NHWC, and programs
    have permutes of their own. Here all of them are taken away, each operator that can work
    on any axis order (``traits.loops``) gets one, and a Transpose comes back only where two
    neighbours differ. The cost is the bytes that these move at the planned sizes; constants
    move for free, and so do axes of size 1::

        in %x: Float32[1, 2, 8, 8]
        const %b: Float32[2, 1, 1] = [3, 4]
        %t: Float32[1, 8, 8, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[1, 8, 8, 2] = Conv2d(%t, %w)
        %u: Float32[1, 2, 8, 8] = Transpose(%c) perm=(0, 3, 1, 2)
        %a: Float32[1, 2, 8, 8] = Binary(%u, %b)
        %v: Float32[1, 8, 8, 2] = Transpose(%a) perm=(0, 2, 3, 1)
        %d: Float32[1, 8, 8, 2] = Conv2d(%v, %w)
        out %d

    becomes::

        in %x: Float32[1, 2, 8, 8]
        const %b: Float32[2] = [3, 4]
        %t: Float32[1, 8, 8, 2] = Transpose(%x) perm=(0, 2, 3, 1)
        %c: Float32[1, 8, 8, 2] = Conv2d(%t, %w)
        %a: Float32[1, 8, 8, 2] = Binary(%c, %b)
        %d: Float32[1, 8, 8, 2] = Conv2d(%a, %w)
        out %d
    """
    if not any(node.is_a(schema.Transpose) for node in graph.nodes):
        return graph
    problem = Problem(graph)
    orders = {id(problem.nodes[i]): (problem.loops[i], order) for i, order in solve(problem).items()}
    r = Rewriter(graph)
    mover = _Mover(r, problem.aliases)
    sources = _sources(graph, problem.aliases)
    for node in r.walk():
        if node.is_a(schema.Transpose):
            continue
        loops, order = orders.get(id(node), (None, None))
        if loops is None or order == loops.identity:
            _copy(r, mover, node, sources)
            continue
        names = [n for n in node.inputs if n is not None]
        found = iter(
            [_operand(mover, graph.values[n], n, b, order) for n, b in zip(names, loops.operands, strict=False)]
        )
        inputs = [None if n is None else next(found) for n in node.inputs]
        old = graph.values[node.outputs[0]]
        layout = layout_of(loops.result, order)
        shape = tuple(old.shape[a] for a in layout)
        attributes = TRAITS[type(node.attributes)].layout.reordered(node.attributes, order, shape)
        made = r.node(attributes, *inputs, shape=shape, dtype=old.dtype, name=old.name)
        mover.made(old.name, layout, r.set_source(made, _moved(sources.get(old.name), layout)))
    r.debug_handle = 0
    return r.finish([mover.get(o.value, identity(graph.values[o.value])) for o in graph.outputs])


def _moved(source: Source | None, layout: Layout) -> Source | None:
    return None if source is None else Source(source.debug_handle, tuple(source.order[a] for a in layout))


def _copy(r: Rewriter, mover: _Mover, node: Node, sources: dict[str, Source]) -> None:
    """Adds the node as it is, on operands in the layout they have in the old graph."""
    for name in node.inputs:
        if name is not None:
            r.replace(name, mover.get(name, identity(r.graph.values[name])))
    r.copy(node)
    for name in node.outputs:
        r.replace(name, r.set_source(r[name], sources.get(name)))
