# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack inspect``: methods, graph, plan, weights and memory of programs of any delegate."""

import hashlib
import re

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.cli import inspect as inspect_command
from executorch.backends.et_xnnpack.aot.cli import program as programs
from executorch.backends.et_xnnpack.aot.cli.blob import read_blob
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from executorch.exir import to_edge_transform_and_lower


@pytest.fixture(scope="module")
def full(command):
    return command("inspect", "full.pte", "--json").json["methods"]["forward"]


def test_methods(full):
    assert [(v["dtype"], v["sizes"], v["is_dynamic"]) for v in full["inputs"]] == [
        ("float32", [8, 16], True),
        ("int64", [8, 4], True),
    ]
    assert [v["sizes"] for v in full["outputs"]] == [[2, 4]]
    assert full["operators"] == {}
    (delegate,) = full["delegates"]
    assert delegate["backend"] == "EtXnnpackBackend" and delegate["calls"] == 1
    assert delegate["options"] == {"num_threads": "1"}
    assert delegate["inputs_of_calls"] == [["in 0", "in 1"]]


@harness.needs_runtime
def test_plan_has_a_reason_for_every_node(full, folder):
    (delegate,) = full["delegates"]
    nodes = delegate["nodes"]
    assert all(node["reason"].endswith(".") for node in nodes)
    by = {node["node"].split()[1]: node["by"] for node in nodes}
    assert by["LayerNorm"] == "kernel" and by["Scatter"] == "kernel"
    linear = next(node for node in nodes if node["node"].endswith("Linear"))
    assert linear["by"] == "XNNPACK" or linear["reason"].startswith("Blocks of rows")  # on some CPUs
    assert [node["by"] for node in nodes].count("fused pass") >= 2
    steps = [node["step"] for node in nodes if node["by"] != "view"]
    assert steps == sorted(steps) and None not in steps
    (blob,) = [d.data for d in programs.read(folder / "full.pte").methods[0].delegates]
    graph, _, plan = et_xnnpack.inspect(blob).partition("\nplan for this CPU:\n")
    assert delegate["graph"] == graph
    assert plan.count("  node ") == len(steps)
    for node in nodes:
        assert f"node {node['node']}: " in plan


def test_weights_and_costs(full):
    (delegate,) = full["delegates"]
    weights = {tuple(w["sizes"]): w for w in delegate["weights"]}
    assert weights[16, 16]["dtype"] == "Float32" and weights[16, 16]["stored_bytes"] == 4 * 16 * 16
    assert weights[4, 16]["key"] is None  # so small that it lies in the blob
    assert len(weights[16, 16]["key"]) == len(hashlib.sha256().hexdigest())
    linear = next(node for node in delegate["nodes"] if node["node"].endswith("Linear"))
    assert linear["flop"] == 2 * 8 * 16 * 16
    assert linear["bytes"] == 4 * (2 * 8 * 16 + 16 * 16 + 16)
    assert [w["read_by"] for w in delegate["weights"] if w["sizes"] == [4, 16]] == [
        [n["node"] for n in delegate["nodes"] if n["node"].endswith("Linear")][-1:]
    ]


def test_memory(full):
    memory, (delegate,) = full["memory"], full["delegates"]
    assert memory["pools"] == [pytest.approx(4 * 8 * 16 + 8 * 8 * 4 + 4 * 2 * 4, abs=64)]
    assert [use["instruction"] for use in memory["in_use"]] == ["EtXnnpackBackend"]
    assert memory["in_use"][0]["bytes"] == 4 * 8 * 16 + 8 * 8 * 4 + 4 * 2 * 4
    assert len(delegate["in_use"]) == len(delegate["nodes"])
    assert max(delegate["in_use"]) <= 3 * 4 * 8 * 16
    assert min(delegate["in_use"]) > 0


def test_the_same_for_people(command):
    printed = command("inspect", "full.pte").out
    for text in (
        "method forward",
        "in 0: float32[8, 16] (at most)",
        "delegate 0: EtXnnpackBackend",
        "options: num_threads=1",
    ):
        assert text in printed
    assert "Linear(" in printed and "read by" in printed
    only = command("inspect", "full.pte", "--only", "weights").out
    assert "read by" in only and "in 0:" not in only and "Linear(" not in only


@harness.needs_runtime
def test_the_plan_is_that_of_the_options(command, models, folder):
    def choices(*words):
        (delegate,) = command("inspect", *words, "--json").json["methods"]["forward"]["delegates"]
        return [node["by"] for node in delegate["nodes"]]

    assert "fused pass" in choices("full.pte")
    unfused = choices("full.pte", "--option", "fuse_elementwise=false")
    assert "fused pass" not in unfused and et_xnnpack.get_option("fuse_elementwise") is True
    assert (
        choices("full.pte", "--option", "fuse_elementwise=false", "--option", "num_threads=1", "--profile") == unfused
    )
    module, inputs, arguments = models.full()
    exported = torch.export.export(module, inputs, **arguments)
    partitioner = EtXnnpackPartitioner(runtime_options={"fuse_elementwise": False})
    edge = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    (folder / "unfused.pte").write_bytes(edge.to_executorch().buffer)
    assert choices("unfused.pte") == unfused
    assert "fused pass" in choices("unfused.pte", "--option", "fuse_elementwise=true")
    error = command("inspect", "full.pte", "--option", "num_threads=1", code=ExitCode.USAGE).err
    assert "--option num_threads is for --profile: no plan depends on it" in error


def test_operators_outside(command):
    found = command("inspect", "outside.pte", "--json").json["methods"]["forward"]
    assert found["operators"] == {"aten.native_layer_norm.out": 1}
    assert [d["backend"] for d in found["delegates"]] == ["EtXnnpackBackend"] * 2
    assert [use["instruction"] for use in found["memory"]["in_use"]].count("EtXnnpackBackend") == 2
    (first,), (second,) = (d["inputs_of_calls"] for d in found["delegates"])
    assert first == ["in 0"] and second[-1] == "in 1"
    assert any(re.fullmatch(r"%\d+ float32\[6, 16\]", operand) for operand in second)  # of the norm
    assert "    inputs 0, 1, ...: in 0\n" in command("inspect", "outside.pte", "--only", "methods").out


def test_another_delegate(command):
    found = command("inspect", "official.pte", "--json").json["methods"]["forward"]
    assert {d["backend"] for d in found["delegates"]} == {"XnnpackBackend"}
    assert all("nodes" not in d and d["bytes"] > 0 for d in found["delegates"])
    printed = command("inspect", "official.pte").out
    assert "XnnpackBackend" in printed
    assert re.search(r"reads %\d+ float32\[6, 16\]\n", printed) and re.search(
        r"writes %\d+ float32\[6, 16\]\n", printed
    )


def test_the_memory_that_executorch_plans_tensor_by_tensor(command):
    printed = command("inspect", "outside.pte", "--only", "memory").out
    header, *rows = printed.partition("value")[2].partition("delegate 0")[0].splitlines()
    assert header.split() == ["type", "buffer", "offset", "bytes", "from", "instruction", "to"]
    assert any("float32[6, 16]" in row for row in rows)
    assert "from instruction" not in command("inspect", "outside.pte").out


def test_the_numbers_of_all_channels_are_shortened():
    line = "const %1: Int8[8, 16] quantized scale=(1, 2, 3, 4, 5) zero_point=(0) = Linear(%0, %1, %2)"
    assert inspect_command._SCALES.sub(inspect_command._shortened, line) == line.replace("4, 5", "... 5 in all")
    cut = line.replace("4, 5", "4, 5, ... 64 in all")  # by the runtime
    assert inspect_command._SCALES.sub(inspect_command._shortened, cut) == line.replace("4, 5", "... 64 in all")


def test_a_terminal_obeys_no_name_of_a_program(command, folder):
    """This one would clear the screen."""
    program = (folder / "full.pte").read_bytes()
    (folder / "named.pte").write_bytes(program.replace(b"forward", b"\x1b[2Jfor"))
    assert "method \\x1b[2Jfor" in command("inspect", "named.pte").out
    assert command("inspect", "named.pte", "--method", "\x1b[2Jfor", "--json").json["methods"].keys() == {"\x1b[2Jfor"}
    message = command("inspect", "named.pte", "--method", "forward", code=ExitCode.UNREADABLE).err
    assert "has no method 'forward', but \\x1b[2Jfor" in message


@pytest.mark.parametrize(
    "words, message",
    [
        (["no.pte"], "no.pte: No such file"),
        (["text.pte"], "text.pte: is no program of ExecuTorch"),
        (["."], ".: Is a directory"),
        (["cut.pte"], "cut.pte: is damaged"),
        (["full.pte", "--method", "decode"], "has no method 'decode', but forward"),
    ],
)
def test_what_cannot_be_read(command, folder, words, message):
    (folder / "cut.pte").write_bytes((folder / "full.pte").read_bytes()[:600])
    assert message in command("inspect", *words, code=ExitCode.UNREADABLE).err


@harness.needs_runtime
def test_a_damaged_delegate(command, folder):
    data = (folder / "full.pte").read_bytes()
    (folder / "damaged.pte").write_bytes(data.replace(b"ETX1", b"ETX9"))
    error = command("inspect", "damaged.pte", code=ExitCode.UNREADABLE).err
    assert "delegate 0: ValueError: the blob has format ETX9" in error


def test_without_the_runtime_there_is_no_plan(folder, monkeypatch):
    (delegate,) = programs.read(folder / "full.pte").methods[0].delegates
    with_plan = delegate.blob
    monkeypatch.setattr(et_xnnpack, "is_available", lambda: False)
    blob = read_blob(delegate.data, delegate.named)
    assert blob.plan is None and blob.text is None
    assert [node.op for node in blob.nodes] == [node.op for node in with_plan.nodes]
    assert all(node.choice is None for node in blob.nodes)


def test_a_pass_of_several_nodes_reads_and_writes_less(folder):
    (delegate,) = programs.read(folder / "full.pte").methods[0].delegates
    blob = delegate.blob
    unary = next(node for node in blob.nodes if node.attributes == "kind=Gelu")
    add = next(node for node in blob.nodes if unary.outputs[0] in node.inputs)
    together, apart = blob.cost_together((unary.index, add.index)), unary.cost + add.cost
    assert together.flop == apart.flop
    assert together.bytes == apart.bytes - 2 * blob.values[unary.outputs[0]].bytes


class Dynamic(torch.nn.Module):
    """An embedding, a convolution and a product whose sizes follow from those of two inputs."""

    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(1000, 8)
        self.linear = torch.nn.Linear(8, 4)
        self.conv = torch.nn.Conv2d(3, 5, 3, padding=1)

    def forward(self, tokens, image):
        return self.linear(self.embedding(tokens).repeat(2, 1)), self.conv(image)


def test_costs_are_those_of_the_sizes_of_a_call(tmp_path):
    inputs = (torch.arange(64), torch.rand(1, 3, 16, 32))
    n, height, width = (torch.export.Dim(name, max=most) for name, most in (("n", 64), ("h", 16), ("w", 32)))
    exported = torch.export.export(Dynamic().eval(), inputs, dynamic_shapes=({0: n}, {2: height, 3: width}))
    (tmp_path / "dynamic.pte").write_bytes(harness.lower_exported(exported).buffer)
    method = programs.read(tmp_path / "dynamic.pte").methods[0]

    def cost(op, *shapes):
        (blob,) = method.blobs_of_calls(shapes)
        return next(node.cost for node in blob.nodes if node.op == op)

    largest, smaller = ((64,), (1, 3, 16, 32)), ((3,), (1, 3, 5, 7))
    assert cost("Linear", *largest).flop == 2 * (2 * 64) * 8 * 4
    assert cost("Linear", *smaller).flop == 2 * (2 * 3) * 8 * 4
    assert cost("Conv2d", *largest).flop == 2 * (16 * 32) * 5 * (3 * 3 * 3)
    assert cost("Conv2d", *smaller).flop == 2 * (5 * 7) * 5 * (3 * 3 * 3)
    assert cost("Conv2d", (3,), None).flop == cost("Conv2d", *largest).flop, "what is not known is the largest"
    assert cost("Index", *smaller).bytes == 3 * 8 + 2 * (3 * 8 * 4), "of a table only the rows that are looked up"
    by_default = method.delegates[0].blob
    assert by_default.values == method.blobs_of_calls(largest)[0].values


class Heads(torch.nn.Module):
    """Attention over heads as they lie in the result of a product, or apart."""

    def __init__(self, by_token):
        super().__init__()
        self.by_token = by_token

    def forward(self, q, k, v):
        if self.by_token:
            q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return y.transpose(1, 2) if self.by_token else y


@pytest.mark.parametrize("by_token", [False, True])
def test_attention_costs_what_its_positions_do(tmp_path, by_token):
    heads, queries, keys = 2, 6, 7
    shapes = [
        (1, n, heads, size) if by_token else (1, heads, n, size) for n, size in ((queries, 8), (keys, 8), (keys, 4))
    ]
    exported = torch.export.export(Heads(by_token).eval(), tuple(torch.rand(shape) for shape in shapes))
    (tmp_path / "heads.pte").write_bytes(harness.lower_exported(exported).buffer)
    (blob,) = programs.read(tmp_path / "heads.pte").methods[0].blobs_of_calls([None] * 3)
    (attention,) = (node for node in blob.nodes if node.op == "Attention")
    assert attention.cost.flop == 2 * heads * queries * keys * (8 + 4)
