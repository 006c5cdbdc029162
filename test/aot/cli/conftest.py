# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A model as users have it, in a file, and programs of it: lowered once for all tests of commands."""

import dataclasses
import importlib.util
import json
import os
import textwrap
from pathlib import Path

import click.testing
import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.et_xnnpack.aot.cli.main import cli
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

SOURCE = '''
import torch
from torch import nn

print("a model may print")


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, x):
        y = nn.functional.gelu(self.linear(x))
        return self.norm(y + x)


class Model(nn.Module):
    def __init__(self, reduction):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(16, 4)
        self.reduction = reduction

    def forward(self, x, cluster):
        y = self.head(self.blocks(x)).exp()
        return torch.zeros(2, 4).scatter_reduce(0, cluster, y, self.reduction)


def build(reduction):
    torch.manual_seed(0)
    return Model(reduction).eval(), (torch.rand(6, 16), torch.randint(2, (6, 4)))


def full():
    """All of it can be delegated, with a dynamic size."""
    batch = torch.export.Dim("batch", min=2, max=8)
    return *build("sum"), {"dynamic_shapes": {"x": {0: batch}, "cluster": {0: batch}}}


def mean():
    """One operator is refused."""
    return build("mean")


def several():
    return {"encode": build("sum"), "decode": torch.export.export(*build("amax"))}


def optional():
    """One of its results is None."""

    class Optional(nn.Module):
        def forward(self, x):
            return x + 1, None, x * 2

    return Optional(), (torch.rand(3),)


def three_calls():
    """It has room for three calls."""

    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("rows", torch.zeros(3, 4))
            self.register_buffer("position", torch.zeros(1, dtype=torch.int64))

        def forward(self, x):
            self.rows.index_copy_(0, self.position, x)
            self.position += 1
            return self.rows * 2

    return Cache(), (torch.rand(1, 4),)


def contiguous():
    torch.manual_seed(0)
    return nn.Conv2d(3, 4, 3).eval(), (torch.rand(1, 3, 8, 8),)


def channels_last():
    """The same, but images lie in memory as NHWC."""
    module, (image,) = contiguous()
    return module.to(memory_format=torch.channels_last), (image.to(memory_format=torch.channels_last),)


def counts():
    """Each call has another result."""

    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.zeros(1))

        def forward(self, x):
            self.n += 1
            return x + self.n

    return Counts(), (torch.rand(4),)


def grows():
    """Its first call has nothing to compute, later ones have ever more."""

    class Grows(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(16, 16)
            self.register_buffer("n", torch.zeros((), dtype=torch.int64))

        def forward(self, x):
            y = x[torch.arange(64) < self.n]
            self.n += 1
            return self.linear(y).softmax(-1)

    return Grows().eval(), (torch.rand(64, 16),)


def fails():
    raise ValueError("no weights\\nin this folder")


def nothing():
    return None


def branches():
    class Branches(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    return Branches(), (torch.rand(2),)


text = "no function"
'''


@dataclasses.dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self):
        def refuse(constant):
            raise ValueError(f"{constant} is no JSON")

        return json.loads(self.out, parse_constant=refuse)


@dataclasses.dataclass(frozen=True)
class Commands:
    """Runs commands in a folder that has ``model.py`` and programs of it."""

    folder: Path

    def __call__(self, *words: object, code: int = 0) -> Result:
        """Fails unless the exit code is ``code``, and where that is an error, says it in one line."""
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            done = click.testing.CliRunner().invoke(cli, [str(word) for word in words], prog_name="et-xnnpack")
        finally:
            os.chdir(before)
        assert done.exit_code == code, (done.output, done.exception)
        assert (done.stderr != "") == (code > 1), done.stderr
        if code > 2:
            (line,) = done.stderr.splitlines()
            assert line.startswith("Error: ") and "Traceback" not in line
        return Result(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The functions of ``model.py``."""
    path = tmp_path_factory.mktemp("commands") / "model.py"
    path.write_text(textwrap.dedent(SOURCE).lstrip())
    spec = importlib.util.spec_from_file_location("commands_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def folder(models):
    """``full.pte`` of all operators, ``outside.pte`` without one in its middle, ``changed.pte`` with another weight,
    ``official.pte`` of the official delegate, ``full.pt2`` and inputs."""
    folder = Path(models.__file__).parent

    def lower(name, exported, partitioner):
        edge = to_edge_transform_and_lower(exported, partitioner=[partitioner])
        (folder / name).write_bytes(edge.to_executorch().buffer)

    module, inputs, arguments = models.full()
    exported = torch.export.export(module, inputs, **arguments)
    torch.export.save(exported, folder / "full.pt2")
    lower("full.pte", exported, EtXnnpackPartitioner(runtime_options={"num_threads": 1}))
    lower("outside.pte", torch.export.export(module, inputs), EtXnnpackPartitioner(block_modules=["blocks.0.norm"]))
    lower("official.pte", torch.export.export(module.blocks, inputs[:1]), XnnpackPartitioner())
    lower("optional.pte", torch.export.export(*models.optional()), EtXnnpackPartitioner())
    for name in ("contiguous", "channels_last", "counts"):
        lower(f"{name}.pte", torch.export.export(*getattr(models, name)()), EtXnnpackPartitioner())
    lower("three_calls.pte", torch.export.export(*models.three_calls()), EtXnnpackPartitioner())
    torch.save({"x": inputs[0], "cluster": inputs[1]}, folder / "inputs.pt")
    with torch.no_grad():
        torch.save([module(*inputs)], folder / "outputs.pt")
        module.blocks[1].linear.bias += 0.5
        lower("changed.pte", torch.export.export(module, inputs, **arguments), EtXnnpackPartitioner())
    (folder / "text.pte").write_text("this is no program")
    return folder


@pytest.fixture(scope="session")
def command(folder):
    return Commands(folder)
