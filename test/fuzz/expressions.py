# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What a random program may consist of: functions that add one line to it, or none."""

import torch
from hypothesis import strategies as st

EXPRESSIONS = []


def expression(function):
    EXPRESSIONS.append(function)
    return function


def forms(text: str) -> list[str]:
    """The expressions that lines and bars divide."""
    return [form.strip() for line in text.splitlines() for form in line.split(" | ") if form.strip()]


def is_float32(value):
    return value.dtype == torch.float32


def _is_number(value):
    return value.dtype != torch.bool


def _is_integer(value):
    return value.dtype in (torch.int32, torch.int64)


#: Of a float, no larger than what goes in, rounded.
SMOOTH = """
torch.sigmoid({x}) | torch.tanh({x}) | F.gelu({x}) | F.gelu({x}, approximate="tanh") | F.silu({x}) | F.softplus({x})
torch.sin({x}) | torch.cos({x}) | torch.erf({x}) | torch.exp(-{x}.abs()) | torch.rsqrt({x}.abs() + 0.5)
F.mish({x}) | torch.sqrt({x}.abs() + 0.25) | torch.log({x}.abs() + 0.5) | F.elu({x}) | F.logsigmoid({x})
torch.reciprocal({x}.abs() + 0.5) | torch.log1p({x}.abs()) | torch.expm1(-{x}.abs()) | torch.atan({x}) | F.selu({x})
F.softplus({x}, beta=0.7) | torch.addcmul({x}, {x}, {x}, value=0.1)
F.celu({x}, 0.7) | F.softsign({x}) | torch.exp2(-{x}.abs()) | torch.sinh({x}.clamp(-3, 3))
torch.asin({x}.clamp(-0.9, 0.9)) | {x}.pow(2.5) | {x} / 3 | torch.acos({x}.clamp(-0.9, 0.9)) | torch.asinh({x})
torch.acosh({x}.abs() + 1.5) | torch.atanh({x}.clamp(-0.9, 0.9)) | torch.cosh({x}.clamp(-3, 3))
torch.log2({x}.abs() + 0.5)
torch.log10({x}.abs() + 0.5) | torch.tan({x}.clamp(-1, 1)) | F.hardsigmoid({x}) | F.hardswish({x})
torch.pow(2, {x}.clamp(-4, 4))
"""
#: Exact as long as what goes in is.
STEPS = """
F.relu({x}) | {x}.abs() | -{x} | {x} * 2 | {x} + 1.5 | 1 - {x} | {x}.clamp(-1, 2) | {x}.clamp(min=0.5)
F.relu6({x}) | F.hardtanh({x}) | F.leaky_relu({x}, 0.25) | F.threshold({x}, 0.5, -1) | {x}.square() | {x} * -0.5
{x}.clone() | {x} * {x} | F.hardshrink({x}) | F.softshrink({x}) | torch.ops.aten.alias({x}) | torch.neg({x})
torch.copysign({x}, 2.0) | {x}.to(memory_format=torch.contiguous_format) | {x}.clamp(max={x})
torch.zeros_like({x}) + {x}
torch.full_like({x}, 0.75) | torch.full(({x}.shape[0], 2), 1.25) | torch.empty_like({x}).copy_({x})
{x} + torch.scalar_tensor(2.0)
torch.empty({x}.shape).copy_({x}) | torch.empty_permuted({x}.shape, tuple(range({x}.dim()))).copy_({x})
torch.sub({x}, 2, alpha=2) | {x}.new_empty({x}.shape).copy_({x}) | {x}.new_full(({x}.shape[-1],), 2.0)
{x} * ({x}.shape[0] - 3) | {x} + (2 - {x}.shape[-1]) | torch.full((2, 1), {x}.shape[0] - 3) + {x}.sum()
torch.arange(-1.5, 9, 0.5, dtype={x}.dtype) | torch.arange(-3, {x}.shape[0], dtype={x}.dtype)
"""
#: Jump, so that a last bit would matter.
JUMPS = """
{x}.floor() | {x}.ceil() | {x}.round() | {x}.trunc() | {x}.sign() | {x} > 0 | {x} == 1 | {x} != 0.5 | {x} <= 1
{x}.frac() | {x}.to(torch.int64) | {x}.to(torch.int32) | {x}.to(torch.bool) | torch.isnan({x}) | {x} // 0.5
{x} % 2 | torch.fmod({x}, 1.5) | torch.round({x}, decimals=1) | torch.isinf({x})
torch.div({x}, 0.5, rounding_mode="trunc")
torch.div({x}, 0.75, rounding_mode="floor") | {x} < 1 | {x} >= 0.5
"""
INTEGER = """
{x} + 3 | {x} * 2 | {x} // 2 | {x} % 3 | {x} - 1 | {x}.abs() | -{x} | {x} > 1 | {x} == 0 | {x}.clamp(-2, 3)
{x} & 3 | torch.bitwise_or({x}, 4) | {x} ^ 5 | ~{x} | {x}.to(torch.float32) | {x}.sign() | {x} * 0.5 | {x} / 4
{x} >> 1 | torch.fmod({x}, 3) | {x} << 2 | torch.bitwise_left_shift({x}, 1) | torch.bitwise_right_shift({x}, 1)
torch.arange({x}.shape[0]) + {x}.shape[-1] | torch.arange(1, 8, 2) | torch.div({x}, 2, rounding_mode="trunc")
torch.bitwise_and({x}, 6) | torch.bitwise_xor({x}, 3) | torch.bitwise_not({x}) | {x}.to(torch.uint8)
{x}.to(torch.int8) | torch.isinf({x}) | {x} + ({x}.shape[0] - 3) | ~{x}.to(torch.uint8) | {x} > {x}.shape[0] - 2
{x}.to(torch.uint8) > {x}.to(torch.int8) | {x}.to(torch.uint8) == {x}.to(torch.int8)
torch.cat([{x}, {x}.to(torch.int32)]) | torch.stack([{x} > 2, {x}]) | torch.cat([{x}, {x} * 0.5])
"""
LOGICAL = """
torch.bitwise_or({x}, True) | ~{x} | {x}.to(torch.float32) | {x}.to(torch.int64) | torch.logical_not({x})
{x}.to(torch.int32) | torch.add({x}, {x}, alpha=0) | torch.isinf({x}) | torch.any({x}, dim=())
torch.all({x}, dim=(), keepdim=True)
"""


def _unary(writer, accepts, expressions, exact=True):
    if x := writer.value(accepts):
        writer.add(writer.form(expressions).format(x=x.name), (x,), exact)


@expression
def smooth(writer):
    _unary(writer, lambda v: v.is_float, SMOOTH, exact=False)


@expression
def steps(writer):
    _unary(writer, lambda v: v.is_float, STEPS)


@expression
def jumps(writer):
    _unary(writer, lambda v: v.is_float and v.exact, JUMPS)


@expression
def integer(writer):
    _unary(writer, _is_integer, INTEGER)


@expression
def logical(writer):
    _unary(writer, lambda v: v.dtype == torch.bool, LOGICAL)


@expression
def cast(writer):
    if x := writer.value(lambda v: v.is_float):
        dtype = writer.pick("torch.float32", "torch.float16", "torch.bfloat16", "torch.float64")
        writer.add(f"{x.name}.to({dtype})", (x,), True)


def _operands(writer, accepts):
    x, y = writer.value(accepts), writer.value(accepts)
    return (x, y) if x and y else None


@expression
def binary(writer):
    if both := _operands(writer, _is_number):
        form = writer.form(
            """
            {} + {} | {} - {} | {} * {} | torch.maximum({}, {}) | torch.minimum({}, {}) | {} + 2 * {}
            torch.fmax({}, {}) | torch.fmin({}, {}) | torch.copysign({}, {}) | torch.add({}, {}, alpha=3)
            """
        )
        writer.add(form.format(*(v.name for v in both)), both, True)


@expression
def divide(writer):
    if both := _operands(writer, lambda v: v.is_float):
        form = writer.form(
            """
            {} / ({}.abs() + 0.5) | torch.atan2({}, {}.abs() + 0.5) | torch.pow({}.abs() + 0.5, {}.clamp(-2, 2))
            """
        )
        writer.add(form.format(*(v.name for v in both)), both, False)


@expression
def divide_integers(writer):
    if both := _operands(writer, _is_integer):
        form = writer.form(
            """
            {} // ({}.abs() + 1) | {} % ({}.abs() + 1) | {} & {} | {} ^ {} | torch.bitwise_or({}, {})
            torch.fmod({}, {}.abs() + 1) | torch.div({}, {}.abs() + 1, rounding_mode="trunc")
            """
        )
        writer.add(form.format(*(v.name for v in both)), both, True)


@expression
def compare(writer):
    if both := _operands(writer, lambda v: v.exact and _is_number(v)):
        writer.add(f"{both[0].name} {writer.pick('<', '<=', '==', '!=', '>', '>=')} {both[1].name}", both, True)


@expression
def logic(writer):
    if both := _operands(writer, lambda v: v.dtype == torch.bool):
        form = writer.pick("{} & {}", "{} ^ {}", "torch.logical_and({}, {})", "torch.logical_or({}, {})")
        writer.add(writer.pick(form, "torch.logical_xor({}, {})").format(*(v.name for v in both)), both, True)


@expression
def where(writer):
    condition = writer.value(lambda v: v.dtype == torch.bool)
    both = _operands(writer, _is_number)
    if condition and both:
        form = writer.form(
            """
            torch.where({}, {}, {}) | torch.where({}, {}, 0.0) | {1}.masked_fill({0}, -2.0)
            {1}.masked_fill({0}, torch.tensor(3.0)) | {1}.masked_scatter({0}, {1})
            """
        )
        names = [condition.name, *(v.name for v in both)]
        writer.add(form.format(*names), (condition, *both), True)


@expression
def move(writer):
    x = writer.value()
    i, j = writer.number(-x.rank, x.rank - 1) if x.rank else 0, writer.axis(x) if x.rank else 0
    order = writer.draw(st.permutations(range(x.rank)))
    form = writer.form(
        """
        {x}.transpose({i}, {j}) | {x}.permute({order}) | {x}.unsqueeze({j}) | {x}.squeeze() | {x}.squeeze({i})
        {x}.flatten() | {x}.flatten({j}) | {x}.flip([{j}]) | torch.roll({x}, 1, {j}) | {x}.contiguous()
        {x}.movedim({i}, {j}) | {x}.reshape({x}.shape[0], -1) | {x}.reshape(-1, {x}.shape[-1])
        {x}.unflatten({j}, (1, -1)) | torch.ops.aten.narrow_copy({x}, {j}, 0, 1)
        {x}.as_strided(({x}.shape[0], 1), ({x}.stride(0), 1))
        """
    )
    writer.add(form.format(x=x.name, i=i, j=j, order=order), (x,), True)


@expression
def part(writer):
    if not (x := writer.value(lambda v: v.rank)):
        return
    axis, colons = writer.axis(x), ""
    colons = ":, " * axis
    form = writer.form(
        """
        {x}[{colons}-1] | {x}[{colons}0:1] | {x}[{colons}::2] | {x}[{colons}1:] | {x}[{colons}:-1]
        {x}.narrow({axis}, 0, 1) | {x}.select({axis}, 0) | {x}.chunk(2, {axis})[0] | {x}.chunk(2, {axis})[-1]
        {x}.split(2, {axis})[0] | {x}.unbind({axis})[0] | {x}.diagonal() | {x}[..., None] | {x}.tril() | {x}.triu(1)
        {x}.unfold({axis}, 2, 1) | {x}.split([1, {x}.shape[{axis}] - 1], {axis})[1]
        """
    )
    writer.add(form.format(x=x.name, colons=colons, axis=axis), (x,), True)


@expression
def join(writer):
    x = writer.value()
    y = writer.value(lambda v: v.rank == x.rank)
    if x.rank:
        axis = writer.axis(x)
        form = writer.form(
            """
            torch.cat([{0}, {1}], {axis}) | torch.stack([{0}, {1}], {axis}) | torch.cat([{0}, {1}, {0}], -1)
            torch.cat([torch.empty({0}.shape[0], 0), {0}], 1) | torch.ops.aten.copy({0}, {1})
            """
        )
        writer.add(form.format(x.name, y.name, axis=axis), (x, y), True)


@expression
def repeat(writer):
    if x := writer.value(lambda v: 0 < v.rank < 5):
        form = writer.form(
            """
            {x}.repeat({ones}, 2) | {x}.expand(2, {sizes}) | {x}.repeat_interleave(2, {axis}) | {x}.expand_as({x})
            """
        )
        axis = writer.axis(x)
        ones, sizes = ", ".join("1" * x.rank), ", ".join(["-1"] * x.rank)
        writer.add(form.format(x=x.name, ones=ones, sizes=sizes, axis=axis), (x,), True)


@expression
def pad(writer):
    if not (x := writer.value(lambda v: v.rank)):
        return
    if x.is_float and x.rank in (3, 4, 5) and writer.pick(False, True):
        widths = (1, 1, 1, 0, 0, 1)[: 2 * (x.rank - 2)]
        writer.add(f"F.pad({x.name}, {widths}, mode='{writer.pick('reflect', 'replicate', 'circular')}')", (x,), True)
    else:
        widths = tuple(writer.number(-1, 2) for _ in range(2 * writer.number(1, x.rank)))
        writer.add(f"F.pad({x.name}, {widths}, value={writer.pick(0, 1)})", (x,), True)


@expression
def index(writer):
    x = writer.value(lambda v: v.rank)
    i = writer.value(lambda v: v.rank and v.dtype == torch.int64)
    if x and i:
        axis = writer.axis(x)
        wrapped = f"{i.name} % {x.name}.shape[{axis}]"
        form = writer.form(
            """
            {x}.index_select({axis}, ({i}).flatten()) | {x}[{i0}] | {x}.gather({axis}, {i})
            torch.take_along_dim({x}, {i}, {axis})
            """
        )
        writer.add(form.format(x=x.name, axis=axis, i=wrapped, i0=f"{i.name} % {x.name}.shape[0]"), (x, i), True)


@expression
def scatter(writer):
    x = writer.value(lambda v: v.rank and v.is_float)
    i = writer.value(lambda v: v.rank and v.dtype == torch.int64)
    if x and i:
        axis = writer.axis(x)
        form = writer.form(
            """
            {x}.scatter_add({axis}, {i}, {x}) | {x}.index_fill({axis}, ({i}).flatten(), 2.0)
            {x}.scatter({axis}, {i}, 1.0)
            """
        )
        writer.add(form.format(x=x.name, axis=axis, i=f"{i.name} % {x.name}.shape[{axis}]"), (x, i), True)


@expression
def embedding(writer):
    if i := writer.value(lambda v: v.dtype in (torch.int64, torch.int32)):
        name = writer.attribute(f"nn.Embedding({writer.number(2, 9)}, {writer.number(1, 9)})")
        writer.add(f"{name}({i.name} % {name}.num_embeddings)", (i,), False)


@expression
def reduce_sums(writer):
    if x := writer.value(lambda v: v.rank and _is_number(v)):
        form = writer.form(
            """
            {x}.sum({a}) | {x}.sum({a}, keepdim=True) | {x}.sum() | {x}.cumsum({a}) | {x}.sum(dim=(0, -1))
            {x}.sum({a}, dtype=torch.float32)
            """
        )
        writer.add(form.format(x=x.name, a=writer.axis(x)), (x,), True)


@expression
def reduce_floats(writer):
    if x := writer.value(lambda v: v.rank and v.is_float):
        form = writer.form(
            """
            {x}.mean({a}) | {x}.mean({a}, keepdim=True) | {x}.mean() | {x}.var({a}, correction=0)
            {x}.norm(dim={a}) | {x}.std({a}, correction=0, keepdim=True) | torch.softmax({x}, {a})
            torch.log_softmax({x}, {a}) | torch.logsumexp({x}, {a}) | F.normalize({x}, dim={a})
            torch.cumprod({x} / 4, {a}) | ({x} / 4).prod({a}) | ({x} / 4).prod()
            torch.var_mean({x}, {a}, correction=0)[0]
            torch.std_mean({x}, {a}, correction=0)[0]
            """
        )
        writer.add(form.format(x=x.name, a=writer.axis(x)), (x,), False)


@expression
def reduce_order(writer):
    if x := writer.value(lambda v: v.rank and v.exact and _is_number(v)):
        form = writer.form(
            """
            {x}.amax({a}) | {x}.amin({a}, keepdim=True) | {x}.argmax({a}) | {x}.argmin({a}, keepdim=True)
            {x}.max({a}).values | {x}.max() | {x}.argmax() | {x}.sort({a}, stable=True).values
            {x}.sort({a}, stable=True, descending=True).indices | {x}.topk(1, {a}).values | {x}.sort({a}).values
            {x}.min({a}).values | {x}.min() | {x}.min({a}, keepdim=True).values | {x}.kthvalue(1, {a}).values
            {x}.median() | {x}.median({a}).values
            """
        )
        writer.add(form.format(x=x.name, a=writer.axis(x)), (x,), True)


@expression
def reduce_logic(writer):
    if x := writer.value(lambda v: v.rank and v.dtype == torch.bool):
        form = writer.pick("{x}.any({a})", "{x}.all({a}, keepdim=True)", "{x}.any()", "{x}.sum({a})", "{x}.cumsum({a})")
        form = writer.pick(form, "{x}.all()", "{x}.any((0, -1))", "{x}.all((0, -1))")
        writer.add(form.format(x=x.name, a=writer.axis(x)), (x,), True)


@expression
def frequencies(writer):
    """Complex numbers, which no line returns: ExecuTorch's portable operators have few of them."""
    x = writer.value(lambda v: v.dtype in (torch.float32, torch.float64) and v.rank)
    y = x and writer.value(lambda v: v.dtype == x.dtype and v.rank == x.rank)
    if x:
        form = writer.form(
            """
            torch.fft.rfft({x}, dim={a}).abs() | torch.fft.irfft(torch.fft.rfft({x}, dim={a}), n=14, dim={a})
            torch.fft.fft({x}, dim={a}).imag | torch.fft.ifft(torch.fft.rfft({x}, dim={a}), dim={a}).real
            torch.view_as_real(torch.complex({x}, {y}) * torch.complex({y}, {x})) | torch.polar({x}.abs(), {y}).real
            (torch.complex({x}, {y}) / (torch.complex({y}, {x}) + 20)).imag | torch.complex({x}, {y}).conj().imag
            torch.exp(torch.complex({x}.clamp(-3, 3), {y})).real | torch.angle(torch.complex({x}.abs() + 0.5, {y}))
            torch.view_as_real(torch.fft.rfft({x}, dim={a})).sum({a}) | torch.complex({x}, {y}).to(torch.bool)
            torch.view_as_real(torch.where({x} > 0, torch.complex({x}, {y}), torch.ones_like({y}, dtype=torch.int64)))
            torch.view_as_real(torch.cat([torch.complex({x}, {y}), torch.ones_like({x} + {y}).long()]))
            torch.pow(-{x}.abs() - 0.5, torch.complex({y}.clamp(-2, 2), {x}.clamp(-1, 1))).imag
            """
        )
        writer.add(form.format(x=x.name, y=y.name, a=writer.axis(x)), (x, y), False)
