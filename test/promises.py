# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What torch.export says of the sizes in a program."""

import torch


class Promises(torch.fx.Interpreter):
    """PyTorch exports for the sizes of the example: it takes ``x[-1:]`` for a row, though ``x`` may have none."""

    def __init__(self, exported):
        super().__init__(exported.module())
        self._symbols, self._sizes, self._hold = {}, {}, True

    def hold(self, *inputs) -> bool:
        """Whether each tensor of a call has the shape that the program promises."""
        self._symbols, self._sizes, self._hold = {}, {}, True
        try:
            with torch.no_grad():
                self.run(*inputs)
        except AssertionError as error:
            if not str(error).startswith("Guard failed"):  # PyTorch's own, of sizes
                raise
            return False
        except ZeroDivisionError:  # so is one that divides by a size of 0
            return False
        return self._hold

    def run_node(self, node):
        value, promised = super().run_node(node), node.meta.get("val")
        if isinstance(value, torch.Tensor) and isinstance(promised, torch.Tensor):
            for actual, size in zip(value.shape, promised.shape, strict=True):
                self._hold &= self._size(size, actual) == actual
        elif isinstance(value, int) and isinstance(promised, torch.SymInt):
            self._hold &= self._size(promised, value) == value
        return value

    def _size(self, size, actual: int) -> int:
        expression = getattr(getattr(size, "node", None), "expr", None)
        if expression is None:
            return size
        if expression.is_Symbol:  # an argument has it first, or the operator that finds it
            return self._symbols.setdefault(expression, actual)
        if expression not in self._sizes:  # most tensors have sizes that others have, too
            try:
                self._sizes[expression] = expression.subs(self._symbols)
            except ZeroDivisionError:  # sizes of 0 cancel in what PyTorch simplifies, and it promises nothing
                return actual
        return self._sizes[expression]
