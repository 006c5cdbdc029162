# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ``aot/private/executorch.py`` assumes of ExecuTorch."""

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.custom_ops import needs_custom_op
from executorch.backends.et_xnnpack.aot.private import executorch as private
from executorch.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from harness import needs_runtime
from torch import nn

aten = torch.ops.aten


class CumProd(nn.Module):
    """Outside PyTorch's core set, and nothing decomposes it."""

    def forward(self, x):
        return x.cumprod(0)


def exported(module):
    return torch.export.export(module, (torch.rand(3, 4),))


def calls(program):
    return [node for node in program.graph.nodes if node.op == "call_function"]


def test_an_operator_of_the_edge_dialect_stands_for_one_of_aten():
    edge = to_edge(exported(nn.ReLU())).exported_program()
    (node,) = calls(edge)
    assert node.target is not aten.relu.default, "the Edge dialect has no operators of its own any more"
    assert private.operator_of_edge(node.target) is aten.relu.default
    assert private.operator_of_edge(aten.relu.default) is aten.relu.default
    assert private.operator_of_edge(len) is len


def test_operators_that_are_decomposed_are_known():
    assert aten.linear.default in private.decomposed_operators()
    assert aten.linear.default not in {n.target for n in calls(to_edge(exported(nn.Linear(4, 4))).exported_program())}
    assert aten.relu.default not in private.decomposed_operators()


def test_what_nothing_decomposes_is_refused():
    assert needs_custom_op(aten.cumprod.default)
    with pytest.raises(Exception, match="cumprod"):
        to_edge_transform_and_lower(exported(CumProd()))


class Names(Partitioner):
    """Delegates nothing, and writes down for which methods it is called."""

    def __init__(self):
        super().__init__()
        self.names = []

    def partition(self, exported_program):
        self.names.append(private.method_being_lowered())
        return PartitionResult(exported_program, {})


@pytest.mark.parametrize("at_once", [True, False])
def test_the_method_is_known_while_it_is_partitioned(at_once):
    partitioner = Names()
    programs = {"encode": exported(nn.ReLU()), "decode": exported(nn.Linear(4, 4))}
    if at_once:
        to_edge_transform_and_lower(programs, partitioner=[partitioner])
    else:
        to_edge(programs).to_backend(partitioner)
    assert set(partitioner.names) == {"encode", "decode"}, "ExecuTorch keeps the name of the method elsewhere now"
    assert private.method_being_lowered() is None


class Checks(Partitioner):
    """Delegates nothing, and writes down whether operators are checked."""

    def transform_for_pre_decomposition(self, exported_program):
        self.checks = private.checks_operators()
        return exported_program

    def ops_to_not_decompose(self, ep):
        return [], None

    def partition(self, exported_program):
        return PartitionResult(exported_program, {})


@pytest.mark.parametrize("checks", [True, False])
def test_whether_operators_are_checked_is_known(checks):
    partitioner = Checks()
    config = EdgeCompileConfig(_check_ir_validity=checks)
    to_edge_transform_and_lower(exported(nn.ReLU()), partitioner=[partitioner], compile_config=config)
    assert partitioner.checks == checks, "ExecuTorch keeps its config elsewhere now"
    assert private.checks_operators()


def test_nodes_have_handles_for_the_profiler():
    edge = to_edge(exported(nn.Sequential(nn.ReLU(), nn.Tanh()))).exported_program()
    handles = [private.debug_handle(node) for node in calls(edge)]
    assert all(handles) and len(set(handles)) == 2
    assert private.debug_handle(exported(nn.ReLU()).graph.output_node()) == 0


def test_weights_know_their_file():
    module = torch.export.export(nn.Linear(4, 4), (torch.rand(3, 4),)).module()
    delegate_external_constants_pass_unlifted(module=module, gen_tag_fn=lambda node: "weights")
    edge = to_edge(torch.export.export(module, (torch.rand(3, 4),))).exported_program()
    names = edge.graph_signature.inputs_to_parameters
    files = {node.name in names: private.external_file(node) for node in edge.graph.find_nodes(op="placeholder")}
    assert files == {True: "weights", False: None}


def test_named_data_keeps_content_alignment_and_file():
    output = private.named_data([("a", b"1234", None), ("b", b"5678", "file")], alignment=64)
    (a,), (b,) = output.pte_data.items(), output.external_data["file"].items()
    assert (a[0], output.buffers[a[1].buffer_index], a[1].alignment) == ("a", b"1234", 64)
    assert (b[0], output.buffers[b[1].buffer_index], b[1].alignment) == ("b", b"5678", 64)


def test_programs_give_the_blobs_of_a_backend():
    lowered = to_edge_transform_and_lower(exported(nn.ReLU()), partitioner=[EtXnnpackPartitioner()])
    (delegate,) = (module for module in lowered.exported_program().graph_module.children())
    program = lowered.to_executorch().buffer
    assert private.delegate_blobs(program, "EtXnnpackBackend") == [delegate.processed_bytes]
    assert private.delegate_blobs(program, "XnnpackBackend") == []


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / "model.pte"
    lowered = to_edge_transform_and_lower(exported(nn.Linear(4, 64)), partitioner=[EtXnnpackPartitioner()])
    path.write_bytes(lowered.to_executorch().buffer)
    return path


def test_programs_are_read_and_rewritten(program):
    read, named = private.read_program(program.read_bytes())
    assert [plan.name for plan in read.execution_plan] == ["forward"]
    assert sorted(named.values()) == [4 * 4 * 64]  # the bias lies in the blob
    (delegate,) = read.execution_plan[0].delegates
    assert read.backend_delegate_data[delegate.processed.index].data[4:8] == b"ETX1"

    def rename(program):
        program.execution_plan[0].name = "other"

    again, named_again = private.read_program(private.rewrite_program(program.read_bytes(), rename))
    assert again.execution_plan[0].name == "other"
    assert named_again == named


@needs_runtime
def test_programs_are_loaded_and_called(program, tmp_path):
    loaded = private.load_program(str(program), etdump=True)
    (result,) = loaded.load_method("forward").call((torch.rand(3, 4),), clone_outputs=False)
    assert result.shape == (3, 64)
    loaded.write_etdump_result_to_file(str(tmp_path / "etdump"))
    assert (tmp_path / "etdump").stat().st_size > 0


def test_the_pool_has_a_size():
    before = private.pool_size()
    private.set_pool_size(3)
    assert private.pool_size() == 3
    private.set_pool_size(before)
    assert private.pool_size() == before
