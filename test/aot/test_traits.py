# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Each fact in the table of traits holds: it is compared with what the interpreter computes, and with what the
runtime accepts."""

import ast
import dataclasses
import itertools
import math
from pathlib import Path

import interpreter
import numpy as np
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import aot
from executorch.backends.et_xnnpack.aot.fold import evaluate
from executorch.backends.et_xnnpack.aot.ir import parse
from executorch.backends.et_xnnpack.aot.passes.fuse_pad import fuse_pad
from executorch.backends.et_xnnpack.aot.traits import TRAITS, Traits, traits_of
from executorch.backends.et_xnnpack.aot.traits.loops import Loops, layout_of
from executorch.backends.et_xnnpack.serialization import schema
from executorch.backends.et_xnnpack.serialization.arrays import NUMPY_DTYPES
from executorch.backends.et_xnnpack.serialization.schema import (
    ATTRIBUTES,
    BinaryKind,
    CompareKind,
    PadMode,
    ReduceKind,
    ResizeKind,
    UnaryKind,
    UpdateKind,
)
from executorch.backends.et_xnnpack.serialization.serialize import serialize
from harness import needs_runtime

#: Nodes by the types of their operands, of which %a is the first; each member of an enum that a fact depends on.
WINDOW = "kernel=(2, 2) stride=(2, 2) padding=(0, 1, 1, 0)"
CONV = "stride=(1, 1) padding=(0, 1, 1, 0) dilation=(1, 1)"
IMAGE, PIXELS = "Float32[2, 4, 4, 2]", "Float32[2, 3]"
INT8_ROWS = "Float32[2, 2, 7, 1]", "Int8[2, 2, 7, 1]"  # scale and zero point
FLOATS = [k.name for k in BinaryKind if not k.name.startswith("Bit")]
EXAMPLES = [
    *(
        ((PIXELS,), f"{PIXELS} = Unary(%a) kind={k.name}" + " clamp=(-0.3, 0.7)" * (k == UnaryKind.Clamp))
        for k in UnaryKind
    ),
    *(((PIXELS, "Float32[3]"), f"{PIXELS} = Binary(%a, %b) kind={k}") for k in FLOATS),
    *(((PIXELS, "Float32[3]"), f"{PIXELS} = Binary(%a, %b) kind={k} clamp=(0.25, 0.5)") for k in FLOATS),
    *((("Bool[2, 3]",) * 2, f"Bool[2, 3] = Binary(%a, %b) kind={k}") for k in ("BitAnd", "BitOr", "BitXor")),
    ((PIXELS, "Float32[4, 3]", "Float32[4]"), "Float32[2, 4] = Linear(%a, %b, %c)"),
    (("Float32[2, 3, 4]", "Float32[2, 4, 2]"), "Float32[2, 3, 2] = BatchMatMul(%a, %b)"),
    ((IMAGE, "Float32[4, 2, 2, 1]", "Float32[4]"), f"Float32[2, 4, 4, 4] = Conv2d(%a, %b, %c) {CONV} groups=2"),
    (
        (IMAGE, "Float32[4, 2, 2, 2]", "Float32[4]"),
        f"Float32[2, 4, 4, 4] = ConvTranspose2d(%a, %b, %c) {CONV} output_padding=(0, 0)",
    ),
    ((IMAGE,), f"Float32[2, 2, 2, 2] = AvgPool2d(%a) {WINDOW} padding_counted=(0, 0, 0, 0)"),
    ((IMAGE,), f"Float32[2, 2, 2, 2] = MaxPool2d(%a) {WINDOW} dilation=(1, 1)"),
    (
        ("Float32[1, 1, 1, 2]",),
        "Float32[1, 1, 2, 2] = MaxPool2d(%a) kernel=(1, 2) stride=(1, 1) padding=(0, 2, 0, 1) dilation=(1, 2)",
    ),
    *(((IMAGE,), f"Float32[2, 3, 3, 2] = AdaptivePool2d(%a) kind={k} output=(3, 3)") for k in ("Average", "Max")),
    *(
        ((IMAGE,), f"Float32[2, 4, 2] = Reduce(%a) kind={k.name} axes=(1)")
        for k in ReduceKind
        if k.name not in ("Any", "All")
    ),
    ((IMAGE,), "Float32[2, 1, 1, 2] = Reduce(%a) kind=Max axes=(1, 2) keep_dims=True"),
    *((("Bool[2, 3]",), f"Bool[3] = Reduce(%a) kind={k} axes=(0)") for k in ("Any", "All")),
    ((IMAGE,), f"{IMAGE} = Softmax(%a) axis=1"),
    ((IMAGE, "Float32[4, 2]"), f"{IMAGE} = LayerNorm(%a, %b) axes=2 epsilon=0.001"),
    (
        ("Float32[2, 4, 3, 6]", "Float32[2, 2, 7, 6]", "Float32[2, 2, 7, 5]", "Float32[2, 1, 3, 7]"),
        "Float32[2, 4, 3, 5] = Attention(%a, %b, %c, %d) scale=0.5 causal=False",
    ),
    (
        ("Float32[2, 4, 3, 6]", "Int8[2, 2, 7, 6]", "Int8[2, 2, 7, 5]", "Float32[3, 7]", *INT8_ROWS, *INT8_ROWS),
        "Float32[2, 4, 3, 5] = Attention(%a, %b, %c, %d, %e, %f, %g, %h) scale=0.5 causal=False",
    ),
    ((IMAGE,), "Float32[8, 2, 1, 4] = Reshape(%a) shape=(8, 2, 1, 4)"),
    ((IMAGE,), "Float32[4, 2, 2, 4] = Transpose(%a) perm=(2, 0, 3, 1)"),
    ((PIXELS,), "Float32[4, 2, 3] = Expand(%a) shape=(4, 2, 3)"),
    ((PIXELS, PIXELS), "Float32[2, 6] = Concat(%a, %b) axis=1"),
    ((IMAGE,), "Float32[2, 2, 4, 2] = Slice(%a) axis=1 start=1 size=2 step=2"),
    *(
        ((IMAGE,), f"Float32[2, 5, 6, 2] = Pad(%a) before=(0, 1, 0, 0) after=(0, 0, 2, 0) mode={k.name} value=0.5")
        for k in PadMode
    ),
    *(((PIXELS, "Float32[3]"), f"Bool[2, 3] = Compare(%a, %b) kind={k.name}") for k in CompareKind),
    (("Bool[2, 3]", PIXELS, "Float32[3]"), f"{PIXELS} = Where(%a, %b, %c)"),
    ((PIXELS,), "Float16[2, 3] = Cast(%a) dtype=Float16"),
    ((), "Int64[4] = Iota() size=4"),
    ((), "Int64[] = SizeValue() size=4"),
    ((IMAGE, "Int64[3]"), "Float32[2, 3, 4, 2] = Index(%a, %b) axis=1"),
    ((PIXELS, "Int64[2, 5]"), "Float32[2, 5] = Gather(%a, %b) axis=1"),
    *(((IMAGE,), f"Float32[2, 8, 7, 2] = Resize2d(%a) kind={k.name} shape=(8, 7)") for k in ResizeKind),
    *(
        ((IMAGE, "Float32[2, 3, 4, 2]", "Int64[3]"), f"{IMAGE} = IndexPut(%a, %b, %c) axis=1 kind={k}")
        for k in ("Assign", "Add")
    ),
    *(
        ((PIXELS, "Float32[2, 2]", "Int64[2, 2]"), f"{PIXELS} = Scatter(%a, %b, %c) axis=1 kind={k.name}")
        for k in UpdateKind
    ),
    ((PIXELS, "Float32[1, 2]"), f"{PIXELS} = SliceScatter(%a, %b) start=(1, 0) step=(1, 2)"),
    ((PIXELS, "Bool[2, 3]", "Float32[6]"), f"{PIXELS} = MaskedScatter(%a, %b, %c)"),
    ((IMAGE, "Float32[2]"), f"{IMAGE} = RmsNorm(%a, %b) axes=1 epsilon=0.001"),
    ((IMAGE,), f"{IMAGE} = GroupNorm(%a) axis=3 groups=2 epsilon=0.001"),
    ((IMAGE,), f"{IMAGE} = Scan(%a) kind=Sum axis=1"),
    ((PIXELS, "Float32[2, 1]", "Int32[2, 1]"), "Int8[2, 3] = Quantize(%a, %b, %c) dtype=Int8 min=-128 max=127"),
    (("Int8[2, 3]", "Float32[2, 1]", "Int32[2, 1]"), f"{PIXELS} = Dequantize(%a, %b, %c)"),
    ((PIXELS, "Int8[4, 3]", "Float32[4, 1]"), "Float32[2, 4] = QuantizedLinear(%a, %b, %c) bits=8"),
]


class Example:
    def __init__(self, types, node):
        self.types = types
        self.text = self._text(types, node)
        self.graph = parse(self.text)
        (self.node,) = self.graph.nodes
        self.attributes = self.node.attributes
        self.traits = traits_of(self.attributes)
        self.result = self.graph.values[self.node.outputs[0]]
        kind = getattr(self.attributes, "kind", getattr(self.attributes, "mode", None))
        self.name = self.node.op if kind is None else f"{self.node.op}-{kind.name}"

    @property
    def definition(self) -> str:
        """Its type and what makes it."""
        return self.text.splitlines()[-2].removeprefix("%y: ")

    @staticmethod
    def _text(types, node):
        lines = [f"in %{name}: {kind}" for name, kind in zip("abcdefgh", types, strict=False)]
        return "\n".join([*lines, f"%y: {node}", "out %y"])

    def of(self, dtype: str) -> "Example":
        """The same with floats of this type."""
        types = [t.replace("Float32", dtype) for t in self.types]
        return Example(types, self.definition.replace("Float32", dtype))

    def operands(self) -> list[torch.Tensor]:
        """Different floats, some of them ties when rounded, small indices, masks."""
        generator = torch.Generator().manual_seed(len(self.text))
        return [self._operand(self.graph.values[i], generator) for i in self.node.inputs]

    @staticmethod
    def _operand(value, generator):
        shape = tuple(value.shape)
        dtype = getattr(torch, value.dtype.name.lower())
        if value.dtype.name == "Bool":
            return torch.rand(shape, generator=generator) < 0.5
        if not dtype.is_floating_point:
            return torch.randint(0, 2, shape, generator=generator).to(dtype)
        count = math.prod(shape)
        numbers = (torch.randperm(count, generator=generator) + 0.5) / max(count, 1) - 0.3
        return (numbers + torch.rand(count, generator=generator) / (4 * count)).reshape(shape).to(dtype)

    def run(self, operands) -> torch.Tensor:
        return interpreter.run(self.graph, list(operands))[0]


ALL = [Example(*e) for e in EXAMPLES]


def examples(holds):
    chosen = [e for e in ALL if holds(e.traits)]
    return pytest.mark.parametrize("example", chosen, ids=[e.name for e in chosen])


def test_has_an_entry_for_each_member():
    assert list(TRAITS) == list(ATTRIBUTES.values())


def test_facts_that_hold_have_examples():
    """For each kind, where they depend on it."""
    shown = {type(e.attributes) for e in ALL}
    assert {cls for cls, traits in TRAITS.items() if traits != Traits()} <= shown
    for cls, traits in TRAITS.items():
        if any(callable(getattr(traits, name)) for name in ("moves", "passes", "commutative")):
            field = next((f for f in ("kind", "mode") if hasattr(cls(), f)), None)
            kinds = {getattr(e.attributes, field) for e in ALL if field and type(e.attributes) is cls}
            assert field is None or cls is schema.IndexPut or kinds == set(type(getattr(cls(), field)))


def same(a, b):
    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@examples(lambda t: t.moves)
def test_moves(example):
    operands = example.operands()
    known = {x for o in operands for x in o.ravel().tolist()} | set(example.traits.passes)
    assert set(example.run(operands).ravel().tolist()) <= known


@examples(lambda t: t.rearranges)
def test_rearranges(example):
    (x,) = operands = example.operands()
    assert sorted(example.run(operands).ravel().tolist()) == sorted(x.ravel().tolist())
    assert example.traits.moves and example.traits.picks


@examples(lambda t: t.elementwise)
def test_elementwise(example):
    shape = example.result.shape
    operands = [x.expand(shape).contiguous() for x in example.operands()]
    turned = Example([f"{t.partition('[')[0]}{list(shape)}" for t in example.types], example.definition)
    same(turned.run([x.flip(0, 1) for x in operands]), turned.run(operands).flip(0, 1))
    changed = [x.clone() for x in operands]
    for x in changed:
        x[0, 0] = not x[0, 0] if x.dtype == torch.bool else x[0, 0] + 1
    untouched = torch.ones(shape, dtype=torch.bool)
    untouched[0, 0] = False
    same(turned.run(changed)[untouched], turned.run(operands)[untouched])


@examples(lambda t: t.commutative)
def test_commutative(example):
    a, b = (x.expand(example.result.shape).contiguous() for x in example.operands())
    swapped = Example((example.types[0],) * 2, example.definition)
    same(swapped.run([a, b]), swapped.run([b, a]))


def rounds_to(dtype):
    return lambda x: x.to(dtype).float()


def stored(x):
    """As integers with a scale and zero point."""
    return (torch.round(x / 0.03125).nan_to_num(posinf=math.inf) - 4).clamp(-128, 127) * 0.03125 + 0.125


INCREASING = {
    "float16": rounds_to(torch.float16),
    "bfloat16": rounds_to(torch.bfloat16),
    "clamp": lambda x: x.clamp(0, 0.5),
    "stored": stored,
    "steps": lambda x: torch.floor(x * 2) / 2,
    "twice": lambda x: x * 2,
}


@examples(lambda t: t.passes is not None)
def test_passes(example):
    fixed, operands = torch.tensor(example.traits.passes), example.operands()
    chosen = [f for f in INCREASING.values() if f(fixed).equal(fixed)]
    assert chosen
    for f in chosen:
        before = [f(x) if x.dtype == torch.float32 else x for x in operands]
        same(example.run(before), f(example.run(operands)))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@examples(lambda t: t.commutes_with_rounding)
def test_commutes_with_rounding(example, dtype):
    (x,) = example.operands()
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, 70000.0, -1e-9, 0.3, 0.7, 0.30001, -0.29999, 0.69999]
    for numbers in (x, *torch.tensor(special).reshape(2, 2, 3)):
        same(example.run([numbers.to(dtype).float()]).to(dtype), example.run([numbers]).to(dtype))


@examples(lambda t: t.picks)
def test_picks_integers_that_stand_for_numbers(example):
    assert example.traits.moves and example.traits.passes == ()


@examples(lambda t: t.pads_with is not None)
def test_pads_with(example):
    if example.types[0] != IMAGE:
        return
    value, *rest = example.operands()
    result = list(example.result.shape)
    height, width = (5, 4) if rest else (3, 2)
    pad = f"%p: Float32[2, 6, 5, 2] = Pad(%a) before=(0, 1, 0, 0) after=(0, 1, 1, 0) value={example.traits.pads_with}"
    node = example.definition.replace("(%a", "(%p").replace("padding=(0, 1, 1, 0)", "padding=(0, 0, 0, 0)")
    node = node.replace(f"Float32{result}", f"Float32{[2, height, width, result[3]]}")
    graph = parse(example.text.replace(f"%y: {example.definition}", f"{pad}\n%y: {node}"))
    fused = fuse_pad(graph)
    assert [type(n.attributes) for n in fused.nodes] == [type(example.attributes)]
    same(interpreter.run(fused, [value, *rest])[0], interpreter.run(graph, [value, *rest])[0])


@examples(lambda t: t.is_product)
def test_is_product(example):
    x, weight, bias = example.operands()
    product = example.run([x, weight, torch.zeros_like(bias)])
    torch.testing.assert_close(example.run([x, weight, bias]), product + bias)
    scale = torch.arange(1.0, 1 + len(bias))
    scaled = weight * scale.reshape(-1, *[1] * (weight.dim() - 1))
    torch.testing.assert_close(example.run([x, scaled, torch.zeros_like(bias)]), product * scale)
    torch.testing.assert_close(example.run([2 * x, weight, torch.zeros_like(bias)]), 2 * product)


@examples(lambda t: t.layout is not None)
def test_layout(example):
    """The operator on permuted axes, with the attributes of the rule, gives the result with permuted axes."""
    node, rule = example.node, example.traits.layout
    values = [example.graph.values[i] for i in node.inputs]
    loops: Loops = rule.loops(node, values, example.result)
    expected = example.run(example.operands())
    orders = [o for o in itertools.permutations(range(loops.count)) if loops.allows(o)]
    assert loops.identity in orders
    for order in orders:
        operands = []
        for x, blocks in zip(example.operands(), loops.operands, strict=True):
            if blocks is not None:
                shape = [x.shape[a] for loop in order for a in blocks[loop] or ()]
                if any(not b for b in blocks) and all(len(b) <= 1 for b in blocks):
                    shape = [x.shape[blocks[loop][0]] if blocks[loop] else 1 for loop in order]
                x = x.permute(layout_of(blocks, order)).reshape(shape)
            operands.append(x)
        layout = layout_of(loops.result, order)
        shape = [expected.shape[a] for a in layout]
        attributes = rule.reordered(node.attributes, order, shape)
        found = interpreter.OPERATORS[node.op](attributes, *operands)
        found = found[0] if isinstance(found, tuple) else found
        torch.testing.assert_close(found, expected.permute(layout), equal_nan=True)


SUMS = (schema.BatchMatMul, schema.LayerNorm, schema.Linear, schema.Softmax)


@examples(lambda t: t.evaluate is not None)
def test_evaluate(example):
    operands = example.operands()
    found = evaluate(example.attributes, [x.numpy() for x in operands])
    if found is not None:
        assert found.dtype == NUMPY_DTYPES[example.result.dtype]
        atol = 1e-6 if isinstance(example.attributes, SUMS) else 0  # the interpreter adds up in float32
        np.testing.assert_allclose(found, example.run(operands).numpy(), rtol=3e-7, atol=atol)


def accepts(graph) -> bool:
    """Whether the runtime takes a program."""
    try:
        et_xnnpack.verify(serialize(graph).blob)
    except (RuntimeError, ValueError):
        return False
    return True


def is_float(example):
    types = [example.graph.values[i].dtype.name for i in (*example.node.inputs, *example.node.outputs)]
    return "Float32" in types


@needs_runtime
@pytest.mark.parametrize("example", ALL, ids=[e.name for e in ALL])
def test_the_runtime_takes_16_bits_where_the_table_says_so(example):
    assert accepts(example.graph), example.text
    if not is_float(example) or type(example.attributes) is schema.Cast:
        return
    for dtype in ("Float16", "BFloat16"):
        assert accepts(example.of(dtype).graph) == example.traits.takes_16_bits


@needs_runtime
@pytest.mark.parametrize("example", ALL, ids=[e.name for e in ALL])
def test_the_runtime_limits_results_where_the_table_says_so(example):
    if type(example.attributes) is schema.Unary or not is_float(example):
        return
    fields = {f.name for f in dataclasses.fields(example.attributes)}
    assert ("clamp" in fields) == example.traits.absorbs_clamp
    if example.traits.absorbs_clamp:
        clamped = example.text if "clamp=" in example.text else example.text.replace("\nout", " clamp=(-0.1, 0.1)\nout")
        assert accepts(parse(clamped))


def test_operators_are_not_compared_by_name():
    """Types tell them apart, so that a name that is wrong or old is an error."""
    for path in Path(aot.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        names = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value in ATTRIBUTES]
        assert names == [], f"{path} has names of operators"
