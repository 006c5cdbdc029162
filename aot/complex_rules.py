# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What operators that make complex tensors or move them are in terms of real and imaginary parts."""

import functools
from collections.abc import Callable

import torch

from .private.torch import OpOverload, leaves, map_leaves, parameters

_aten = torch.ops.aten
_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}

#: The operators by what they become. Each returns NotImplemented for real tensors.
RULES: dict[OpOverload, Callable] = {}


def rule(*operators: OpOverload):
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


def any_rule(*operators: OpOverload):
    """The same for calls with any operands."""

    def register(function):
        RULES.update(dict.fromkeys(operators, function))
        return function

    return register


def _is_complex(x) -> bool:
    return isinstance(x, complex) or (isinstance(x, torch.Tensor) and x.is_complex())


# Parts ------------------------------------------------------------------------------------


def parts_of(x):
    """Real and imaginary part of a tensor or a number; the latter is None if there is none."""
    if isinstance(x, torch.Tensor):
        if not x.is_complex():
            return x, None
        pairs = _aten.view_as_real(x)
        return _aten.select(pairs, -1, 0), _aten.select(pairs, -1, 1)
    return (x.real, x.imag) if isinstance(x, complex) else (x, None)


def both_parts_of(x):
    """The parts of a tensor, zeros where it has no imaginary one."""
    real, imag = parts_of(x)
    return real, torch.zeros_like(real) if imag is None else imag


def joined(real, imag):
    return _aten.complex(real, imag)


@any_rule(_aten.complex.default)
def _complex(real, imag):
    if real.shape == imag.shape:
        return NotImplemented
    return joined(*torch.broadcast_tensors(real, imag))


@any_rule(_aten.view_as_complex.default)
def _view_as_complex(x):
    return joined(_aten.select(x, -1, 0), _aten.select(x, -1, 1))


@rule(_aten._conj.default, _aten.conj_physical.default, _aten._conj_physical.default, _aten._conj_copy.default)
def _conj(x):
    real, imag = parts_of(x)
    return joined(real, -imag)


# Data that moves --------------------------------------------------------------------------


#: Operands that choose elements, and are no numbers to take apart.
_CHOOSERS = ("condition", "index", "indices")


def _by_parts(*operators: OpOverload) -> None:
    """Operators that do the same with real and with imaginary parts, which are 0 of real tensors."""
    for operator in operators:

        @rule(operator)
        def by_parts(*args, operator=operator, **kwargs):
            names = [parameter.name for parameter in parameters(operator)]

            def apply(part: int):
                def chosen(name, x):
                    if name in _CHOOSERS:
                        return x
                    return map_leaves(lambda leaf: _part_of(leaf, part), x)

                return operator(*map(chosen, names, args), **{name: chosen(name, x) for name, x in kwargs.items()})

            real, imag = apply(0), apply(1)
            if isinstance(real, (tuple, list)):
                return type(real)(map(joined, real, imag))
            return joined(real, imag)


def _part_of(x, part: int):
    """Of a tensor, or of what is a complex type."""
    if isinstance(x, torch.dtype):
        return _REAL.get(x, x)
    return both_parts_of(x)[part] if isinstance(x, torch.Tensor) else x


_by_parts(
    _aten.alias.default,
    _aten.cat.default,
    _aten.clone.default,
    _aten.cumsum.default,
    _aten.detach.default,
    _aten.diagonal.default,
    _aten.expand.default,
    _aten.flip.default,
    _aten.gather.default,
    _aten.index.Tensor,
    _aten.index_add.default,
    _aten.index_copy.default,
    _aten.index_select.default,
    _aten.lift_fresh_copy.default,
    _aten.mean.default,
    _aten.mean.dim,
    _aten.neg.default,
    _aten.permute.default,
    _aten.repeat.default,
    _aten.roll.default,
    _aten.scatter.src,
    _aten.scatter_add.default,
    _aten.select.int,
    _aten.select_scatter.default,
    _aten.slice.Tensor,
    _aten.slice_scatter.default,
    _aten.split.Tensor,
    _aten.split_with_sizes.default,
    _aten.squeeze.default,
    _aten.squeeze.dim,
    _aten.squeeze.dims,
    _aten.stack.default,
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
    _aten.where.self,
    _aten._unsafe_view.default,
)


@rule(_aten.copy.default)
def _copy(x, source, non_blocking=False):
    if not x.is_complex():
        return _aten.copy(x, parts_of(source)[0])
    if x.dtype == source.dtype and x.shape == source.shape:
        return source  # which may be one that stays whole
    return joined(*(_aten.copy(a, b) for a, b in zip(both_parts_of(x), both_parts_of(source), strict=True)))


@rule(_aten.index_put.default)
def _index_put(x, indices, values, accumulate=False):
    pairs = zip(both_parts_of(x), both_parts_of(values), strict=True)
    return joined(*(_aten.index_put(a, indices, b, accumulate) for a, b in pairs))


@rule(_aten.constant_pad_nd.default)
def _constant_pad(x, pad, value=0):
    return joined(
        *(_aten.constant_pad_nd(part, pad, v or 0) for part, v in zip(parts_of(x), parts_of(value), strict=True))
    )


@rule(_aten.masked_fill.Scalar)
def _masked_fill(x, mask, value):
    return joined(
        *(_aten.masked_fill(part, mask, v or 0) for part, v in zip(parts_of(x), parts_of(value), strict=True))
    )


def _filled_rule(*operators: OpOverload) -> None:
    """Tensors of one number, whose ``dtype`` says that they are complex, or the tensor that they are like."""
    for operator in operators:

        def filled(*args, operator=operator, dtype=None, **kwargs):
            like = args[0] if isinstance(args[0], torch.Tensor) else None
            dtype = dtype or (like.dtype if like is not None else None)
            value = next((x for x in args[1:] if isinstance(x, complex)), None)
            is_like_complex = like is not None and like.is_complex()
            if dtype not in _REAL and value is None and not is_like_complex:
                return NotImplemented
            if is_like_complex:
                args = (parts_of(like)[0], *args[1:])
            if dtype is not None and dtype not in _REAL:
                return operator(*args, dtype=dtype, **kwargs)
            options = {**kwargs, "dtype": _REAL.get(dtype, torch.get_default_dtype())}
            if value is None:
                real = operator(*args, **options)
                return joined(real, torch.zeros_like(real))
            return joined(*(operator(*[p if x is value else x for x in args], **options) for p in parts_of(value)))

        RULES[operator] = filled


_filled_rule(
    _aten.empty_like.default,
    _aten.full.default,
    _aten.full_like.default,
    _aten.new_empty.default,
    _aten.new_full.default,
    _aten.new_ones.default,
    _aten.new_zeros.default,
    _aten.ones.default,
    _aten.ones_like.default,
    _aten.zeros.default,
    _aten.zeros_like.default,
)


@any_rule(_aten._to_copy.default)
def _to_copy(x, *, dtype=None, **kwargs):
    if not x.is_complex() and dtype not in _REAL:
        return NotImplemented
    real, imag = parts_of(x)
    if dtype == torch.bool:
        return (real != 0) | (imag != 0)
    if dtype is not None and dtype not in _REAL:
        return _aten._to_copy(real, dtype=dtype, **kwargs)
    options = {**kwargs, "dtype": _REAL[x.dtype if dtype is None else dtype]}
    real = _aten._to_copy(real, **options)
    return joined(real, torch.zeros_like(real) if imag is None else _aten._to_copy(imag, **options))
