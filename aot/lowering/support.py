# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Which nodes can be delegated, and why the others cannot."""

import operator
from collections.abc import Callable

import torch
from torch.export import ExportedProgram
from torch.fx import Node as FxNode

from ...serialization.schema import DType
from .. import ops
from ..ir import Value
from .lower import Lowering
from .nodes import is_wide_scale, reads_or_checks_integer, target_name
from .unsupported import explain


class Support(Lowering):
    """Answers, node by node, whether ``lower`` would succeed. Looks at shapes only."""

    def __init__(self, program: ExportedProgram, refuse: Callable[[FxNode], str | None] = lambda node: None):
        """``refuse`` gives a reason to leave a node outside that has nothing to do with its operator."""
        super().__init__(program)
        self._refuse = refuse
        self._reasons: dict[FxNode, str | None] = {}
        self._constant: dict[FxNode, bool] = {}

    def is_constant(self, node: FxNode) -> bool:
        """Whether ``lower`` will see a constant: a weight, or computed from weights for one reader."""
        if node not in self._constant:
            if node.op == "placeholder":
                known = self.placeholders.constant_tensor(node) is not None
            else:
                known = (
                    node.op == "call_function"
                    and len(node.users) == 1
                    and bool(node.all_input_nodes)
                    and all(self.is_constant(n) for n in node.all_input_nodes)
                    and self.reason(node) is None
                    and node in self.env
                    and self.env[node].constant is not None
                )
            self._constant[node] = known
        return self._constant[node]

    def _read(self, node: FxNode):
        if isinstance(node.meta.get("val"), torch.Tensor) and node not in self.env:
            if self.is_constant(node):
                if node.op == "placeholder":
                    self.env[node] = self.stand_in(node)
            else:
                meta = self._read_meta(node)
                self.env[node] = self.value(meta.dtype, meta.shape, node.name)
        return super()._read(node)

    def _read_meta(self, node: FxNode) -> Value:
        value = node.meta["val"]
        if is_wide_scale(node):
            return Value("", DType.Float32, tuple(self.dim(s) for s in value.shape))
        row = ops.ROWS.get(target_name(node.args[0])) if node.target is operator.getitem else None
        if row is None or row.result_dtypes is None or self._reasons.get(node.args[0]) is not None:
            return self._meta(value)
        return Value("", row.result_dtypes[node.args[1]], tuple(self.dim(s) for s in value.shape))

    def reason(self, node: FxNode) -> str | None:
        """Why ``node`` cannot be delegated; None if it can."""
        if node not in self._reasons:
            try:
                self._reasons[node] = self._try(node)
            except Exception as error:
                self._reasons[node] = explain(error, node)
        return self._reasons[node]

    def _try(self, node: FxNode) -> str | None:
        if node.op != "call_function":
            return f"a node of kind {node.op} is not an operator"
        if reason := self._refuse(node):
            return reason
        if reads_or_checks_integer(node):
            return "it reads or checks an integer, which ExecuTorch does before it calls the delegate"
        if node.target is operator.getitem:
            source = node.args[0]
            reason = self.reason(source)
            return None if reason is None else f"its operator {source.name} is not delegated"
        result = self.lower_node(node)
        if isinstance(result, (tuple, list)):
            self.fx_node = node
            for index in self.used_outputs():
                self.require(
                    result[index] is not None,
                    f"result {index} is used, which the delegate does not compute",
                )
        elif self.is_result_constant(result, node):
            self.env[node] = result
        return None

    def is_result_constant(self, result: Value, node: FxNode) -> bool:
        return (
            result.constant is not None
            and len(node.users) == 1
            and all(self.is_constant(n) for n in node.all_input_nodes)
        )
