# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Random programs reach every operator that is delegated, or there is a reason why not."""

import pytest
import torch
from executorch.backends.et_xnnpack.aot.ops import ROWS
from harness import needs_runtime

from fuzz.coverage import LEFT_OUT, covering_programs, missing
from fuzz.differential import Compared, NotComparable, check
from fuzz.expressions import forms
from fuzz.programs import Input, Program
from fuzz.searches import FOUND_OF_FOUND, KEPT, KNOWN_OF_FOUND, OF_ANY, OF_INTEGERS

pytestmark = needs_runtime


def test_what_is_left_out_is_delegated():
    for beginning in LEFT_OUT:
        assert any(op.startswith(beginning) for op in ROWS), beginning


SEARCHES = {torch.float32: OF_ANY + KEPT, torch.int64: OF_ANY + OF_INTEGERS}


@pytest.mark.parametrize("dtype", SEARCHES, ids=str)
def test_sizes_found_in_data_are_compared(dtype):
    """Each search, and each that reads what the first one found."""
    searches = [f"at_most({form.format(x='x0')}, 108)" for form in forms(SEARCHES[dtype])]
    expressions = searches + [form.format(x="v2") for form in forms(FOUND_OF_FOUND) + forms(KNOWN_OF_FOUND)]
    names = [f"v{i}" for i in range(len(expressions))]
    lines = [f"{name} = {expression}" for name, expression in zip(names, expressions, strict=True)]
    head = ["class Program(nn.Module):", "    def forward(self, x0):"]
    source = "\n".join([*head, *(f"        {line}" for line in lines), f"        return {', '.join(names)},\n"])
    count = len(names)
    graphs = tuple((i,) for i in range(count))
    program = Program(source, (Input(("n", "m"), dtype),), (0.0,) * count, (True,) * count, graphs=graphs)
    compared = Compared()
    compared.add([program])
    assert compared.left_out == {}
    assert compared.graphs == count


@pytest.mark.large
def test_every_operator_is_in_a_program():
    reached = set()
    for program in covering_programs(of=2000):
        try:
            reached |= check([program])
        except NotComparable:
            continue
    assert missing(reached) == []
