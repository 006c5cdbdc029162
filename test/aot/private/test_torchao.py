# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``aot/private/torchao.py`` assumes of pt2e and of ExecuTorch's quantizer."""

import pytest
import torch
from executorch.backends.et_xnnpack.aot.private import torchao as private
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config
from torch import nn
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation
from torchao.quantization.pt2e.quantizer.quantizer import Q_ANNOTATION_KEY

STATIC = get_symmetric_quantization_config()
DYNAMIC = get_symmetric_quantization_config(is_dynamic=True)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x):
        return torch.tanh(self.second(torch.tanh(self.first(x))))


def exported():
    return torch.export.export(Model(), (torch.rand(3, 4),)).module(check_guards=False)


def scope(configure):
    """The nodes in the scope of the configurations by name, with what is said of their activations."""
    quantizer = private.ScopedQuantizer()
    configure(quantizer)
    model, found = quantizer.annotate_patterns(exported())
    annotated = [node.name for node in model.graph.nodes if node.op == "call_function" and private.annotation_of(node)]
    return {node.name: spec for node, spec in found.items()}, annotated


def test_an_annotation_is_found_once_it_is_complete():
    node, *_ = exported().graph.find_nodes(op="call_function", target=torch.ops.aten.tanh.default)
    assert private.annotation_of(node) is None
    node.meta[Q_ANNOTATION_KEY] = QuantizationAnnotation()
    assert private.annotation_of(node) is None, "an annotation is complete from the start now"
    private.annotate(node, {node.args[0]: STATIC.input_activation}, STATIC.output_activation)
    annotation = private.annotation_of(node)
    assert annotation.input_qspec_map == {node.args[0]: STATIC.input_activation}
    assert annotation.output_qspec == STATIC.output_activation


@pytest.mark.parametrize(
    "configure, expected",
    [
        (lambda q: q.set_global(STATIC), {"linear", "tanh", "linear_1", "tanh_1"}),
        (lambda q: q.set_module_name("first", STATIC), {"linear"}),
        (lambda q: q.set_module_type(nn.Linear, STATIC), {"linear", "linear_1"}),
        (lambda q: q.set_operator_type(torch.ops.aten.tanh.default, STATIC), {"tanh", "tanh_1"}),
        (
            lambda q: q.set_global(STATIC).set_filter_function(lambda node: not node.name.endswith("_1")),
            {"linear", "tanh"},
        ),
        (lambda q: q.set_global(DYNAMIC), set()),
        (lambda q: None, set()),
    ],
    ids=["global", "module name", "module type", "operator", "filter", "dynamic", "nothing"],
)
def test_the_scope_of_configurations(configure, expected):
    found, _ = scope(configure)
    assert found.keys() == expected, "XNNPACKQuantizer does not go through _annotate_all_patterns any more"
    assert all(spec == STATIC.input_activation for spec in found.values())


def test_patterns_are_annotated_all_the_same():
    assert scope(lambda q: q.set_global(STATIC))[1] == ["linear", "linear_1"]
    assert scope(lambda q: q.set_global(DYNAMIC))[1] == ["linear", "linear_1"]
