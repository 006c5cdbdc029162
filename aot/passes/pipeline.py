# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The passes, in order, each with the reason for its place."""

from ..ir import Graph
from ..verify import check_border, verify

PIPELINE = []


def optimize(graph: Graph) -> Graph:
    """Runs the pipeline. After each pass the graph is verified and its border compared."""
    verify(graph)
    for run in PIPELINE:
        before, graph = graph, run(graph)
        try:
            verify(graph)
            check_border(before, graph)
        except ValueError as error:
            raise ValueError(f"after pass {run.__name__}: {error}") from error
    return graph
