# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The result of a program stays its last node, whatever ExecuTorch sorts."""

from torch.fx import Graph, GraphModule


def keep_output_last(module: GraphModule) -> None:
    """For graphs that ``module`` is given from now on.

    ExecuTorch sorts the nodes of a program anew for each delegate call that it makes, without regard to
    what has no readers, such as the check of an integer that was read off a tensor. The fewer nodes are
    left between the delegate and the output, the more of these end up behind it, where no code expects them.
    """

    def set_graph(self, graph: Graph) -> None:
        *_, last = graph.nodes
        output = next(node for node in reversed(graph.nodes) if node.op == "output")
        if output is not last:
            last.append(output)
        GraphModule.graph.fset(self, graph)

    # Every GraphModule has a class of its own, and copies of it do not share that.
    type(module).graph = property(lambda self: self._graph, set_graph)
