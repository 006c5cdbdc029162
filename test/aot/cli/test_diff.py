# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack diff``: what differs, and where results differ first."""

import re

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.cli import program as programs
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from executorch.backends.et_xnnpack.aot.cli.steps import compare_blobs, matching, nodes_of
from executorch.backends.et_xnnpack.aot.quantizer import EtXnnpackQuantizer
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import get_symmetric_quantization_config
from executorch.exir import to_edge_transform_and_lower
from harness import needs_runtime
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

pytestmark = needs_runtime


def test_the_same(command):
    assert command("diff", "full.pte", "full.pte").out == "full.pte and full.pte are the same\n"


def test_a_weight_that_differs_and_the_first_node_that_does(command):
    found = command("diff", "full.pte", "changed.pte", "--json", code=ExitCode.NO).json
    method = found["methods"]["forward"]
    assert not method["interface"] and not method["operators"]
    (delegate,) = method["delegates"]
    assert not delegate["graph"]
    assert any("operand 2: Float32[16] has other content" in line for line in delegate["weights"])
    assert delegate["plan"] == ["options: {'num_threads': '1'} became {}"]
    results = method["results"]
    assert not results["is_close"] and results["differences"][0]["largest"] > 1e-3
    # The bias that differs is that of the second Linear.
    linear = [node.name for node in blob("full.pte", command).nodes if node.op == "Linear"]
    assert (results["first"]["a"], results["first"]["b"]) == (linear[1], linear[1])
    assert results["first"]["largest"] == pytest.approx(0.5, rel=1e-3)
    printed = command("diff", "full.pte", "changed.pte", code=ExitCode.NO).out
    assert f"first: {linear[1]} of delegate 0" in printed


def blob(name, command):
    (delegate,) = programs.read(command.folder / name).methods[0].delegates
    return delegate.blob


def test_graphs_that_differ(command):
    words = ["--shape", "0=6x16", "--shape", "1=6x4"]
    found = command("diff", "outside.pte", "full.pte", *words, "--json", code=ExitCode.NO).json
    method = found["methods"]["forward"]
    assert method["interface"][0].startswith("inputs: float32[6, 16], int64[6, 4] became float32[8, 16] (at most)")
    assert "aten.native_layer_norm.out: 1 became 0" in method["operators"]
    assert any("LayerNorm" in line for line in method["delegates"][0]["graph"])


def test_plans_that_differ(command):
    one = blob("full.pte", command)
    et_xnnpack.set_option("fuse_elementwise", False)
    try:
        other = blob("full.pte", command)
        assert other.plan != one.plan
    finally:
        et_xnnpack.set_option("fuse_elementwise", True)
    found = compare_blobs(one, other)
    assert found["graph"] == [] and found["weights"] == []
    assert found["plan"] and all("fused pass" in line for line in found["plan"])
    assert matching(nodes_of(one), nodes_of(other)) == [(i, i) for i in range(len(one.nodes))]


def test_plans_are_those_of_the_options(command, models, folder):
    unfused = EtXnnpackPartitioner(runtime_options={"fuse_elementwise": False})
    module, inputs, arguments = models.full()
    edge = to_edge_transform_and_lower(torch.export.export(module, inputs, **arguments), partitioner=[unfused])
    (folder / "not_fused.pte").write_bytes(edge.to_executorch().buffer)

    def plan(*words):
        found = command("diff", "full.pte", "not_fused.pte", *words, "--json", code=ExitCode.NO).json
        options, *others = found["methods"]["forward"]["delegates"][0]["plan"]
        assert options == "options: {'num_threads': '1'} became {'fuse_elementwise': 'false'}"
        return others

    assert any("fused pass" in line for line in plan())
    assert plan("--option", "fuse_elementwise=false") == plan("--option", "fuse_elementwise=true") == []
    assert et_xnnpack.get_option("fuse_elementwise") is True


@pytest.fixture(scope="module")
def difference(command):
    """What ``diff --no-results`` finds in programs of two modules, by part."""

    def difference(modules, inputs, shapes=(None, None), **arguments):
        for name, module, shape in zip("ab", modules, shapes, strict=True):
            exported = torch.export.export(module, inputs, dynamic_shapes=shape)
            edge = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner(**arguments)])
            (command.folder / f"{name}.pte").write_bytes(edge.to_executorch().buffer)
        assert command("diff", "a.pte", "a.pte", "--no-results").out == "a.pte and a.pte are the same but for results\n"
        found = command("diff", "a.pte", "b.pte", "--no-results", "--json", code=ExitCode.NO).json["methods"]["forward"]
        (delegate,) = found["delegates"] or [{"graph": [], "weights": []}]
        return found["operators"], delegate["graph"], delegate["weights"]

    return difference


def test_quantization(difference):
    torch.manual_seed(0)
    module, x = nn.Linear(64, 64, bias=False).eval(), torch.rand(8, 64)
    modules = []
    for scale in (1.0, 1.02):
        quantizer = EtXnnpackQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
        prepared = prepare_pt2e(torch.export.export(module, (x,)).module(), quantizer)
        prepared(scale * x)
        modules.append(convert_pt2e(prepared))
    operators, graph, weights = difference(modules, (x,))
    assert not operators and not weights
    assert re.fullmatch(r"0 Unary, result 0: scale [0-9.]+ became [0-9.]+", graph[0])


class Subtract(nn.Module):
    def __init__(self, is_turned):
        super().__init__()
        self.is_turned = is_turned

    def forward(self, x, y):
        return y - x if self.is_turned else x - y


def test_what_nodes_read(difference):
    inputs = torch.rand(3, 4), torch.rand(3, 4)
    operators, _, weights = difference((Subtract(False), Subtract(True)), inputs)
    assert "0 delegate 0, operand 0: input 0 became input 1" in operators and not weights
    blocked = difference((Subtract(False), Subtract(True)), inputs, block_operators=["aten.sub.Tensor"])
    assert blocked == (
        ["0 aten.sub.out, operand 0: input 0 became input 1", "0 aten.sub.out, operand 1: input 1 became input 0"],
        [],
        [],
    )


def test_what_nodes_read_inside(difference):
    class Inside(nn.Module):
        def __init__(self, is_turned):
            super().__init__()
            self.is_turned = is_turned

        def forward(self, x):
            y, z = x.softmax(-1), x.sinh()
            return z - y if self.is_turned else y - z

    operators, graph, weights = difference((Inside(False), Inside(True)), (torch.rand(3, 4),))
    assert not operators and not weights
    assert [line.partition(": ")[2] for line in graph] == ["0 Softmax became 1 Unary", "1 Unary became 0 Softmax"]


class Outside(nn.Module):
    """A number and a constant for operators outside."""

    def __init__(self, most, constant):
        super().__init__()
        self.most = most
        self.register_buffer("constant", constant)

    def forward(self, x):
        return torch.index_select(x.clamp(max=self.most), 0, self.constant)


def test_arguments_outside(difference):
    blocked = {"block_operators": ["aten.clamp.default", "aten.index_select.default"]}
    first = Outside(50.0, torch.tensor([0, 1, 2]))
    operators, graph, weights = difference((first, Outside(70.0, first.constant)), (torch.rand(3, 4),), **blocked)
    assert [line[0] for line in operators] == ["-", "+"] and not graph and not weights
    assert "double 50.0" in operators[0] and "double 70.0" in operators[1]
    operators, _, _ = difference((first, Outside(50.0, torch.tensor([0, 2, 1]))), (torch.rand(3, 4),), **blocked)
    assert [line[0] for line in operators] == ["-", "+"] and all("aten.index_select.out" in o for o in operators)


def test_ranges_of_sizes(difference):
    shapes = [({0: torch.export.Dim("n", min=least, max=9)},) for least in (1, 4)]
    found = difference((nn.ReLU(), nn.ReLU()), (torch.rand(5, 4),), shapes)
    assert found == ([], ["ranges of sizes differ"], [])


def test_initial_states(difference, models):
    modules = [models.counts()[0] for _ in range(2)]
    modules[1].n += 1
    assert difference(modules, (torch.rand(4),)) == ([], ["initial states differ"], [])


def test_programs_that_differ_in_what_is_not_compared(command, folder):
    data = bytearray((folder / "optional.pte").read_bytes())
    (folder / "longer.pte").write_bytes(data + bytes(16))
    printed = command("diff", "optional.pte", "longer.pte").out
    assert printed == "optional.pte and longer.pte are the same but for what is not compared, as their bytes differ\n"


def test_orders_of_axes(command):
    found = command("diff", "channels_last.pte", "contiguous.pte", "--json", code=ExitCode.NO).json["methods"][
        "forward"
    ]
    assert found["interface"][0].endswith("with axes in the order [0, 2, 3, 1] became float32[1, 3, 8, 8]")
    assert found["results"]["is_close"]


def test_another_delegate(command):
    found = command("diff", "full.pte", "official.pte", "--json", code=ExitCode.NO).json
    assert "results" not in found["methods"]["forward"]  # other inputs
    assert found["methods"]["forward"]["operators"][0].startswith("delegates: EtXnnpackBackend became XnnpackBackend")


def test_programs_that_do_not_run_are_compared_all_the_same(command):
    done = command("diff", "full.pte", "full.pte", "--high", 7, code=ExitCode.FAILED)
    assert done.out == "full.pte and full.pte are the same but for results\n"
    assert "results are not compared: full.pte: method forward fails" in done.err
