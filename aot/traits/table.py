# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The table of facts about operators: one entry for each member of the schema's union ``Attributes``.

A fact that depends on the kind or another attribute is a function of the attributes. ``test/aot/test_traits.py``
compares each fact with what the operator computes.
"""

import dataclasses
import math
from collections.abc import Callable

from ...serialization import schema
from ...serialization.schema import (
    AdaptivePoolKind,
    BinaryKind,
    CompareKind,
    PadMode,
    ReduceKind,
    ResizeKind,
    UnaryKind,
    UpdateKind,
)
from . import evaluators, loops
from .loops import LayoutRule

Fact = bool | Callable[[object], bool]
FixedPoints = tuple[float, ...] | None


@dataclasses.dataclass(frozen=True)
class Traits:
    """What passes may know about one operator; what an entry leaves out does not hold."""

    #: Every element of the result is one of an operand, or a number among the attributes; nothing is computed.
    moves: Fact = False
    #: Moves, and the result has every element of the one operand exactly once.
    rearranges: Fact = False
    #: An element of the result depends on the elements of the operands at its position only, after broadcasting.
    elementwise: bool = False
    #: The two operands can be swapped.
    commutative: Fact = False
    #: Takes Float16 and BFloat16 as they are. All others take Float32: lowering casts operands and results.
    takes_16_bits: Fact = False
    #: f(op(x)) is op(f(x)) for every function f that never decreases and leaves these numbers as they are, NaN too:
    #: storing as integers, rounding, limiting. Of several operands f applies to those with numbers that end up
    #: in the result. None: it does not hold for every such f.
    passes: FixedPoints | Callable[[object], FixedPoints] = None
    #: Rounding the result to fewer bits gives the same if the operand was rounded, too.
    commutes_with_rounding: Fact = False
    #: Has an attribute ``clamp``, the limits of a Float32 result.
    absorbs_clamp: bool = False
    #: The number that an image can be padded with by the attribute ``padding``.
    pads_with: float | None = None
    #: Operand 0 times a weight, operand 1, whose first axis counts output channels, plus a bias, operand 2 or none.
    is_product: bool = False
    #: The freedom to work on permuted axes; None: axes stay where they are.
    layout: LayoutRule | None = None
    #: Computes the result of constants with NumPy (``evaluators``).
    evaluate: Callable | None = None
    #: That may take seconds: it is for the pass ``fold_constants``, not for each time that the node is lowered.
    evaluates_slowly: bool = False

    @property
    def picks(self) -> bool:
        """Whether it moves elements of operands only, so that they may as well be integers that stand for numbers."""
        return self.moves is True and self.passes == ()


def _is(*kinds) -> Callable[[object], bool]:
    return lambda a: a.kind in kinds


def _passes_if(holds: Callable[[object], bool]) -> Callable[[object], FixedPoints]:
    return lambda a: () if holds(a) else None


def _max_pool_passes(a: schema.MaxPool2d) -> FixedPoints:
    """Padding counts as -inf where a window may lie in it alone."""
    p = a.padding
    touches = max(p.top, p.bottom) < a.kernel.height and max(p.left, p.right) < a.kernel.width
    return () if touches and tuple(a.dilation) == (1, 1) else (-math.inf,)


def _pad_passes(a: schema.Pad) -> FixedPoints:
    return (a.value,) if a.mode == PadMode.Constant else ()


_COMMUTATIVE = _is(BinaryKind.Add, BinaryKind.Mul, BinaryKind.BitAnd, BinaryKind.BitOr, BinaryKind.BitXor)
_NEAREST = _is(ResizeKind.Nearest, ResizeKind.NearestExact)
_ASSIGNS = _is(UpdateKind.Assign)
_COPIES = _is(UnaryKind.Copy)
_PASSING_UPDATES = _is(UpdateKind.Assign, UpdateKind.Minimum, UpdateKind.Maximum)

_MOVES = Traits(moves=True, passes=(), takes_16_bits=True)
_REARRANGES = dataclasses.replace(_MOVES, rearranges=True)
_UPDATES = Traits(moves=_ASSIGNS, passes=_passes_if(_PASSING_UPDATES), takes_16_bits=_ASSIGNS)

TRAITS: dict[type, Traits] = {
    schema.Unary: Traits(
        moves=_COPIES,
        rearranges=_COPIES,
        elementwise=True,
        takes_16_bits=_COPIES,
        passes=_passes_if(_COPIES),
        commutes_with_rounding=_is(UnaryKind.Copy, UnaryKind.Clamp, UnaryKind.Abs, UnaryKind.Neg),
        layout=loops.SAME,
        evaluate=evaluators.unary,
    ),
    schema.Binary: Traits(
        elementwise=True,
        commutative=_COMMUTATIVE,
        passes=_passes_if(lambda a: a.clamp is None and a.kind in (BinaryKind.Maximum, BinaryKind.Minimum)),
        absorbs_clamp=True,
        layout=loops.BROADCAST,
        evaluate=evaluators.binary,
    ),
    schema.Linear: Traits(
        absorbs_clamp=True,
        is_product=True,
        layout=loops.LAST_AXIS,
        evaluate=evaluators.linear,
        evaluates_slowly=True,
    ),
    schema.BatchMatMul: Traits(layout=loops.MATRICES, evaluate=evaluators.batch_matmul, evaluates_slowly=True),
    schema.Conv2d: Traits(absorbs_clamp=True, is_product=True, pads_with=0.0),
    schema.ConvTranspose2d: Traits(absorbs_clamp=True, is_product=True),
    schema.AvgPool2d: Traits(pads_with=0.0),
    schema.MaxPool2d: Traits(passes=_max_pool_passes, pads_with=-math.inf),
    schema.AdaptivePool2d: Traits(passes=_passes_if(_is(AdaptivePoolKind.Max))),
    schema.Reduce: Traits(
        passes=_passes_if(_is(ReduceKind.Max, ReduceKind.Min)), layout=loops.REDUCE, evaluate=evaluators.reduce
    ),
    schema.Softmax: Traits(layout=loops.AXIS, evaluate=evaluators.softmax),
    schema.LayerNorm: Traits(layout=loops.LAST_AXES, evaluate=evaluators.layer_norm),
    schema.Attention: Traits(layout=loops.ATTENTION),
    schema.Reshape: dataclasses.replace(_REARRANGES, layout=loops.RESHAPE, evaluate=evaluators.reshape),
    # Transposes have no layout rule: choose_layout takes all of them away.
    schema.Transpose: dataclasses.replace(_REARRANGES, evaluate=evaluators.transpose),
    schema.Expand: dataclasses.replace(_MOVES, layout=loops.EXPAND, evaluate=evaluators.expand),
    schema.Concat: dataclasses.replace(_MOVES, layout=loops.AXIS, evaluate=evaluators.concat),
    schema.Slice: dataclasses.replace(_MOVES, layout=loops.AXIS, evaluate=evaluators.slice_axis),
    schema.Pad: dataclasses.replace(_MOVES, passes=_pad_passes, layout=loops.PAD, evaluate=evaluators.pad),
    schema.Compare: Traits(
        elementwise=True,
        commutative=_is(CompareKind.Equal, CompareKind.NotEqual),
        layout=loops.BROADCAST,
        evaluate=evaluators.compare,
    ),
    schema.Where: dataclasses.replace(_MOVES, elementwise=True, layout=loops.BROADCAST, evaluate=evaluators.where),
    schema.Cast: Traits(elementwise=True, takes_16_bits=True, layout=loops.SAME, evaluate=evaluators.cast),
    schema.Iota: Traits(evaluate=evaluators.iota),
    schema.SizeValue: Traits(evaluate=evaluators.size_value),
    schema.Index: dataclasses.replace(_MOVES, evaluate=evaluators.index),
    schema.Gather: dataclasses.replace(_MOVES, evaluate=evaluators.gather),
    schema.Resize2d: Traits(moves=_NEAREST, passes=_passes_if(_NEAREST)),
    schema.IndexPut: _UPDATES,
    schema.Scatter: _UPDATES,
    schema.SliceScatter: _MOVES,
    schema.MaskedScatter: _MOVES,
    schema.EmbeddingBag: Traits(),
    schema.RmsNorm: Traits(layout=loops.LAST_AXES),
    schema.GroupNorm: Traits(layout=loops.IMAGES),
    schema.MaxPoolIndices: Traits(),
    schema.GridSample: Traits(),
    schema.Recurrent: Traits(),
    schema.ArgReduce: Traits(),
    schema.Scan: Traits(evaluate=evaluators.scan),
    schema.Sort: Traits(),
    schema.Quantize: Traits(layout=loops.BROADCAST),
    schema.Dequantize: Traits(layout=loops.BROADCAST),
    schema.RotaryEmbedding: Traits(),
    schema.ChooseQParams: Traits(),
    schema.QuantizedLinear: Traits(absorbs_clamp=True, layout=loops.LAST_AXIS),
    schema.Fft: Traits(),
    schema.Nonzero: Traits(),
    schema.RepeatIndices: Traits(),
    schema.NonMaxSuppression: Traits(),
}


#: The facts that may be functions of the attributes.
_BY_ATTRIBUTES = ("moves", "rearranges", "commutative", "takes_16_bits", "passes", "commutes_with_rounding")


def traits_of(attributes) -> Traits:
    """The facts about an operator with these attributes, those that are functions of them as their results."""
    found = TRAITS[type(attributes)]
    facts = {name: getattr(found, name) for name in _BY_ATTRIBUTES}
    return dataclasses.replace(found, **{name: f(attributes) for name, f in facts.items() if callable(f)})
