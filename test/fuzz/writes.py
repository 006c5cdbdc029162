# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Expressions that write into a part of a value, and those of states that live on from call to call."""

import torch

from fuzz.expressions import expression


def _float(value):
    return value.rank and value.is_float


@expression
def scatter_row(writer):
    if x := writer.value(_float):
        axis = writer.axis(x)
        row = f"{x.name}.narrow({axis}, 0, 1)"
        writer.add(f"{x.name}.scatter({axis}, torch.zeros_like({row}, dtype=torch.int64), {row} + 1)", (x,), True)


@expression
def scatter_reduce(writer):
    x = writer.value(_float)
    i = writer.value(lambda v: v.rank and v.dtype == torch.int64)
    if x and i:
        form = writer.form(
            """
            {x}.scatter({axis}, {i}, 2.0, reduce="add")
            torch.ops.aten.scatter.reduce({x}, {axis}, {i}, {x}, reduce="add")
            {x}.scatter_reduce({axis}, {i}, {x}, "amax") | {x}.scatter_reduce({axis}, {i}, {x}, "sum")
            """
        )
        axis = writer.axis(x)
        writer.add(form.format(x=x.name, axis=axis, i=f"{i.name} % {x.name}.shape[{axis}]"), (x, i), True)


@expression
def rows(writer):
    if x := writer.value(_float):
        axis = writer.axis(x)
        form = writer.form(
            """
            {x}.index_add({axis}, torch.tensor([0]), {row}) | {x}.index_copy({axis}, torch.tensor([0]), {row})
            {x}.index_fill({axis}, torch.tensor([0]), torch.tensor(2.0))
            {x}.select_scatter({row}.select({axis}, 0), {axis}, 0)
            {x}.slice_scatter({row} * 2, {axis}, 0, 1) | {x}.index_put((torch.tensor([0]),), {x}[:1] * 2)
            {x}.index_put((torch.tensor([0]),), {x}[:1], accumulate=True)
            """
        )
        writer.add(form.format(x=x.name, axis=axis, row=f"{x.name}.narrow({axis}, 0, 1)"), (x,), True)


@expression
def diagonal(writer):
    if x := writer.value(lambda v: _float(v) and v.rank == 2):
        writer.add(f"{x.name}.diagonal_scatter({x.name}.diagonal() * 2)", (x,), True)


@expression
def count(writer):
    if x := writer.value(lambda v: _float(v) and v.exact and v.dtype == torch.float32):
        writer.add(f"torch.histc({x.name}, 4, -2, 2)", (x,), True)


#: Each reads and writes its buffer once, so that the value of a call depends on the calls before alone.
STATES = {
    "torch.zeros(())": """
        self.{b}.add_({x}.sum()) * 1 | self.{b}.copy_({x}.amax()) + 1 | self.{b}.mul_(0.5).add_({x}.sum()) + 0
        """,
    "torch.zeros(3)": """
        self.{b}.index_copy_(0, torch.tensor([1]), {x}.flatten()[:1]) * 1 | self.{b}.roll(1).add({x}.sum())
        self.{b}.copy_({x}.amax().to(torch.float64)) + 1
        """,
    "torch.zeros(4, dtype=torch.int64)": "self.{b}.add_(torch.tensor([1, 2, 3, 4])) * 1",
    "torch.zeros(8, 2)": """
        self.{b}.index_copy_(0, torch.arange({x}.shape[0]) % 8, {x}.flatten(1)[:, :1].repeat(1, 2)) * 1
        """,
}


@expression
def state(writer):
    if x := writer.value(lambda v: v.rank and v.exact and v.dtype == torch.float32):
        initial = writer.pick(*STATES)
        form = writer.form(STATES[initial])
        name = writer.buffer(initial)
        writer.add(form.format(b=name, x=x.name), (x,), True)
