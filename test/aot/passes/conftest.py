# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``check``: a pass test is two texts."""

import enum
import itertools

import pytest
from executorch.backends.et_xnnpack.aot.ir import Graph, parse
from executorch.backends.et_xnnpack.aot.verify import check_interface, verify


def _same_numbers(attributes):
    """The fields, with numbers that are equal written alike (0 and 0.0, but not -0.0)."""

    def same(x):
        if isinstance(x, tuple):
            return tuple(same(i) for i in x)
        return float(x) if isinstance(x, (int, float)) and not isinstance(x, enum.IntEnum) else x

    return {k: same(v) for k, v in vars(attributes).items()}


def canonical(graph: Graph) -> str:
    """The text of a graph with values named by their position; a constant shows where it is read.

    Equal for graphs that differ in names and in the order of independent nodes only.
    """
    lines = [f"range {name} {r}" for name, r in sorted(graph.ranges.items())]
    names = {}
    numbers = itertools.count()
    for i in graph.inputs:
        if i.value is not None:
            names[i.value] = f"%{next(numbers)}"
            v = graph.values[i.value]
            lines.append(f"in {names[i.value]}: {v.dtype.name}{v.shape} {i.dim_order}")
        else:
            lines.append(f"in {i.expr}")

    def operand(name):
        value = None if name is None else graph.values[name]
        if value is not None and value.constant is not None:
            return f"{value.dtype.name}{value.shape}{value.array.ravel().tolist()}"
        return names.get(name)

    def visit(root):
        stack = [root]
        while stack:
            node = graph.producers.get(stack[-1])
            if node is None or stack[-1] in names:
                stack.pop()
                continue
            missing = [i for i in node.inputs if i in graph.producers and i not in names]
            if missing:
                stack.extend(reversed(missing))
                continue
            for name in node.outputs:
                names[name] = f"%{next(numbers)}"
                v = graph.values[name]
                inputs = ", ".join(str(operand(i)) for i in node.inputs)
                lines.append(
                    f"{names[name]}: {v.dtype.name}{v.shape} = {node.op}({inputs}) {_same_numbers(node.attributes)}"
                )

    for o in graph.outputs:
        visit(o.value)
    unread = len(graph.nodes) - len({id(graph.producers[n]) for n in names if n in graph.producers})
    lines.append(f"{unread} nodes without a reader")
    lines += [f"out {operand(o.value)} {o.dim_order}" for o in graph.outputs]
    return "\n".join(lines)


def _check(run, before: str, after: str | None = None) -> Graph:
    """Runs the pass on ``before``; the result must be ``after``, or the same again if that is None."""
    graph = parse(before)
    verify(graph)
    result = run(graph)
    verify(result)
    check_interface(graph, result)
    expected = parse(before if after is None else after)
    verify(expected)
    assert canonical(result) == canonical(expected), f"{run.__name__} made\n{result}"
    return result


@pytest.fixture
def check():
    return _check
