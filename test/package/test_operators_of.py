# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``tools/operators_of.py`` names what a smaller library must have; ``test/package/in_tree`` builds one."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from torch import nn

TOOL = Path(__file__).resolve().parents[2] / "tools" / "operators_of.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("operators_of", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def program(model: nn.Module, *inputs: torch.Tensor, delegated: bool = True) -> bytes:
    partitioners = [EtXnnpackPartitioner()] if delegated else []
    return (
        to_edge_transform_and_lower(torch.export.export(model.eval(), inputs), partitioner=partitioners)
        .to_executorch()
        .buffer
    )


def test_operators_of_a_program(tool):
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16))
    assert tool.operators_of(program(model, torch.rand(2, 8))) == {"Linear", "Unary", "LayerNorm"}


def test_operators_of_several_programs(tmp_path):
    for name, model in ("a", nn.Softmax(-1)), ("b", nn.AvgPool2d(2)):
        (tmp_path / f"{name}.pte").write_bytes(program(model, torch.rand(1, 3, 4, 4)))
    command = [sys.executable, "-W", "ignore", TOOL, tmp_path / "a.pte", tmp_path / "b.pte"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert {"AvgPool2d", "Softmax"} <= set(printed.strip().split(";"))


def test_a_program_without_a_delegate(tool):
    with pytest.raises(ValueError, match="no part of the program is delegated"):
        tool.operators_of(program(nn.GELU(), torch.rand(2, 3), delegated=False))
