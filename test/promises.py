# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What torch.export says of the sizes in a program."""

import torch


class _Shapes(torch.fx.Interpreter):
    """Whether each tensor has the shape that the program promises."""

    def __init__(self, module):
        super().__init__(module)
        self.sizes, self.hold = {}, True

    def run_node(self, node):
        value, promised = super().run_node(node), node.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(promised, torch.Tensor):
            for actual, size in zip(value.shape, promised.shape, strict=True):
                expression = getattr(getattr(size, "node", None), "expr", None)
                if expression is None:
                    self.hold &= actual == size
                    continue
                if expression.is_Symbol and node.op == "placeholder":
                    self.sizes[expression] = actual
                self.hold &= expression.subs(self.sizes) == actual
        return value


def promises_hold(exported, inputs) -> bool:
    """PyTorch exports for the sizes of the example: it takes ``x[-1:]`` for a row, though ``x`` may have none."""
    shapes = _Shapes(exported.module())
    try:
        with torch.no_grad():
            shapes.run(*inputs)
    except AssertionError as error:
        if not str(error).startswith("Guard failed"):  # PyTorch's own, of sizes
            raise
        return False
    return shapes.hold
