# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How exact operators are, on values that are hard to compute with."""

import pytest
import torch
from harness import needs_runtime

from numerics import cases, measure, table
from numerics.cases import FAMILIES, LARGEST, RESULT, TERMS, Case


@needs_runtime
@pytest.mark.parametrize("family", FAMILIES)
def test_is_as_exact_as_the_page_says(family):  # Robustness: I5
    measured = measure.measure(FAMILIES[family])
    assert {m.case.name: m.problem for m in measured if m.problem} == {}
    assert {m.case.name: m.error for m in measured if m.error > m.case.bound} == {}


def test_page_is_up_to_date():
    assert table.is_up_to_date(), "`python -m numerics.table` in the folder test writes it"


def numbers(*values):
    return torch.tensor([values])


def compared(function, x, result, bound=1.0, unit=RESULT):
    return measure.compare(Case("case", function, lambda: (x,), bound, unit), result)


def test_unit_is_the_distance_of_neighbours():
    x = numbers(1.0, 3.0, -0.1, 1e-40)
    for unit, errors in ((RESULT, [1, 1, 1, 1]), (LARGEST, [0.5, 1, 2**-5, 2.0**-127])):
        for i, error in enumerate(errors):
            result = x.clone()
            result[0, i] = torch.nextafter(x[0, i], torch.tensor(10.0))
            assert compared(torch.clone, x, result, unit=unit).error == error
    x = numbers(1.0, 2.0, -2.5)  # the terms have 5.5 together, and float32 steps of 2^-21 there
    assert compared(lambda x: x.sum(1), x, torch.tensor([0.5 + 2.0**-21]), unit=TERMS).error == 1


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1.0, 0.0, -float("inf")])
def test_another_class_is_found(wrong):
    x = numbers(1.0, 2.0)
    assert compared(torch.clone, x, x.clone()).problem == ""
    assert "element 1, of 2: " in compared(torch.clone, x, numbers(1.0, wrong)).problem


def test_sign_of_zero_is_found():
    x = numbers(-0.0, 1.0)
    assert "element 0, of -0: 0, eager PyTorch has -0" in compared(torch.clone, x, numbers(0.0, 1.0)).problem


def test_beside_the_border_of_a_class_either_is_right():
    x = numbers(200.0, -104.0)
    assert compared(torch.exp, x, numbers(float("inf"), 0.0)).problem == ""
    assert compared(torch.exp, x, numbers(float("inf"), 1e-45)).problem == ""
    assert "element 1" in compared(torch.exp, x, numbers(float("inf"), 1e-44)).problem
    assert "element 0" in compared(torch.exp, x, numbers(3e38, 0.0)).problem


def test_every_kind_is_measured():
    """A new kind of an elementwise operator or of a reduction needs a case here."""
    from executorch.backends.et_xnnpack.serialization.schema import BinaryKind, ReduceKind, UnaryKind

    found = {k for family in FAMILIES.values() for k in measure.kinds(family)}
    of_bits = {BinaryKind.BitAnd, BinaryKind.BitOr, BinaryKind.BitXor}
    missing = {(kinds, k) for kinds in (UnaryKind, BinaryKind, ReduceKind) for k in kinds} - found
    assert missing == {(type(k), k) for k in of_bits}


#: Operators that have no case, and where they are compared.
ELSEWHERE = {
    "Quantize": "rounds to integers, which eager PyTorch does in float32 only: test/ops/test_quantized.py",
    "Dequantize": "as Quantize",
    "ChooseQParams": "finds scales for integers: test/ops/test_dynamic.py",
    "QuantizedLinear": "multiplies rounded numbers: test/ops/test_dynamic.py",
    "Iota": "makes integers: test/samples/shape.py",
    "SizeValue": "a size as an integer: test/samples/shape.py",
    "Nonzero": "finds places: test/samples/find.py",
    "RepeatIndices": "counts: test/samples/find.py",
    "NonMaxSuppression": "finds places: test/samples/find.py",
    "Reshape": "moves nothing",
}


def test_every_operator_is_measured():
    """A new operator needs a case, or a reason why not."""
    from executorch.backends.et_xnnpack.serialization import schema_generated

    found = {k for family in FAMILIES.values() for k in measure.kinds(family) if isinstance(k, str)}
    operators = {name for name, value in vars(schema_generated.Attributes).items() if isinstance(value, int) and value}
    assert operators - found == set(ELSEWHERE) - found
    assert set(ELSEWHERE) <= operators


def test_values_have_all_magnitudes():
    exponents = torch.frexp(cases.EVERYWHERE()[0]).exponent
    assert set(range(-148, 129)) <= set(exponents.tolist())
