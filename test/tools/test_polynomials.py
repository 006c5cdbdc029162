# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Coefficients in the kernels are those that tools/polynomials.py computes."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from mpmath import mp, mpf

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def polynomials():
    spec = importlib.util.spec_from_file_location("polynomials", ROOT / "tools" / "polynomials.py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_header_is_up_to_date(polynomials):
    assert polynomials.HEADER.read_text() == polynomials.header()


def test_there_are_no_others(polynomials):
    for file in (ROOT / "runtime").rglob("*.[hc]*"):
        if file != polynomials.HEADER:
            numbers = re.findall(r"0x[01]\.[0-9a-f]{4,}p|\b\d+\.\d{6,}|\b\d\.\d{5,}e", file.read_text())
            assert not numbers, f"{file.relative_to(ROOT)}: tools/polynomials.py should compute {numbers}"


def test_the_best_approximation_is_found(polynomials):
    # Known from Chebyshev's polynomials: of x^3 for |x| <= 1, and of 1 / x for 1 <= x <= 2, relative.
    t = [-mp.cos(mp.pi * i / 2000) for i in range(2001)]
    p = polynomials.minimax(t, [x**3 for x in t], [mpf(1)] * len(t), 2)
    assert [float(c) for c in p] == pytest.approx([0, 0.75, 0], abs=1e-6)
    t = [1 + mpf(i) / 2000 for i in range(2001)]
    p = polynomials.minimax(t, [1 / x for x in t], t, 1)
    errors = [float(x * polynomials.evaluate(p, x) - 1) for x in (mpf(1), mpf(1.5), mpf(2))]
    assert errors == pytest.approx([-1 / 17, 1 / 17, -1 / 17])


def test_rounded_coefficients_are_good(polynomials):
    for polynomial in polynomials.POLYNOMIALS:
        coefficients = polynomial.fit()
        assert all(polynomial.format.round(c) == c for c in coefficients)
        assert polynomial.ulps(coefficients) < 3
