# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The Inspector names the operator whose kernel has an error. Each kernel is compiled anew with one, and linked with
the rest of the build: make planted-errors."""

import os
import shutil
from pathlib import Path

import numeric_gaps
import planted
import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from harness import needs_runtime
from torch import nn

BUILD = Path(os.environ.get("ET_XNNPACK_BUILD", planted.ROOT / "build" / "release"))

pytestmark = [
    pytest.mark.large,
    needs_runtime,
]


class Model(nn.Module):
    """Each operator with a kernel of ours changes what all behind it compute."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 7, padding=3, groups=8)  # leads the pass of the sine
        self.norm = nn.LayerNorm(8)
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))
        self.wide, self.head = nn.Linear(8, 16), nn.Linear(16, 5)

    def forward(self, x):
        y = self.stem(x)
        y = torch.sin(self.depthwise(y) * 2)
        y = self.norm(y.flatten(2).permute(0, 2, 1))
        y = nn.functional.scaled_dot_product_attention(*(f(y)[:, None] for f in (self.query, self.key, self.value)))
        return self.head(torch.erf(self.wide(y[:, 0])))


EXAMPLE = (torch.rand(2, 3, 7, 6),)


@pytest.fixture(scope="module")
def program():
    torch.manual_seed(0)
    exported = torch.export.export(Model().eval(), EXAMPLE)
    edge = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()], generate_etrecord=True)
    return edge.to_executorch()


# By what is named: the source, what stands there, and the error.
ERRORS = {
    None: ("runtime/kernels/norm/layer_norm.cpp", "1 / std::sqrt(moments.variance", "1 / std::sqrt(moments.variance"),
    "aten_layer_norm_default": (
        "runtime/kernels/norm/layer_norm.cpp",
        "1 / std::sqrt(moments.variance",
        "1.1 / std::sqrt(moments.variance",
    ),
    "aten_sin_default": (
        "runtime/kernels/conv/depthwise_row.cpp",
        "size_t r = rows.begin; r < rows.end;",
        "size_t r = rows.begin + 1; r < rows.end;",
    ),
    "aten_scaled_dot_product_attention_default": (
        "runtime/kernels/attention/attention.cpp",
        "problem_.scale = parameters.scale;",
        "problem_.scale = 3 * parameters.scale;",
    ),
    "aten_erf_default": (
        "runtime/kernels/elementwise/unary.cpp",
        "const Vector a = hn::Abs(x), square = hn::Mul(x, x);",
        "const Vector a = hn::Abs(x), square = hn::Mul(x, a);",
    ),
}


@pytest.mark.parametrize("operator", ERRORS)
def test_the_operator_with_the_error_is_the_first_that_differs(operator, program, tmp_path):
    if "ET_XNNPACK_BUILD" not in os.environ and not (BUILD / "build.ninja").exists():
        pytest.skip(f"{BUILD} is not there, or not made by Ninja")
    assert shutil.which("ninja")
    source, right, wrong = ERRORS[operator]
    library = planted.plant(BUILD, source, right, wrong, tmp_path)
    found = numeric_gaps.gaps(program, EXAMPLE, tmp_path, library=library)
    assert {"aten_convolution_default", *filter(None, ERRORS)} <= set(found), found
    wrong_from = next((name for name, gap in found.items() if gap > 1e-3), None)
    assert wrong_from == operator, found
