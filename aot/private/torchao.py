# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How pt2e is told what becomes int8, by annotations and by ExecuTorch's own quantizer."""

from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpecBase
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY


def annotation_of(node: FxNode) -> QuantizationAnnotation | None:
    """How ``node`` is quantized; None if no quantizer has decided it.

    Quantizers leave annotations that they have not finished, and only ``_annotated`` tells these apart.
    """
    annotation = node.meta.get(Q_ANNOTATION_KEY)
    return annotation if annotation is not None and annotation._annotated else None


def annotate(node: FxNode, inputs: dict[FxNode, QuantizationSpecBase], output: QuantizationSpecBase) -> None:
    """Decides how ``node`` is quantized, for quantizers that come later, too."""
    node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation(inputs, output, _annotated=True)


class ScopedQuantizer(XNNPACKQuantizer):
    """``XNNPACKQuantizer`` that also tells which nodes its configurations are for.

    It knows that by name, type of module, operator and filter, and asks one private method for each
    configuration. Without it we would have to repeat these rules.
    """

    def annotate_patterns(self, model: GraphModule) -> tuple[GraphModule, dict[FxNode, QuantizationSpecBase]]:
        """Annotates what it has patterns for.

        Returns the model and, by node in the scope of a configuration, how its activations are to be quantized;
        nothing for configurations of dynamic quantization.
        """
        self._scope: dict[FxNode, QuantizationSpecBase] = {}
        model = self._annotate_for_quantization_config(model)
        return model, self._scope

    def _annotate_all_patterns(self, model, quantization_config, filter_fn=None, operator_target=None):
        super()._annotate_all_patterns(model, quantization_config, filter_fn, operator_target)
        if quantization_config is None or quantization_config.input_activation.is_dynamic:
            return model
        filters = [f for f in (self.filter_fn, filter_fn) if f is not None]
        for node in model.graph.nodes:
            chosen = operator_target in (None, node.target, getattr(node.target, "overloadpacket", None))
            if node.op == "call_function" and chosen and all(f(node) for f in filters):
                self._scope.setdefault(node, quantization_config.input_activation)
        return model
