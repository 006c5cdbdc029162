# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What arithmetic and Fourier transforms of complex numbers are in terms of real and imaginary parts."""

import cmath
import math
from collections.abc import Callable

import torch

from .complex_rules import RULES, any_rule, joined, parts_of, rule
from .fft_ops import fft_c2c, fft_c2r, fft_r2c

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


def _magnitude(real, imag):
    """max(|real|, |imag|), at least the smallest normal number and at most the largest, to divide by."""
    info = torch.finfo(real.dtype)
    return torch.clamp(torch.maximum(real.abs(), imag.abs()), info.tiny, info.max)


def _scaled_reciprocal(x):
    """The parts of 1 / ``x``, without squares of large or small numbers."""
    real, imag = parts_of(x)
    scale = _magnitude(real, imag)
    real, imag = real / scale, imag / scale
    divisor = (real * real + imag * imag) * scale
    return real, imag, divisor


@rule(_aten.div.Tensor, _aten.div.Scalar)
def _div(a, b):
    (ar, ai), (br, bi) = parts_of(a), parts_of(b)
    if bi is None:
        return joined(ar / br, ai / br)
    if not isinstance(b, torch.Tensor):
        return a * (1 / b)
    br, bi, divisor = _scaled_reciprocal(b)
    if ai is None:
        return _result(ar * br / divisor, -(ar * bi) / divisor)
    return _result((ar * br + ai * bi) / divisor, (ai * br - ar * bi) / divisor)


@rule(_aten.reciprocal.default)
def _reciprocal(x):
    real, imag, divisor = _scaled_reciprocal(x)
    return joined(real / divisor, -imag / divisor)


@rule(_aten.abs.default)
def _abs(x):
    """As hypot: the larger part times sqrt(1 + (smaller / larger)^2)."""
    real, imag = parts_of(x)
    a, b = real.abs(), imag.abs()
    ratio = torch.minimum(a, b) / _magnitude(real, imag)
    return torch.maximum(a, b) * torch.sqrt(ratio * ratio + 1)


@rule(_aten.angle.default)
def _angle(x):
    real, imag = parts_of(x)
    return torch.atan2(imag, real)


@rule(_aten.sgn.default)
def _sgn(x):
    size = _abs(x)
    size = torch.where(size == 0, 1.0, size)
    return joined(*(part / size for part in parts_of(x)))


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
    real, imag = parts_of(x)
    large = torch.sqrt((_abs(x) + real.abs()) * 0.5)
    small = imag.abs() / torch.clamp(large * 2, min=torch.finfo(real.dtype).tiny)
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


@rule(_aten.pow.Tensor_Tensor)
def _pow_of_tensors(x, exponent):
    """0 to a power with a positive real part is 0, though its logarithm is infinite."""
    if not x.is_complex():  # the logarithm of a negative number is complex
        real = x.to(torch.result_type(x, parts_of(exponent)[0]))
        x = joined(real, torch.zeros_like(real))
    power = torch.exp(torch.log(x) * exponent)
    return torch.where((x == 0) & (parts_of(exponent)[0] > 0), torch.zeros_like(power), power)


@rule(_aten.pow.Scalar)
def _pow_of_number(x, exponent):
    if x == 0:
        return _pow_of_tensors(torch.zeros_like(exponent), exponent)
    return torch.exp(exponent * cmath.log(x))


@rule(_aten.prod.dim_int)
def _prod(x, dim, keepdim=False, dtype=None):
    """The product of the halves, of which an odd number is left over."""
    x = x if dtype is None else x.to(dtype)
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
        of_power = torch.result_type(x, exponent)
        return _pow_of_tensors(x, torch.full_like(x, exponent, dtype=of_power))
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


# Fourier transforms -----------------------------------------------------------------------


@any_rule(_aten._fft_r2c.default)
def _fft_r2c(x, dim, normalization, onesided):
    real, imag = fft_r2c(x, dim[-1], normalization, onesided)
    for axis in reversed(dim[:-1]):
        real, imag = fft_c2c(real, imag, axis, normalization, True)
    return joined(real, imag)


@rule(_aten._fft_c2c.default)
def _fft_c2c(x, dim, normalization, forward):
    if not dim:
        return _aten.clone(x)
    real, imag = parts_of(x)
    for axis in reversed(dim):
        real, imag = fft_c2c(real, imag, axis, normalization, forward)
    return joined(real, imag)


@rule(_aten._fft_c2r.default)
def _fft_c2r(x, dim, normalization, last_dim_size):
    real, imag = parts_of(x)
    for axis in dim[:-1]:
        real, imag = fft_c2c(real, imag, axis, normalization, False)
    return fft_c2r(real, imag, dim[-1], normalization, last_dim_size)


@any_rule(_aten.unfold_backward.default)
def _unfold_backward(parts, input_sizes, dim, size, step):
    """The sum of overlapping parts, where ``istft`` puts them: shifted by whole steps, and added."""
    steps = -(-size // step)
    dim = dim % len(input_sizes)
    if steps > _MOST_STEPS:
        return NotImplemented
    parts = _aten.constant_pad_nd(parts, [0, steps * step - size])
    # [..., count, ..., size] to [..., size, count, ...], so that each piece of a step is contiguous in the result
    parts = parts.movedim((dim, -1), (-2, -1))
    total = None
    for i in range(steps):
        piece = parts[..., i * step : (i + 1) * step]
        piece = _aten.constant_pad_nd(piece, [0, 0, i, steps - 1 - i])
        total = piece if total is None else total + piece
    flat = total.reshape(*total.shape[:-2], total.shape[-2] * step)
    length = input_sizes[dim]
    whole = flat.shape[-1]
    # What no part covers is 0.
    flat = flat[..., :length] if whole >= length else _aten.constant_pad_nd(flat, [0, length - whole])
    return flat.movedim(-1, dim)


_MOST_STEPS = 32
