# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The same random programs every time; ``make fuzz-programs`` takes others."""

from pathlib import Path

import pytest
import torch
from harness import needs_runtime
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from fuzz.coverage import covering_programs
from fuzz.differential import Compared, NotComparable, check
from fuzz.programs import Input, Program, programs, read_programs

pytestmark = needs_runtime


def test_random_programs_equal_eager():
    compared = Compared()

    @settings(max_examples=15, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(programs(), min_size=1, max_size=2))
    def compare(methods):
        before = compared.graphs
        compared.add(methods)
        assume(compared.graphs > before)

    compare()
    assert compared.files >= 10


REPRODUCERS = sorted((Path(__file__).parents[1] / "reproducers").glob("*.program"))


@pytest.mark.parametrize("path", REPRODUCERS, ids=lambda path: path.stem)
def test_what_once_differed_equals_eager(path):
    check(read_programs(path.read_text()))


def test_programs_are_read_as_they_are_printed():
    printed = covering_programs(of=15)
    read = read_programs("".join(map(repr, printed)))
    assert list(map(repr, read)) == list(map(repr, printed))


def test_a_result_alone_is_that_of_the_program():
    """So is what float64 makes of it: one graph that it cannot compute says nothing of the others."""
    shorter = 0
    for program in covering_programs(of=15):
        inputs = program.arguments(program.calls[0])
        with torch.no_grad():
            results = program.module()(*inputs)
            for i, result in enumerate(results):
                alone = program.only(i)
                assert torch.equal(alone.module()(*inputs)[0], result)
                shorter += len(alone.source) < len(program.source)
            parts = [result for half in program.halves() for result in half.module()(*inputs)]
            assert len(parts) == len(results) and all(map(torch.equal, parts, results))
    assert shorter


def test_what_is_not_comparable_costs_its_graph_alone():
    source = (
        "class Program(nn.Module):\n    def forward(self, x0):\n        v0 = x0.sin()\n"
        "        v1 = torch.linalg.qr(x0)[0]\n        v2 = v1 + 1\n        v3 = x0.cos()\n        return v0, v2, v3,\n"
    )
    epsilons, graphs = (torch.finfo(torch.float32).eps,) * 3, ((0,), (1,), (2,))
    program = Program(source, (Input((3, 3), torch.float32),), epsilons, (False,) * 3, graphs=graphs)
    with pytest.raises(NotComparable, match="linalg_qr") as refusal:
        check([program.without({1}), program])
    assert refusal.value.blamed == {1: {1}}
    compared = Compared()
    compared.add([program, program])
    assert (compared.files, compared.graphs) == (1, 4)
    assert list(compared.left_out.values()) == [2]


def test_types_of_executorch_alone_are_those_of_results_not_of_states():
    """A scalar of 16 bits and a number make float32 there."""
    source = (
        "class Program(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('a0', torch.zeros(()))\n\n    def forward(self, x0):\n"
        "        v0 = self.a0.add_(x0.sum()) * 1\n        v1 = F.relu(x0[0, 0]) * 0.5\n"
        "        return v0, v1,\n"
    )
    epsilons = (torch.finfo(torch.float32).eps,) * 2
    program = Program(source, (Input((1, 2), torch.float16),), epsilons, (False,) * 2)
    with pytest.raises(NotComparable, match="ExecuTorch computes in another type"):
        check([program])
