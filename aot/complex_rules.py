# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What each operator on complex numbers is in terms of real and imaginary parts."""

import functools
from collections.abc import Callable

import torch

from .fft_ops import fft_c2c, fft_c2r, fft_r2c
from .private.torch import OpOverload, leaves, map_leaves

_aten = torch.ops.aten
_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}

#: The operators by what they become. Each returns NotImplemented for real tensors.
RULES: dict[OpOverload, Callable] = {}


def _rule(*operators: OpOverload):
    """Registers the decorated function for calls with a complex operand."""

    def register(function):
        @functools.wraps(function)
        def lowered(*args, **kwargs):
            if not any(map(_is_complex, leaves((args, kwargs)))):
                return NotImplemented
            return function(*args, **kwargs)

        RULES.update(dict.fromkeys(operators, lowered))
        return function

    return register


def _any_rule(*operators: OpOverload):
    """The same for calls with any operands."""

    def register(function):
        RULES.update(dict.fromkeys(operators, function))
        return function

    return register


def _is_complex(x) -> bool:
    return isinstance(x, complex) or (isinstance(x, torch.Tensor) and x.is_complex())


# Parts ------------------------------------------------------------------------------------


def _parts(x):
    """Real and imaginary part of a tensor or a number; the latter is None if there is none."""
    if isinstance(x, torch.Tensor):
        if not x.is_complex():
            return x, None
        pairs = _aten.view_as_real(x)
        return _aten.select(pairs, -1, 0), _aten.select(pairs, -1, 1)
    return (x.real, x.imag) if isinstance(x, complex) else (x, None)


def _tensors(x):
    """The parts of a tensor, zeros where it has no imaginary one."""
    real, imag = _parts(x)
    return real, torch.zeros_like(real) if imag is None else imag


def _join(real, imag):
    return _aten.complex(real, imag)


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
    """A part that is a number, or of a smaller shape, with the shape of ``like``."""
    if x is None or not isinstance(x, torch.Tensor):
        return torch.full_like(like, x or 0)
    return x if x.shape == like.shape else x.expand(like.shape)


def _result(real, imag):
    """Of parts that may be numbers, None or smaller than each other."""
    parts = [p for p in (real, imag) if isinstance(p, torch.Tensor)]
    shape = torch.broadcast_shapes(*(p.shape for p in parts))
    like = next((p for p in parts if p.shape == shape), None)
    like = parts[0].expand(shape) if like is None else like
    return _join(_filled(real, like), _filled(imag, like))


@_any_rule(_aten.complex.default)
def _complex(real, imag):
    if real.shape == imag.shape:
        return NotImplemented
    return _join(*torch.broadcast_tensors(real, imag))


@_any_rule(_aten.view_as_complex.default)
def _view_as_complex(x):
    return _join(_aten.select(x, -1, 0), _aten.select(x, -1, 1))


@_any_rule(_aten.polar.default)
def _polar(abs, angle):
    return _result(abs * torch.cos(angle), abs * torch.sin(angle))


@_rule(_aten._conj.default, _aten.conj_physical.default, _aten._conj_physical.default, _aten._conj_copy.default)
def _conj(x):
    real, imag = _parts(x)
    return _join(real, -imag)


# Data that moves --------------------------------------------------------------------------


def _by_parts(*operators: OpOverload) -> None:
    """Operators that do the same with real and with imaginary parts."""
    for operator in operators:

        @_rule(operator)
        def by_parts(*args, operator=operator, **kwargs):
            def apply(part: int):
                def chosen(x):
                    return _tensors(x)[part] if isinstance(x, torch.Tensor) and x.is_complex() else x

                return operator(*map_leaves(chosen, args), **map_leaves(chosen, kwargs))

            real, imag = apply(0), apply(1)
            if isinstance(real, (tuple, list)):
                return type(real)(map(_join, real, imag))
            return _join(real, imag)


_by_parts(
    _aten.alias.default,
    _aten.clone.default,
    _aten.cumsum.default,
    _aten.detach.default,
    _aten.diagonal.default,
    _aten.expand.default,
    _aten.flip.default,
    _aten.gather.default,
    _aten.index.Tensor,
    _aten.index_select.default,
    _aten.lift_fresh_copy.default,
    _aten.mean.default,
    _aten.mean.dim,
    _aten.neg.default,
    _aten.permute.default,
    _aten.repeat.default,
    _aten.roll.default,
    _aten.select.int,
    _aten.slice.Tensor,
    _aten.split.Tensor,
    _aten.split_with_sizes.default,
    _aten.squeeze.default,
    _aten.squeeze.dim,
    _aten.squeeze.dims,
    _aten.sum.default,
    _aten.sum.dim_IntList,
    _aten.t.default,
    _aten.transpose.int,
    _aten.tril.default,
    _aten.triu.default,
    _aten.unbind.int,
    _aten.unfold.default,
    _aten.unsqueeze.default,
    _aten.view.default,
    _aten._unsafe_view.default,
)


def _all_by_parts(*operators: OpOverload) -> None:
    """The same of operators with several tensors of numbers, of which some may be real."""
    for operator in operators:

        @_rule(operator)
        def by_parts(*args, operator=operator, **kwargs):
            def apply(part: int):
                def chosen(x):
                    is_number = isinstance(x, torch.Tensor) and (x.is_complex() or x.is_floating_point())
                    return _tensors(x)[part] if is_number else x

                return operator(*map_leaves(chosen, args), **map_leaves(chosen, kwargs))

            return _join(apply(0), apply(1))


_all_by_parts(
    _aten.cat.default,
    _aten.copy.default,
    _aten.index_add.default,
    _aten.index_copy.default,
    _aten.scatter.src,
    _aten.scatter_add.default,
    _aten.select_scatter.default,
    _aten.slice_scatter.default,
    _aten.stack.default,
    _aten.where.self,
)


@_rule(_aten.index_put.default)
def _index_put(x, indices, values, accumulate=False):
    results = [_aten.index_put(a, indices, b, accumulate) for a, b in zip(_tensors(x), _tensors(values), strict=True)]
    return _join(*results)


@_rule(_aten.constant_pad_nd.default)
def _constant_pad(x, pad, value=0):
    return _join(*(_aten.constant_pad_nd(part, pad, v or 0) for part, v in zip(_parts(x), _parts(value), strict=True)))


@_rule(_aten.masked_fill.Scalar)
def _masked_fill(x, mask, value):
    return _join(*(_aten.masked_fill(part, mask, v or 0) for part, v in zip(_parts(x), _parts(value), strict=True)))


def _filled_rule(*operators: OpOverload) -> None:
    """Tensors of one number, whose ``dtype`` says that they are complex, or the tensor that they are like."""
    for operator in operators:

        def filled(*args, operator=operator, dtype=None, **kwargs):
            like = args[0] if isinstance(args[0], torch.Tensor) else None
            dtype = dtype or (like.dtype if like is not None else None)
            value = next((x for x in args[1:] if isinstance(x, complex)), None)
            if dtype not in _REAL and value is None:
                return NotImplemented
            if like is not None and like.is_complex():
                args = (_parts(like)[0], *args[1:])
            options = {**kwargs, "dtype": _REAL.get(dtype, torch.get_default_dtype())}
            if value is None:
                real = operator(*args, **options)
                return _join(real, torch.zeros_like(real))
            return _join(*(operator(*[p if x is value else x for x in args], **options) for p in _parts(value)))

        RULES[operator] = filled


_filled_rule(
    _aten.full.default,
    _aten.full_like.default,
    _aten.new_zeros.default,
    _aten.ones.default,
    _aten.ones_like.default,
    _aten.zeros.default,
    _aten.zeros_like.default,
)


@_any_rule(_aten._to_copy.default)
def _to_copy(x, *, dtype=None, **kwargs):
    if not x.is_complex() and dtype not in _REAL:
        return NotImplemented
    if dtype is not None and dtype not in _REAL:
        return _aten._to_copy(_parts(x)[0], dtype=dtype, **kwargs)
    real, imag = _parts(x)
    options = {**kwargs, "dtype": _REAL[x.dtype if dtype is None else dtype]}
    real = _aten._to_copy(real, **options)
    return _join(real, torch.zeros_like(real) if imag is None else _aten._to_copy(imag, **options))


# Arithmetic -------------------------------------------------------------------------------


@_rule(_aten.add.Tensor, _aten.add.Scalar)
def _add(a, b, alpha=1):
    if alpha != 1:
        b = b * alpha
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return _result(_sum(ar, br), _sum(ai, bi))


@_rule(_aten.sub.Tensor, _aten.sub.Scalar)
def _sub(a, b, alpha=1):
    if alpha != 1:
        b = b * alpha
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return _result(_difference(ar, br), _difference(ai, bi))


@_rule(_aten.rsub.Tensor, _aten.rsub.Scalar)
def _rsub(a, b, alpha=1):
    if alpha != 1:
        a = a * alpha
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return _result(_difference(br, ar), _difference(bi, ai))


def _bilinear(operator: Callable, a, b):
    """A product of any kind."""
    (ar, ai), (br, bi) = _parts(a), _parts(b)
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

    @_rule(_operator)
    def _product(a, b, operator=_operator):
        product = torch.mul if operator in (_aten.mul.Tensor, _aten.mul.Scalar) else operator
        return _bilinear(product, a, b)


@_rule(_aten.addmm.default)
def _addmm(x, a, b, *, beta=1, alpha=1):
    product = torch.mm(a, b)
    product = product if alpha == 1 else product * alpha
    return product + (x if beta == 1 else x * beta)


@_rule(_aten.baddbmm.default)
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
    real, imag = _parts(x)
    scale = _magnitude(real, imag)
    real, imag = real / scale, imag / scale
    divisor = (real * real + imag * imag) * scale
    return real, imag, divisor


@_rule(_aten.div.Tensor, _aten.div.Scalar)
def _div(a, b):
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    if bi is None:
        return _join(ar / br, ai / br)
    if not isinstance(b, torch.Tensor):
        return a * (1 / b)
    br, bi, divisor = _scaled_reciprocal(b)
    if ai is None:
        return _result(ar * br / divisor, -(ar * bi) / divisor)
    return _result((ar * br + ai * bi) / divisor, (ai * br - ar * bi) / divisor)


@_rule(_aten.reciprocal.default)
def _reciprocal(x):
    real, imag, divisor = _scaled_reciprocal(x)
    return _join(real / divisor, -imag / divisor)


@_rule(_aten.abs.default)
def _abs(x):
    """As hypot: the larger part times sqrt(1 + (smaller / larger)^2)."""
    real, imag = _parts(x)
    a, b = real.abs(), imag.abs()
    ratio = torch.minimum(a, b) / _magnitude(real, imag)
    return torch.maximum(a, b) * torch.sqrt(ratio * ratio + 1)


@_rule(_aten.angle.default)
def _angle(x):
    real, imag = _parts(x)
    return torch.atan2(imag, real)


@_rule(_aten.sgn.default)
def _sgn(x):
    size = _abs(x)
    size = torch.where(size == 0, 1.0, size)
    return _join(*(part / size for part in _parts(x)))


@_rule(_aten.exp.default)
def _exp(x):
    real, imag = _parts(x)
    size = torch.exp(real)
    return _join(size * torch.cos(imag), size * torch.sin(imag))


@_rule(_aten.log.default)
def _log(x):
    return _join(torch.log(_abs(x)), _angle(x))


@_rule(_aten.sqrt.default)
def _sqrt(x):
    real, imag = _parts(x)
    large = torch.sqrt((_abs(x) + real.abs()) * 0.5)
    small = imag.abs() / torch.clamp(large * 2, min=torch.finfo(real.dtype).tiny)
    is_right = real >= 0
    return _join(torch.where(is_right, large, small), torch.copysign(torch.where(is_right, small, large), imag))


@_rule(_aten.sin.default)
def _sin(x):
    real, imag = _parts(x)
    return _join(torch.sin(real) * torch.cosh(imag), torch.cos(real) * torch.sinh(imag))


@_rule(_aten.cos.default)
def _cos(x):
    real, imag = _parts(x)
    return _join(torch.cos(real) * torch.cosh(imag), -(torch.sin(real) * torch.sinh(imag)))


@_rule(_aten.pow.Tensor_Scalar)
def _pow(x, exponent):
    if isinstance(exponent, complex):
        return torch.exp(torch.log(x) * exponent)
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
    return _join(size * torch.cos(angle), size * torch.sin(angle))


@_rule(_aten.eq.Tensor, _aten.eq.Scalar)
def _eq(a, b):
    (ar, ai), (br, bi) = _parts(a), _parts(b)
    return (ar == br) & ((ai if ai is not None else 0) == (bi if bi is not None else 0))


@_rule(_aten.ne.Tensor, _aten.ne.Scalar)
def _ne(a, b):
    return torch.logical_not(_eq(a, b))


@_rule(_aten.isnan.default)
def _isnan(x):
    real, imag = _parts(x)
    return torch.isnan(real) | torch.isnan(imag)


# Fourier transforms -----------------------------------------------------------------------


@_any_rule(_aten._fft_r2c.default)
def _fft_r2c(x, dim, normalization, onesided):
    real, imag = fft_r2c(x, dim[-1], normalization, onesided)
    for axis in reversed(dim[:-1]):
        real, imag = fft_c2c(real, imag, axis, normalization, True)
    return _join(real, imag)


@_rule(_aten._fft_c2c.default)
def _fft_c2c(x, dim, normalization, forward):
    if not dim:
        return _aten.clone(x)
    real, imag = _parts(x)
    for axis in reversed(dim):
        real, imag = fft_c2c(real, imag, axis, normalization, forward)
    return _join(real, imag)


@_rule(_aten._fft_c2r.default)
def _fft_c2r(x, dim, normalization, last_dim_size):
    real, imag = _parts(x)
    for axis in dim[:-1]:
        real, imag = fft_c2c(real, imag, axis, normalization, False)
    return fft_c2r(real, imag, dim[-1], normalization, last_dim_size)


@_any_rule(_aten.unfold_backward.default)
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
