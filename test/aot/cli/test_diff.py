# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack diff``: what differs, and where results differ first."""

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.cli import program as programs
from executorch.backends.et_xnnpack.aot.cli.diff import compare_blobs, matching_nodes
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from executorch.exir import to_edge_transform_and_lower

pytestmark = pytest.mark.skipif(not et_xnnpack.is_available(), reason="without the compiled part")


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
    assert matching_nodes(one, other) == [(i, i) for i in range(len(one.nodes))]


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


def test_another_delegate(command):
    found = command("diff", "full.pte", "official.pte", "--json", code=ExitCode.NO).json
    assert "results" not in found["methods"]["forward"]  # other inputs
    assert found["methods"]["forward"]["operators"][0].startswith("delegates: EtXnnpackBackend became XnnpackBackend")


def test_programs_that_do_not_run_are_compared_all_the_same(command):
    done = command("diff", "full.pte", "full.pte", "--high", 7, code=ExitCode.FAILED)
    assert done.out == "full.pte and full.pte are the same but for results\n"
    assert "results are not compared: full.pte: method forward fails" in done.err
