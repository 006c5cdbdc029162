# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What lowering knows of the runtime is what the runtime's sources say."""

import importlib
import re

import pytest
from runtime_source import RUNTIME, constant

PACKAGE = "executorch.backends.et_xnnpack.aot"


@pytest.mark.parametrize(
    "module, name, cpp_name, path",
    [
        ("lowering.size_plan", "_MOST_BYTES", "kMaxTensorBytes", "program/tensor_type.h"),
        ("passes.fold_quantization", "_LARGEST_PRODUCT", "kLargestProduct", "ops/common/choose.cpp"),
    ],
)
def test_constant(module, name, cpp_name, path):
    assert getattr(importlib.import_module(f"{PACKAGE}.{module}"), name) == constant(cpp_name, path)


def test_operators_that_take_no_quantized_operands():
    sources = "".join(path.read_text() for path in (RUNTIME / "ops").rglob("*.cpp"))
    found = re.findall(r"^const OpImpl k(\w+)Op\{[^}]*/\*takes_quantized=\*/false\};", sources, re.MULTILINE)
    assert len(found) == sources.count("/*takes_quantized=*/false")
    take_floats = importlib.import_module(f"{PACKAGE}.passes.fold_quantization")._TAKE_FLOATS
    assert sorted(found) == sorted(operator.__name__ for operator in take_floats)
