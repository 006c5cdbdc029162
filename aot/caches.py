# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ExecuTorch's operators that write to the cache of a language model, as ATen operators.

What functionalization makes of an operator that is not PyTorch's and writes to an operand is a higher-order
operator, which is none of the Edge dialect. ATen's own become functions. The program may come before that or after it.
"""

import operator

import torch
from torch.fx import Graph
from torch.fx import Node as FxNode

from .graph_edit import add_call
from .private.sizes import may_be_negative
from .private.torch import OpOverload, functionalized, parameters

_aten = torch.ops.aten


def check_positions(graph: Graph) -> None:
    """Has the program check that no position in a cache is negative.

    The operators that take one fail, or write outside of the cache, if it is; programs that read it off a tensor do
    not always say that it is not.
    """
    for node in list(graph.nodes):
        target, arguments = functionalized(node) or (node.target, None)
        if not isinstance(target, OpOverload) or target.namespace != "llama":
            continue
        start = (_arguments(node) if arguments is None else arguments).get("start_pos")
        if isinstance(start, FxNode) and may_be_negative(start.meta["val"]):
            with graph.inserting_before(node):
                check = add_call(graph, operator.ge, start.meta["val"] >= 0, start, 0)
                graph.call_function(_aten._assert_scalar.default, (check, "a position in a cache is negative"))


def write_out_cache_updates(graph: Graph) -> None:
    """Replaces ``llama.update_cache``, ``update_cache_with_indices`` and ``sdpa_with_kv_cache``."""
    for node in list(graph.nodes):
        with graph.inserting_before(node):
            found = functionalized(node)
            if found is not None:
                _write_out(graph, node, *found, _new_cache)
            elif isinstance(node.target, OpOverload) and node.target.namespace == "llama":
                _write_out(graph, node, node.target, _arguments(node), _write_cache)


def _arguments(node: FxNode) -> dict:
    """Those of a call of an operator, by the names of its parameters."""
    return dict(zip((p.name for p in parameters(node.target)), node.args, strict=False), **node.kwargs)


def _write_out(graph: Graph, node: FxNode, target: OpOverload, arguments: dict, write) -> None:
    name = str(target).removesuffix(".default")
    is_functional = write is _new_cache
    if name in ("llama.update_cache", "llama.update_cache_with_indices"):
        result = None
        caches = [("value", "cache")]
    elif name == "llama.sdpa_with_kv_cache":
        result = 0
        caches = [("key", "key_cache"), ("value", "value_cache")]
    else:
        return
    parts = {user.args[1]: user for user in node.users} if is_functional else {}
    if result is None and (0 in parts if is_functional else node.users):
        return  # the result has no meaning
    for place, (value, cache) in enumerate(caches, 1):
        new = write(graph, arguments[value], arguments[cache], arguments["start_pos"], arguments.get("indices"))
        arguments[cache] = new
        if place in parts:
            parts[place].replace_all_uses_with(new)
            graph.erase_node(parts[place])
    if result is not None:
        query, key, value = (arguments.pop(k) for k in ("query", "key_cache", "value_cache"))
        rest = {k: v for k, v in arguments.items() if k not in ("key", "value", "seq_len", "start_pos")}
        old = parts.get(result) if is_functional else node
        attention = torch.ops.llama.custom_sdpa.default
        y = add_call(graph, attention, query.meta["val"], query, key, value, arguments["start_pos"], **rest)
        if old is not None:
            old.replace_all_uses_with(y)
            if is_functional:
                graph.erase_node(old)
    graph.erase_node(node)


def _end(graph: Graph, value: FxNode, start):
    length = value.meta["val"].shape[1]
    if isinstance(length, torch.SymInt):
        length = add_call(graph, _aten.sym_size.int, length, value, 1)
    return add_sizes(graph, start, length)


def _row(graph: Graph, x: FxNode, index: int) -> FxNode:
    return add_call(graph, _aten.select.int, x.meta["val"][index], x, 0, index)


def _write_cache(graph: Graph, value: FxNode, cache: FxNode, start, indices: FxNode | None) -> FxNode:
    """``cache[:, start : start + value.shape[1]] = value``, or ``cache[b, indices[b, i]] = value[b, i]``."""
    if indices is None:
        part = add_call(graph, _aten.slice.Tensor, value.meta["val"], cache, 1, start, _end(graph, value, start))
        add_call(graph, _aten.copy_.default, value.meta["val"], part, value)
        return cache
    for batch in range(cache.meta["val"].shape[0]):
        rows = _row(graph, cache, batch)
        operands = (rows, 0, _row(graph, indices, batch), _row(graph, value, batch))
        # Unlike an index of index_put_ none may be negative.
        add_call(graph, _aten.index_copy_.default, rows.meta["val"], *operands)
    return cache


def _new_cache(graph: Graph, value: FxNode, cache: FxNode, start, indices: FxNode | None) -> FxNode:
    """As ``_write_cache``, but the new content."""
    content = cache.meta["val"]
    if indices is None:
        return add_call(graph, _aten.slice_scatter.default, content, cache, value, 1, start, _end(graph, value, start))
    if content.shape[0] == 1:
        return add_call(graph, _aten.index_copy.default, content, cache, 1, _row(graph, indices, 0), value)
    for batch in range(content.shape[0]):
        rows = _row(graph, cache, batch)
        operands = (rows, 0, _row(graph, indices, batch), _row(graph, value, batch))
        new = add_call(graph, _aten.index_copy.default, rows.meta["val"], *operands)
        cache = add_call(graph, _aten.select_scatter.default, content, cache, new, 0, batch)
    return cache


def add_sizes(graph: Graph, a, b):
    """The sum of two sizes, which are nodes where they depend on an input."""
    if not isinstance(a, FxNode) and not isinstance(b, FxNode):
        return a + b
    value = sum(i.meta["val"] if isinstance(i, FxNode) else i for i in (a, b))
    return add_call(graph, operator.add, value, a, b)
