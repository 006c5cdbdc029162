#!/usr/bin/env python3
# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Computes the polynomials and constants of the mathematical functions in runtime/kernels.

python tools/polynomials.py           writes runtime/kernels/simd/polynomials.h
python tools/polynomials.py --check   only says, by its exit status, whether it is up to date
python tools/polynomials.py --errors  prints the largest error of each polynomial over its interval
"""

import argparse
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from mpmath import mp, mpf, workprec

HEADER = Path(__file__).resolve().parent.parent / "runtime" / "kernels" / "simd" / "polynomials.h"
POINTS = 1500  # of the grid on which the extrema of an error are sought; even, so that none is in the middle
SWEEP = 5_000  # arguments for which errors are computed

mp.prec = 120


@dataclass(frozen=True)
class Format:
    """A floating-point type of C++."""

    name: str
    suffix: str
    bits: int  # of the significand
    numpy: type

    def round(self, x: mpf) -> mpf:
        with workprec(self.bits):
            return +x

    def literal(self, x: mpf) -> str:
        digits, exponent = float(x).hex().split("p")
        return f"{digits.rstrip('0').rstrip('.')}p{exponent}{self.suffix}"


FLOAT = Format("float", "f", 24, np.float32)
DOUBLE = Format("double", "", 53, np.float64)


@dataclass(frozen=True)
class Polynomial:
    """The polynomial p for which combine(t, p(t)) comes closest to function(t) for t of an interval.

    combine is linear in p. Closest is that whose largest relative error is smallest.
    """

    name: str
    comment: str
    function: Callable[[mpf], mpf]
    combine: Callable[[mpf, mpf], mpf]  # of NumPy's numbers, too
    interval: tuple[mpf, mpf]
    degree: int
    format: Format = FLOAT

    def fit(self) -> list[mpf]:
        """The coefficients from that of 1 on, rounded to the format."""
        low, high = self.interval
        t = [(low + high - (high - low) * mp.cos(mp.pi * (i + 0.5) / POINTS)) / 2 for i in range(POINTS)]
        scale = [self.combine(x, mpf(1)) - self.combine(x, mpf(0)) for x in t]
        right = [self.function(x) for x in t]
        target = [(y - self.combine(x, mpf(0))) / s for x, y, s in zip(t, right, scale, strict=True)]
        weight = [abs(s / y) for y, s in zip(right, scale, strict=True)]
        p = minimax(t, target, weight, self.degree)
        # One by one. Those not rounded yet make up for the error, as far as least squares can.
        powers = np.array([[w * x**k for k in range(self.degree + 1)] for x, w in zip(t, weight, strict=True)], float)
        for k in range(self.degree + 1):
            exact, p[k] = p[k], self.format.round(p[k])
            shift = np.linalg.lstsq(powers[:, k + 1 :], powers[:, k] * float(exact - p[k]))[0]
            p[k + 1 :] = [c + mpf(float(s)) for c, s in zip(p[k + 1 :], shift, strict=True)]
        return p

    def error(self, coefficients: Sequence[mpf]) -> mpf:
        """The largest relative error where all but the coefficients is exact."""
        return max(abs(self.combine(t, evaluate(coefficients, t)) / self.function(t) - 1) for t in self._sweep())

    def ulps(self, coefficients: Sequence[mpf]) -> mpf:
        """The largest error of the result rounded to float32, in units of its last place, where p(t) is computed in the
        format by fused multiply-adds, and all else is exact."""
        number = self.format.numpy
        worst = mpf(0)
        for t in self._sweep():
            x = number(t)
            p = number(coefficients[-1])
            for c in coefficients[-2::-1]:
                p = number(np.longdouble(x) * np.longdouble(p) + np.longdouble(number(c)))
            right = self.function(mpf(float(x)))
            error = FLOAT.round(self.combine(mpf(float(x)), mpf(float(p)))) - right
            worst = max(worst, abs(error) / mpf(2) ** (mp.floor(mp.log(abs(right), 2)) - FLOAT.bits + 1))
        return worst

    def _sweep(self):
        low, high = self.interval
        return [low + (high - low) * (i + mpf(0.5)) / SWEEP for i in range(SWEEP)]


def evaluate(coefficients: Sequence[mpf], t: mpf) -> mpf:
    return mp.polyval(list(coefficients[::-1]), t)


def minimax(t: Sequence[mpf], target: Sequence[mpf], weight: Sequence[mpf], degree: int) -> list[mpf]:
    """The polynomial p whose largest weight * |p(t) - target| is smallest, by Remez' algorithm on a grid.

    The error of that one takes its largest size at degree + 2 points, with signs that alternate. Each try is the
    polynomial with errors of one size at such points, and the next points are where its error is largest.
    """
    count = degree + 2
    points = [round((1 - mp.cos(mp.pi * i / (count - 1))) / 2 * (len(t) - 1)) for i in range(count)]
    for _ in range(50):
        rows = [[*(t[i] ** k for k in range(count - 1)), (-1) ** n / weight[i]] for n, i in enumerate(points)]
        *p, size = mp.lu_solve(mp.matrix(rows), mp.matrix([target[i] for i in points]))
        error = [w * (evaluate(p, x) - y) for x, y, w in zip(t, target, weight, strict=True)]
        points = alternating_peaks(error, count)
        if max(abs(e) for e in error) <= abs(size) * (1 + mpf(10) ** -12):
            return p
    raise RuntimeError("Remez' algorithm does not converge")


def alternating_peaks(error: Sequence[mpf], count: int) -> list[int]:
    """Where ``error`` is largest, ``count`` times with signs that alternate."""
    peaks: list[int] = []
    for i, e in enumerate(error):
        if peaks and (e > 0) == (error[peaks[-1]] > 0):
            if abs(e) > abs(error[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:  # signs must still alternate
        sizes = [abs(error[i]) for i in peaks]
        least = sizes.index(min(sizes))
        if len(peaks) == count + 1 or least in (0, len(peaks) - 1):
            del peaks[0 if sizes[0] < sizes[-1] else -1]
        else:
            first = least if sizes[least + 1] < sizes[least - 1] else least - 1
            del peaks[first : first + 2]
    if len(peaks) < count:
        raise RuntimeError("the error does not change its sign often enough")
    return peaks


HALF_LN2 = mp.ln(2) / 2
TAIL_SLOPE = FLOAT.round(mpf(303) / 1000)


def upper_tail(u: mpf) -> mpf:
    """How much of the normal distribution lies above a, over exp(-a^2 / 2), for u = 1 / (1 + TAIL_SLOPE a)."""
    a = (1 / u - 1) / TAIL_SLOPE
    return mp.erfc(a / mp.sqrt(2)) / 2 * mp.exp(a * a / 2)


POLYNOMIALS = [
    Polynomial(
        "kExp",
        "exp(r) = 1 + r + r^2 p(r) for |r| <= ln(2) / 2",
        mp.exp,
        lambda r, p: 1 + r + r * r * p,
        (-HALF_LN2, HALF_LN2),
        4,
    ),
    Polynomial(
        "kExpNonpositive",
        "exp(r) = 1 + r p(r) for |r| <= ln(2) / 2",
        mp.exp,
        lambda r, p: 1 + r * p,
        (-HALF_LN2, HALF_LN2),
        4,
    ),
    Polynomial(
        "kUpperTail",
        "Q(a) = exp(-a^2 / 2) p(u) for 0 <= a <= 20, where Q(a) is how much of the normal distribution lies above a,\n"
        "// and u = 1 / (1 + kUpperTailSlope a)",
        upper_tail,
        lambda u, p: p,
        (1 / (1 + 20 * TAIL_SLOPE), mpf(1)),
        8,
    ),
    Polynomial(
        "kErf",
        "erf(x) = x + x p(x^2) for |x| <= 1",
        lambda t: mp.erf(t**0.5),
        lambda t, p: t**0.5 * (1 + p),
        (mpf(0), mpf(1)),
        6,
    ),
    Polynomial(
        "kSin",
        "sin(r) = r + r^3 p(r^2) for |r| <= pi / 2",
        lambda t: mp.sin(t**0.5),
        lambda t, p: t**0.5 * (1 + t * p),
        (mpf(0), (mp.pi / 2) ** 2),
        3,
    ),
    Polynomial(
        "kLog2",
        "log2(m) = s p(s^2) for sqrt(1/2) <= m <= sqrt(2), s = (m - 1) / (m + 1)",
        lambda t: mp.log((1 + t**0.5) / (1 - t**0.5), 2),
        lambda t, p: t**0.5 * p,
        (mpf(0), ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2),
        4,
        DOUBLE,
    ),
    Polynomial(
        "kExp2",
        "2^r = 1 + r p(r) for |r| <= 1/2",
        lambda r: mpf(2) ** r,
        lambda r, p: 1 + r * p,
        (mpf(-0.5), mpf(0.5)),
        5,
        DOUBLE,
    ),
]


def split(x: mpf, *bits: int) -> list[mpf]:
    """Numbers of so many bits, each closest to what those before leave of ``x``."""
    parts = []
    for count in bits:
        with workprec(count):
            part = +x
        parts.append(part)
        x -= part
    return parts


def towards_zero(x: mpf) -> mpf:
    rounded = FLOAT.round(x)
    return rounded if abs(rounded) <= abs(x) else mpf(float(np.nextafter(np.float32(rounded), np.float32(0))))


SMALLEST_NORMAL = mpf(2) ** -126
# Name, comment, value or values.
CONSTANTS = [
    ("kLog2E", "log2(e)", FLOAT.round(1 / mp.ln(2))),
    ("kLn2", "ln(2) as a sum. A product of the first with an integer of 8 bits is exact", split(mp.ln(2), 16, 24)),
    ("kLogOfSmallestNormal", "The least number whose exponential is normal", towards_zero(mp.ln(SMALLEST_NORMAL))),
    ("kOneOverPi", "1 / pi", FLOAT.round(1 / mp.pi)),
    ("kPi", "pi as a sum", split(mp.pi, 24, 24, 24)),
    ("kSqrt2", "sqrt(2)", FLOAT.round(mp.sqrt(2))),
    (
        "kGeluTanh",
        "The tanh approximation of gelu(x) is x / (1 + exp(-2 x p(x^2))), p(x^2) = sqrt(2 / pi) (1 + 0.044715 x^2)",
        [FLOAT.round(c * mp.sqrt(2 / mp.pi)) for c in (1, mpf(44715) / 10**6)],
    ),
    ("kUpperTailSlope", "Chosen so that the error of kUpperTail, which has few terms, is small", TAIL_SLOPE),
]


def declaration(name: str, comment: str, format: Format, value) -> list[str]:
    start = f"inline constexpr {format.name} {name}"
    if isinstance(value, mpf):
        return [f"// {comment}.", f"{start} = {format.literal(value)};"]
    numbers = [format.literal(c) for c in value]
    line = f"{start}[] = {{{', '.join(numbers)}}};"
    lines = [line] if len(line) <= 120 else [f"{start}[] = {{", *(f"    {number}," for number in numbers), "};"]
    return [f"// {comment}.", *lines]


def header() -> str:
    lines = [
        "// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.",
        "#pragma once",
        "",
        "#include <cstdint>",
        "",
        "// Written by tools/polynomials.py. The coefficients of each polynomial p go from that of 1 to that of the",
        "// highest power. Errors are relative to the result, and those of the coefficients alone.",
        "",
        "namespace executorch::backends::et_xnnpack {",
        "",
    ]
    for name, comment, value in CONSTANTS:
        lines += [*declaration(name, comment, FLOAT, value), ""]
    root = struct.unpack("<Q", struct.pack("<d", float(mp.sqrt(0.5))))[0]
    lines += ["// The bits of sqrt(1/2) in float64.", f"inline constexpr int64_t kSqrtHalfBits = 0x{root:X};", ""]
    for polynomial in POLYNOMIALS:
        coefficients = polynomial.fit()
        comment = f"{polynomial.comment}, within {mp.nstr(polynomial.error(coefficients), 2)}"
        lines += [*declaration(polynomial.name, comment, polynomial.format, coefficients), ""]
    return "\n".join([*lines, "} // namespace executorch::backends::et_xnnpack", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if the header is out of date")
    parser.add_argument("--errors", action="store_true", help="write nothing, print errors")
    arguments = parser.parse_args()
    if arguments.errors:
        print(f"{'':16} {'relative':>10}  as float32")
        for polynomial in POLYNOMIALS:
            p = polynomial.fit()
            print(f"{polynomial.name:16} {float(polynomial.error(p)):10.2e} {float(polynomial.ulps(p)):7.3f} ulp")
        return 0
    text = header()
    if not arguments.check:
        HEADER.write_text(text)
    elif not HEADER.is_file() or HEADER.read_text() != text:
        print(f"{HEADER.name} is out of date: run python tools/polynomials.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
