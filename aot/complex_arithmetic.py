# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What arithmetic of complex numbers is in terms of real and imaginary parts."""

import cmath
import math
from collections.abc import Callable

import torch

from .complex_rules import RULES, any_rule, both_parts_of, joined, parts_of, rule

_aten = torch.ops.aten

__all__ = ["RULES"]  # with those of ``complex_rules``


def _sum(a, b):
    """The sum of parts, of which one may be None."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _difference(a, b):
    if a is None or b is None:
        return a if b is None else -b
    return a - b


def _filled(x, like):
    """A part that is a number, or of a smaller shape or another type, with the shape and the type of ``like``."""
    if x is None or not isinstance(x, torch.Tensor):
        return torch.full_like(like, x or 0)
    return (x if x.shape == like.shape else x.expand(like.shape)).to(like.dtype)


def _result(real, imag):
    """Of parts that may be numbers, None or smaller than each other."""
    parts = [p for p in (real, imag) if isinstance(p, torch.Tensor)]
    shape = torch.broadcast_shapes(*(p.shape for p in parts))
    like = next((p for p in parts if p.shape == shape), None)
    like = parts[0].expand(shape) if like is None else like
    like = like.to(torch.result_type(parts[0], parts[-1]))
    return joined(_filled(real, like), _filled(imag, like))


@any_rule(_aten.polar.default)
def _polar(abs, angle):
    return _result(abs * torch.cos(angle), abs * torch.sin(angle))


@rule(_aten.add.Tensor, _aten.add.Scalar)
def _add(a, b, alpha=1):
    if alpha != 1:
        b = b * alpha
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    return _result(_sum(ar, br), _sum(ai, bi))


@rule(_aten.sub.Tensor, _aten.sub.Scalar)
def _sub(a, b, alpha=1):
    if alpha != 1:
        b = b * alpha
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    return _result(_difference(ar, br), _difference(ai, bi))


@rule(_aten.rsub.Tensor, _aten.rsub.Scalar)
def _rsub(a, b, alpha=1):
    if alpha != 1:
        a = a * alpha
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    return _result(_difference(br, ar), _difference(bi, ai))


def _bilinear(operator: Callable, a, b):
    """A product of any kind."""
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    real, imag = operator(ar, br), None
    if ai is not None and bi is not None:
        real, imag = real - operator(ai, bi), operator(ar, bi) + operator(ai, br)
    elif bi is not None:
        imag = operator(ar, bi)
    elif ai is not None:
        imag = operator(ai, br)
    return _result(real, imag)


for _operator in (
    _aten.mul.Tensor,
    _aten.mul.Scalar,
    _aten.bmm.default,
    _aten.dot.default,
    _aten.mm.default,
    _aten.mv.default,
):

    @rule(_operator)
    def _product(a, b, operator=_operator):
        product = torch.mul if operator in (_aten.mul.Tensor, _aten.mul.Scalar) else operator
        return _bilinear(product, a, b)


@rule(_aten.addmm.default)
def _addmm(x, a, b, *, beta=1, alpha=1):
    product = torch.mm(a, b)
    product = product if alpha == 1 else product * alpha
    return product + (x if beta == 1 else x * beta)


@rule(_aten.baddbmm.default)
def _baddbmm(x, a, b, *, beta=1, alpha=1):
    product = torch.bmm(a, b)
    product = product if alpha == 1 else product * alpha
    return product + (x if beta == 1 else x * beta)


def _larger(real, imag):
    return torch.maximum(real.abs(), imag.abs())


def _divisor(size):
    """``size``, neither zero nor infinite."""
    info = torch.finfo(size.dtype)
    return torch.clamp(size, info.tiny * info.eps, info.max)


def _scaled_reciprocal(x):
    """``real``, ``imag`` and ``size``: 1 / ``x`` is (real - imag i) / size, without squares of large or small numbers.

    Of zero it is 1 / 0, so that what is divided by zero is infinite or NaN in each part by itself.
    """
    real, imag = parts_of(x)
    size = _larger(real, imag)
    scale = _divisor(size)
    real, imag = torch.where(size == 0, 1.0, real / scale), imag / scale
    square = real * real + imag * imag
    return real / square, imag / square, torch.clamp(size, max=torch.finfo(size.dtype).max)


@rule(_aten.div.Tensor, _aten.div.Scalar)
def _div(a, b):
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    if bi is None:
        return joined(ar / br, ai / br)
    if not isinstance(b, torch.Tensor):
        return a * (1 / b) if b else joined(*(part / 0.0 for part in both_parts_of(a)))
    br, bi, size = _scaled_reciprocal(b)
    if ai is None:
        return _result(ar * br / size, -(ar * bi) / size)
    return _result((ar * br + ai * bi) / size, (ai * br - ar * bi) / size)


@rule(_aten.reciprocal.default)
def _reciprocal(x):
    real, imag, size = _scaled_reciprocal(x)
    return joined(real / size, -imag / size)


@rule(_aten.abs.default)
def _abs(x):
    """As hypot: the larger part times sqrt(1 + (smaller / larger)^2); infinite if one part is, even beside NaN."""
    real, imag = parts_of(x)
    a, b = real.abs(), imag.abs()
    larger = torch.maximum(a, b)
    ratio = torch.minimum(a, b) / _divisor(larger)
    return torch.where((a == math.inf) | (b == math.inf), math.inf, larger * torch.sqrt(ratio * ratio + 1))


@rule(_aten.angle.default)
def _angle(x):
    real, imag = parts_of(x)
    return torch.atan2(imag, real)


@rule(_aten.sgn.default)
def _sgn(x):
    scale = _divisor(_larger(*parts_of(x)))
    real, imag = (part / scale for part in parts_of(x))
    size = torch.sqrt(real * real + imag * imag)
    size = torch.where(size == 0, 1.0, size)
    return joined(real / size, imag / size)


@rule(_aten.exp.default)
def _exp(x):
    real, imag = parts_of(x)
    size = torch.exp(real)
    return joined(size * torch.cos(imag), size * torch.sin(imag))


@rule(_aten.log.default)
def _log(x):
    return joined(torch.log(_abs(x)), _angle(x))


@rule(_aten.sqrt.default)
def _sqrt(x):
    """Scaled by a power of 4, so that nothing is denormal, or infinite where the root is not."""
    real, imag = parts_of(x)
    info = torch.finfo(real.dtype)
    is_small = _larger(real, imag) < 1
    root = 2.0 ** (2 - math.log2(info.eps) // 2)
    scale = torch.where(is_small, root * root, 1 / 16).to(real.dtype)
    real, imag = real * scale, imag * scale
    large = torch.sqrt(_abs(joined(real, imag)) * 0.5 + real.abs() * 0.5)
    small = imag.abs() / torch.clamp(large * 2, min=info.tiny)
    back = torch.where(is_small, 1 / root, 4.0).to(real.dtype)
    large, small = large * back, small * back
    is_right = real >= 0
    return joined(torch.where(is_right, large, small), torch.copysign(torch.where(is_right, small, large), imag))


@rule(_aten.sin.default)
def _sin(x):
    real, imag = parts_of(x)
    return joined(torch.sin(real) * torch.cosh(imag), torch.cos(real) * torch.sinh(imag))


@rule(_aten.cos.default)
def _cos(x):
    real, imag = parts_of(x)
    return joined(torch.cos(real) * torch.cosh(imag), -(torch.sin(real) * torch.sinh(imag)))


def _tanh(real, imag):
    """Beyond 20 the real part is 1 and the imaginary one 0, where squares would become infinite."""
    real = torch.clamp(real, -20, 20)
    a, b, cosine = torch.sinh(real), torch.sin(imag), torch.cos(imag)
    divisor = a * a + cosine * cosine
    return a * torch.cosh(real) / divisor, b * cosine / divisor


@rule(_aten.sinh.default)
def _sinh(x):
    real, imag = parts_of(x)
    return joined(torch.sinh(real) * torch.cos(imag), torch.cosh(real) * torch.sin(imag))


@rule(_aten.cosh.default)
def _cosh(x):
    real, imag = parts_of(x)
    return joined(torch.cosh(real) * torch.cos(imag), torch.sinh(real) * torch.sin(imag))


@rule(_aten.tanh.default)
def _tanh_rule(x):
    return joined(*_tanh(*parts_of(x)))


@rule(_aten.tan.default)
def _tan(x):
    real, imag = parts_of(x)
    imag, real = _tanh(imag, real)  # tan(x) = -i tanh(ix)
    return joined(real, imag)


@rule(_aten.expm1.default)
def _expm1(x):
    real, imag = parts_of(x)
    half = torch.sin(imag * 0.5)
    return joined(torch.expm1(real) * torch.cos(imag) - half * half * 2, torch.exp(real) * torch.sin(imag))


@rule(_aten.log1p.default)
def _log1p(x):
    """|1 + x|^2 is 1 plus what log1p takes, which keeps the digits of small numbers; of others log does."""
    real, imag = parts_of(x)
    small = torch.log1p(real * (real + 2) + imag * imag) * 0.5
    shifted = x + 1
    return joined(torch.where(_abs(x) < 0.5, small, torch.log(_abs(shifted))), _angle(shifted))


@rule(_aten.log2.default)
def _log2(x):
    return torch.log(x) * (1 / math.log(2))


@rule(_aten.log10.default)
def _log10(x):
    return torch.log(x) * (1 / math.log(10))


@rule(_aten.sigmoid.default)
def _sigmoid(x):
    """1 / (1 + exp(-x)), and left of 0 the same with exp(x), which does not become infinite."""
    is_left = parts_of(x)[0] < 0
    power = torch.exp(torch.where(is_left, x, -x))
    return torch.where(is_left, power, torch.ones_like(power)) / (power + 1)


@rule(_aten.rsqrt.default)
def _rsqrt(x):
    return torch.reciprocal(torch.sqrt(x))


def _power(x, exponent, of_zero):
    """``of_zero`` has the parts of 0 to ``exponent``, for which the logarithm of 0 is no use."""
    parts = parts_of(torch.exp(torch.log(x) * exponent))
    is_zero = x == 0
    return joined(*(torch.where(is_zero, a, b).to(b.dtype) for a, b in zip(of_zero, parts, strict=True)))


def _powers_of_zero(exponent):
    """0 right of the imaginary axis, infinite left of it, and on it 1 at 0 alone."""
    real, imag = both_parts_of(exponent)
    is_zero, is_one = real > 0, (real == 0) & (imag == 0)
    is_finite = is_zero | is_one
    infinite = torch.where(real < 0, math.inf, math.nan)
    return torch.where(is_finite, is_one.to(infinite.dtype), infinite), torch.where(is_finite, 0.0, math.nan)


def _power_of_zero(exponent: complex):
    if exponent == 0 or exponent.real > 0:
        return float(exponent == 0), 0.0
    return math.inf if exponent.real < 0 else math.nan, math.nan


@rule(_aten.pow.Tensor_Tensor)
def _pow_of_tensors(x, exponent):
    if not x.is_complex():  # the logarithm of a negative number is complex
        real = x.to(torch.result_type(x, parts_of(exponent)[0]))
        x = joined(real, torch.zeros_like(real))
    return _power(x, exponent, _powers_of_zero(exponent))


@rule(_aten.pow.Scalar)
def _pow_of_number(x, exponent):
    if x == 0:
        return joined(*(part.to(parts_of(exponent)[0].dtype) for part in _powers_of_zero(exponent)))
    return torch.exp(exponent * cmath.log(x))


@rule(_aten.prod.dim_int)
def _prod(x, dim, keepdim=False, dtype=None):
    """The product of the halves, of which an odd number is left over."""
    x = x if dtype is None else x.to(dtype)
    if x.dim() == 0:
        return x.clone()
    if not isinstance(x.shape[dim], int) or x.shape[dim] == 0:
        return NotImplemented
    while (count := x.shape[dim]) > 1:
        half = count // 2
        product = x.narrow(dim, 0, half) * x.narrow(dim, half, half)
        x = torch.cat([product, x.narrow(dim, 2 * half, 1)], dim) if count % 2 else product
    return x if keepdim else x.squeeze(dim)


@rule(_aten.prod.default)
def _prod_of_all(x, dtype=None):
    return _prod(x.reshape(-1), 0, dtype=dtype)


@rule(_aten.linalg_vector_norm.default)
def _vector_norm(x, *args, **kwargs):
    return _aten.linalg_vector_norm(_abs(x), *args, **kwargs)


@rule(_aten.pow.Tensor_Scalar)
def _pow(x, exponent):
    if isinstance(exponent, complex):
        return _power(x.to(torch.result_type(x, exponent)), exponent, _power_of_zero(exponent))
    if exponent in (1, 2, 3, 4):
        result = x
        for _ in range(int(exponent) - 1):
            result = result * x
        return result
    if exponent == -1:
        return torch.reciprocal(x)
    if exponent == 0.5:
        return torch.sqrt(x)
    size, angle = torch.pow(_abs(x), exponent), _angle(x) * exponent
    return joined(size * torch.cos(angle), size * torch.sin(angle))


@rule(_aten.eq.Tensor, _aten.eq.Scalar)
def _eq(a, b):
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    return (ar == br) & ((ai if ai is not None else 0) == (bi if bi is not None else 0))


@rule(_aten.ne.Tensor, _aten.ne.Scalar)
def _ne(a, b):
    return torch.logical_not(_eq(a, b))


@rule(_aten.isnan.default)
def _isnan(x):
    real, imag = parts_of(x)
    return torch.isnan(real) | torch.isnan(imag)


@rule(_aten.isinf.default)
def _isinf(x):
    real, imag = parts_of(x)
    return torch.isinf(real) | torch.isinf(imag)
