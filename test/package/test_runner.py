# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The runner of examples/cpp, built as by those who copy it: against the installed package."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.devtools import Inspector
from executorch.exir import to_edge_transform_and_lower
from harness import needs_runtime

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(et_xnnpack.__file__).parent
pytestmark = needs_runtime


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 5)
        self.linear = torch.nn.Linear(5, 3)

    def forward(self, x, tokens):
        return self.linear(x + self.embedding(tokens)), tokens + 1


MODEL = Model().eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the runner in ``build`` and ``model.pte``."""
    folder = tmp_path_factory.mktemp("runner")
    found = subprocess.run(
        [sys.executable, ROOT / "third-party" / "fetch.py", "cli11"], stdout=subprocess.PIPE, check=True
    )
    (folder / "CLI11Config.cmake").write_text(
        "add_library(CLI11::CLI11 INTERFACE IMPORTED)\n"
        f'target_include_directories(CLI11::CLI11 INTERFACE "{found.stdout.decode().strip()}/include")\n'
    )
    paths = [f"-DCMAKE_PREFIX_PATH={PACKAGE}", f"-DCLI11_DIR={folder}"]
    subprocess.run(["cmake", "-S", ROOT / "examples" / "cpp", "-B", folder / "build", *paths], check=True)
    subprocess.run(["cmake", "--build", folder / "build"], check=True)

    batch = torch.export.Dim("batch", max=8)
    example = (torch.rand(8, 5), torch.randint(0, 7, (8,)))
    exported = torch.export.export(MODEL, example, dynamic_shapes=({0: batch}, {0: batch}))
    manager = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
    (folder / "model.pte").write_bytes(manager.to_executorch().buffer)
    return folder


def run(folder, *words):
    command = [folder / "build" / "et_xnnpack_runner", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_given_inputs_give_what_eager_pytorch_gives(folder):
    x, tokens = torch.randn(3, 5), torch.tensor([6, 0, 2])
    x.numpy().tofile(folder / "x")
    tokens.numpy().tofile(folder / "tokens")
    shapes = ("--shape", "3x5", "--shape", "3")
    done = run(folder, "model.pte", "--input", "x", "--input", "tokens", *shapes, "--output", "y", "--calls", 3)
    assert done.returncode == 0, done.stderr
    assert "of 3\n" in done.stdout and "[3 x 3]" in done.stdout
    expected = MODEL(x, tokens)
    y = torch.from_numpy(np.fromfile(folder / "y", np.float32).reshape(3, 3))
    torch.testing.assert_close(y, expected[0])
    assert np.fromfile(folder / "y.1", np.int64).tolist() == expected[1].tolist()


@pytest.mark.parametrize(
    "words, count", [(("--threads", 3), 3), (("--threads", 1), 1), (("--one-thread",), 1)], ids=str
)
def test_as_many_threads_as_asked_for(words, count, folder):
    done = run(folder, "model.pte", *words, "--high", 7)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{count} thread{'s' * (count > 1)}; load ")


@pytest.mark.parametrize("threads", [(), ("--threads", "3"), ("--one-thread",)], ids=str)
def test_random_inputs_are_the_same_for_the_same_seed(threads, folder):
    outputs = []
    for seed in (1, 1, 2):
        done = run(folder, "model.pte", "--seed", seed, "--high", 7, *threads, "--calls", 1, "--output", "z")
        assert done.returncode == 0, done.stderr
        outputs.append((folder / "z").read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


def test_options_and_etdump(folder):
    done = run(
        folder, "model.pte", "--option", "num_threads=1", "--option", "packed_cache_path=model.packed",
        "--option", "weight_cache=false", "--etdump", "model.etdump",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "model.packed").stat().st_size > 0
    blocks = Inspector(etdump_path=str(folder / "model.etdump")).event_blocks
    names = {event.name for block in blocks for event in block.events if event.is_delegated_op}
    assert "pack" in names and any(name.endswith(" Linear") for name in names)


@pytest.mark.parametrize(
    "words, message",
    [
        (["missing.pte"], "missing.pte"),
        (["model.pte", "--input", "model.pte"], "bytes, but input 0 has 160"),
        (["model.pte", "--shape", "3xy"], "3xy: is not such as 1x3x224x224"),
        (["model.pte", "--shape", "9x5", "--shape", "9"], "forward: "),
        (["model.pte", "--shape", "8"], "8: input 0 has 2 sizes"),
        (["model.pte", "--shape", "8x5x1", "--shape", "8"], "8x5x1: input 0 has 2 sizes"),
        (["model.pte", "--shape", "2147483647x2147483647", "--shape", "8"], "input 0: it is larger than any memory"),
        (["model.pte", "--option", "num_threads"], "num_threads: is not such as num_threads=1"),
        (["model.pte", "--option", "no_such=1"], "model.pte, method forward: "),
        (["model.pte", "--method", "backward"], "model.pte, method backward: "),
        (["model.pte", "--library", "missing.so"], "missing.so: cannot be loaded"),
        (["model.pte", "--high", "7", "--maps", "missing/maps"], "missing/maps: cannot be written"),
        (["model.pte", "--calls", "0"], "--calls"),
        (["model.pte", "--threads", "0"], "--threads"),
        (["model.pte", "--threads", "2", "--one-thread"], "excludes"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_said(words, message, folder):
    done = run(folder, *words)
    assert done.returncode not in (0, -6, -11)
    assert message in done.stderr
