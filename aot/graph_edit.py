# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What steps that edit a program before it is partitioned share."""

from torch.fx import Graph
from torch.fx import Node as FxNode

MOST_ROUNDS = 8  #: of decomposing what the last one gave


def add_call(graph: Graph, target, value, /, *args, **kwargs) -> FxNode:
    """A call of ``target`` where the graph inserts nodes, with ``value`` as its ``meta["val"]``."""
    node = graph.call_function(target, args, kwargs)
    node.meta["val"] = value
    return node
