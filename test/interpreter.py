# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Runs an ``ir.Graph`` with PyTorch: what every operator of the schema means, in a few lines each.

It proves lowering and passes without the runtime, and checks that each value has the
shape and type that the graph declares.
"""

import functools
import math
from types import SimpleNamespace

import sympy
import torch
import torch.nn.functional as F
from executorch.backends.et_xnnpack.aot.ir import Graph
from executorch.backends.et_xnnpack.serialization.arrays import DTYPES, convert
from executorch.backends.et_xnnpack.serialization.schema import (
    AdaptivePoolKind,
    ArgReduceKind,
    BagKind,
    BinaryKind,
    CompareKind,
    DType,
    PadMode,
    QParamsKind,
    RecurrentKind,
    ReduceKind,
    ResizeKind,
    ScanKind,
    UnaryKind,
    UpdateKind,
)

_UNARY = {
    UnaryKind.Abs: lambda x, a: x.abs(),
    UnaryKind.Ceil: lambda x, a: x.ceil(),
    UnaryKind.Clamp: lambda x, a: x.clamp(a.clamp.min, a.clamp.max),
    UnaryKind.Copy: lambda x, a: x.clone(),
    UnaryKind.Cos: lambda x, a: x.cos(),
    UnaryKind.Elu: lambda x, a: F.elu(x, a.alpha),
    UnaryKind.Exp: lambda x, a: x.exp(),
    UnaryKind.Floor: lambda x, a: x.floor(),
    UnaryKind.Gelu: lambda x, a: F.gelu(x),
    UnaryKind.GeluTanh: lambda x, a: F.gelu(x, approximate="tanh"),
    UnaryKind.HardSigmoid: lambda x, a: F.hardsigmoid(x),
    UnaryKind.HardSwish: lambda x, a: F.hardswish(x),
    UnaryKind.LeakyRelu: lambda x, a: F.leaky_relu(x, a.alpha),
    UnaryKind.Log: lambda x, a: x.log(),
    UnaryKind.Neg: lambda x, a: x.neg(),
    UnaryKind.Reciprocal: lambda x, a: x.reciprocal(),
    UnaryKind.Round: lambda x, a: x.round(),
    UnaryKind.Rsqrt: lambda x, a: x.rsqrt(),
    UnaryKind.Sigmoid: lambda x, a: x.sigmoid(),
    UnaryKind.Sign: lambda x, a: x.sign(),
    UnaryKind.Silu: lambda x, a: F.silu(x),
    UnaryKind.Sin: lambda x, a: x.sin(),
    UnaryKind.Sqrt: lambda x, a: x.sqrt(),
    UnaryKind.Square: lambda x, a: x.square(),
    UnaryKind.Tanh: lambda x, a: x.tanh(),
    UnaryKind.Acos: lambda x, a: x.acos(),
    UnaryKind.Acosh: lambda x, a: x.acosh(),
    UnaryKind.Asin: lambda x, a: x.asin(),
    UnaryKind.Asinh: lambda x, a: x.asinh(),
    UnaryKind.Atan: lambda x, a: x.atan(),
    UnaryKind.Atanh: lambda x, a: x.atanh(),
    UnaryKind.Cosh: lambda x, a: x.cosh(),
    UnaryKind.Erf: lambda x, a: x.erf(),
    UnaryKind.Exp2: lambda x, a: x.exp2(),
    UnaryKind.Expm1: lambda x, a: x.expm1(),
    UnaryKind.Log10: lambda x, a: x.log10(),
    UnaryKind.Log1p: lambda x, a: x.log1p(),
    UnaryKind.Log2: lambda x, a: x.log2(),
    UnaryKind.Sinh: lambda x, a: x.sinh(),
    UnaryKind.Tan: lambda x, a: x.tan(),
    UnaryKind.Trunc: lambda x, a: x.trunc(),
}
_BINARY = {
    BinaryKind.Add: torch.add,
    BinaryKind.Sub: torch.sub,
    BinaryKind.Mul: torch.mul,
    BinaryKind.Div: torch.div,
    BinaryKind.Maximum: torch.maximum,
    BinaryKind.Minimum: torch.minimum,
    BinaryKind.Pow: torch.pow,
    BinaryKind.Prelu: lambda a, b: torch.where(a < 0, a * b, a),
    BinaryKind.SquaredDifference: lambda a, b: (a - b).square(),
    BinaryKind.Atan2: torch.atan2,
    BinaryKind.Copysign: torch.copysign,
    BinaryKind.FloorDiv: torch.floor_divide,
    BinaryKind.Remainder: torch.remainder,
    BinaryKind.Fmod: torch.fmod,
    BinaryKind.BitAnd: torch.bitwise_and,
    BinaryKind.BitOr: torch.bitwise_or,
    BinaryKind.BitXor: torch.bitwise_xor,
}
_COMPARE = {
    CompareKind.Equal: torch.eq,
    CompareKind.NotEqual: torch.ne,
    CompareKind.Less: torch.lt,
    CompareKind.LessEqual: torch.le,
    CompareKind.Greater: torch.gt,
    CompareKind.GreaterEqual: torch.ge,
}


def _torch_dtype(dtype: DType) -> torch.dtype:
    return getattr(torch, dtype.name.lower())


def _tensor(array) -> torch.Tensor:
    dtype = DTYPES[array.dtype]
    if dtype == DType.BFloat16:
        return torch.from_numpy(convert(array, DType.Float32).copy()).bfloat16()
    return torch.from_numpy(array.copy())


def _clamped(y, clamp):
    return y if clamp is None else y.clamp(clamp.min, clamp.max)


def _nchw(x):
    return x.permute(0, 3, 1, 2)


def _nhwc(x):
    return x.permute(0, 2, 3, 1)


def _padded(x, p, value=0.0):
    return F.pad(x, (p.left, p.right, p.top, p.bottom), value=value)


def _conv2d(a, x, weight, bias=None):
    x = _padded(_nchw(_rounded(x, 3) if a.dynamic_quantization else x), a.padding)
    y = F.conv2d(x, _nchw(weight), bias, tuple(a.stride), 0, tuple(a.dilation), a.groups)
    return _clamped(_nhwc(y), a.clamp)


def _conv_transpose2d(a, x, weight, bias=None):
    outputs, *kernel, inputs = weight.shape
    weight = weight.reshape(a.groups, outputs // a.groups, *kernel, inputs)
    weight = weight.permute(0, 4, 1, 2, 3).reshape(a.groups * inputs, -1, *kernel)
    x = _nchw(_rounded(x, 3) if a.dynamic_quantization else x)
    y = F.conv_transpose2d(x, weight, bias, tuple(a.stride), 0, 0, a.groups, tuple(a.dilation))
    if bias is None:
        bias = torch.zeros(outputs)
    extra = a.output_padding
    y = F.pad(y - bias[:, None, None], (0, extra.width, 0, extra.height)) + bias[:, None, None]
    p = a.padding
    y = y[:, :, p.top : y.shape[2] - p.bottom, p.left : y.shape[3] - p.right]
    return _clamped(_nhwc(y), a.clamp)


def _avg_pool2d(a, x):
    def window_sums(x):
        return F.avg_pool2d(x, tuple(a.kernel), tuple(a.stride), divisor_override=1)

    x = _nchw(x)
    sums = window_sums(_padded(x, a.padding))
    if a.divisor_override:
        return _nhwc(sums / a.divisor_override)
    inside = _padded(torch.ones_like(x), a.padding_counted, 1.0)
    rest = type(a.padding)(*(p - c for p, c in zip(a.padding, a.padding_counted, strict=True)))
    return _nhwc(sums / window_sums(_padded(inside, rest)))


def _max_pool2d(a, x):
    x = _padded(_nchw(x), a.padding, float("-inf"))
    y = F.max_pool2d(x, tuple(a.kernel), tuple(a.stride), dilation=tuple(a.dilation))
    return _nhwc(y)


def _adaptive_pool2d(a, x):
    pool = {
        AdaptivePoolKind.Average: F.adaptive_avg_pool2d,
        AdaptivePoolKind.Max: F.adaptive_max_pool2d,
    }[a.kind]
    return _nhwc(pool(_nchw(x), tuple(a.output)))


def _reduce(a, x):
    if a.kind == ReduceKind.Prod:
        for axis in reversed(a.axes):
            x = x.prod(axis, keepdim=a.keep_dims, dtype=x.dtype)
        return x
    reduce = {
        ReduceKind.Sum: functools.partial(torch.sum, dtype=x.dtype),
        ReduceKind.Mean: torch.mean,
        ReduceKind.Max: torch.amax,
        ReduceKind.Min: torch.amin,
        ReduceKind.Any: torch.any,
        ReduceKind.All: torch.all,
    }[a.kind]
    return reduce(x, tuple(a.axes), keepdim=a.keep_dims)


def _sort(a, x):
    places = torch.argsort(x, dim=a.axis, descending=a.descending, stable=True)
    return places.narrow(a.axis, 0, a.count) if a.count else places


def _arg_reduce(a, x):
    return {ArgReduceKind.Max: torch.argmax, ArgReduceKind.Min: torch.argmin}[a.kind](x, a.axis)


def _scan(a, x):
    return {ScanKind.Sum: torch.cumsum, ScanKind.Prod: torch.cumprod}[a.kind](x, a.axis)


def _layer_norm(a, x, weight=None, bias=None):
    return torch.native_layer_norm(x, x.shape[x.dim() - a.axes :], weight, bias, a.epsilon)


def _rotary_embedding(a, x, cos, sin):
    parts = x.unflatten(-1, (-1, 2)) if a.interleaved else x.unflatten(-1, (2, -1))
    axis = -1 if a.interleaved else -2
    first, second = parts.unbind(axis)
    return x * cos + torch.stack((-second, first), axis).flatten(-2) * sin


def _rms_norm(a, x, weight=None):
    return F.rms_norm(x, x.shape[x.dim() - a.axes :], weight, a.epsilon)


def _group_norm(a, x, weight=None, bias=None):
    x = x.movedim(a.axis, 1)
    batch, channels, *rest = x.shape
    y, mean, rstd = torch.native_group_norm(
        x.contiguous(), weight, bias, batch, channels, math.prod(rest), a.groups, a.epsilon
    )
    return y.movedim(1, a.axis), mean, rstd


def _max_pool_indices(a, x):
    x = x.movedim(-1, 1)
    if a.output is not None:
        y, indices = F.adaptive_max_pool3d(x, a.output, return_indices=True)
        return y.movedim(1, -1), indices.movedim(1, -1)
    _, _, *sizes = x.shape
    amounts = [n for pair in zip(a.before, a.after, strict=True) for n in reversed(pair)][::-1]
    padded = F.pad(x, amounts, value=float("-inf"))
    places = torch.arange(math.prod(sizes)).reshape(sizes)
    places = F.pad(places, amounts, value=-1)
    windows, where = padded, places
    for axis, (kernel, stride, dilation) in enumerate(zip(a.kernel, a.stride, a.dilation, strict=True)):
        span = (kernel - 1) * dilation + 1
        windows = windows.unfold(2 + axis, span, stride)[..., ::dilation]
        where = where.unfold(axis, span, stride)[..., ::dilation]
    windows, where = windows.flatten(-3), where.flatten(-3)
    order = torch.arange(windows.shape[-1])
    # The last NaN, else the first of the largest that are not padding.
    nan = torch.where(windows.isnan(), order, -1).amax(-1)
    largest = windows.nan_to_num(nan=float("-inf"), posinf=float("inf"), neginf=float("-inf"))
    largest = largest.amax(-1, keepdim=True)
    first = torch.where((windows == largest) & (where >= 0), order, order.numel()).amin(-1)
    chosen = torch.where(nan >= 0, nan, first)[..., None]
    where = where.expand(windows.shape)
    y, indices = windows.gather(-1, chosen)[..., 0], where.gather(-1, chosen)[..., 0]
    return y.movedim(1, -1), indices.movedim(1, -1)


def _grid_sample(a, x, grid):
    return _nhwc(torch.grid_sampler_2d(_nchw(x), grid, int(a.kind), int(a.padding_mode), a.align_corners))


def _recurrent(a, x, weight, bias=None, h=None, cell=None, projection=None):
    steps, batch, gates = x.shape
    h = torch.zeros(batch, weight.shape[1]) if h is None else h
    hidden = gates // 4 if a.kind == RecurrentKind.Lstm else h.shape[1]
    cell = torch.zeros(batch, hidden) if cell is None else cell
    y = torch.empty(steps, batch, h.shape[1])
    for t in reversed(range(steps)) if a.reverse else range(steps):
        product = F.linear(h, weight, bias)
        if a.kind == RecurrentKind.Lstm:
            i, f, g, o = (x[t] + product).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            h = o.sigmoid() * cell.tanh()
            h = h if projection is None else F.linear(h, projection)
        elif a.kind == RecurrentKind.Gru:
            r, z, n = zip(x[t].chunk(3, 1), product.chunk(3, 1), strict=True)
            r, z = sum(r).sigmoid(), sum(z).sigmoid()
            h = (1 - z) * (n[0] + r * n[1]).tanh() + z * h
        else:
            h = {RecurrentKind.Tanh: torch.tanh, RecurrentKind.Relu: torch.relu}[a.kind](x[t] + product)
        y[t] = h
    return y, h, cell


def _attention(a, query, key, value, mask=None):
    if query.dim() > 2 and query.shape[-3] != key.shape[-3]:
        group = query.shape[-3] // key.shape[-3]
        key, value = (x.repeat_interleave(group, -3) for x in (key, value))
    scores = query @ key.transpose(-2, -1) * a.scale
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    if a.causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    weights = torch.softmax(scores, -1)
    empty = (scores == float("-inf")).all(-1, keepdim=True)
    return weights.masked_fill(empty, 0) @ value


def _slice(a, x):
    index = a.start + a.step * torch.arange(a.size)
    return x.index_select(a.axis, index)


def _pad(a, x):
    amounts = [n for pair in zip(a.before, a.after, strict=True) for n in reversed(pair)]
    if a.mode == PadMode.Constant:
        return F.pad(x, amounts[::-1], value=a.value)
    for axis, (before, after) in enumerate(zip(a.before, a.after, strict=True)):
        size, index = x.shape[axis], torch.arange(-before, x.shape[axis] + after)
        if a.mode == PadMode.Reflect:
            index = torch.where(index < 0, -index, index)
            index = torch.where(index >= size, 2 * size - 2 - index, index)
        else:
            index = index.clamp(0, size - 1) if a.mode == PadMode.Replicate else index % size
        x = x.index_select(axis, index)
    return x


def _resize(a, x):
    x = _nchw(x)
    scales = [1 / s if s else None for s in (a.scale_height, a.scale_width)]
    if a.kind == ResizeKind.Nearest:
        y = torch.ops.aten.upsample_nearest2d(x, a.shape, *scales)
    elif a.kind == ResizeKind.NearestExact:
        y = torch.ops.aten._upsample_nearest_exact2d(x, a.shape, *scales)
    elif a.kind == ResizeKind.Bilinear:
        y = torch.ops.aten.upsample_bilinear2d(x, a.shape, a.align_corners, *scales)
    else:
        y = torch.ops.aten.upsample_bicubic2d(x, a.shape, a.align_corners, *scales)
    return _nhwc(y)


_REDUCE = {
    UpdateKind.Add: "sum",
    UpdateKind.Multiply: "prod",
    UpdateKind.Minimum: "amin",
    UpdateKind.Maximum: "amax",
}


def _index_put(a, x, values, *indices):
    places = [None] * a.axis + [i.long() for i in indices]
    return torch.ops.aten.index_put(x, places, values, a.kind == UpdateKind.Add)


def _scatter(a, x, values, index):
    if a.kind == UpdateKind.Assign:
        return x.scatter(a.axis, index.long(), values)
    if x.dtype == torch.bool:
        either = a.kind in (UpdateKind.Add, UpdateKind.Maximum)
        return x.int().scatter_reduce(a.axis, index.long(), values.int(), "amax" if either else "amin").bool()
    return x.scatter_reduce(a.axis, index.long(), values, _REDUCE[a.kind])


def _slice_scatter(a, x, values):
    y = x.clone()
    y[tuple(slice(b, b + n * s, s) for b, n, s in zip(a.start, values.shape, a.step, strict=True))] = values
    return y


def _embedding_bag(a, table, indices, offsets, weights=None):
    mode = {BagKind.Sum: "sum", BagKind.Mean: "mean", BagKind.Max: "max"}[a.kind]
    padding = None if a.padding_idx < 0 else a.padding_idx
    indices, offsets = indices.long(), offsets.long()
    if a.include_last_offset and (a.padding_idx >= 0 or a.kind == BagKind.Max):
        indices = indices[: offsets[-1]]
    return F.embedding_bag(
        indices, table, offsets, None, 2, False, mode, False, weights, a.include_last_offset, padding
    )


def _blocks(x, parameter):
    """A scale or zero point for each element of ``x``."""
    for axis, blocks in enumerate(parameter.shape):
        parameter = parameter.repeat_interleave(x.shape[axis] // max(blocks, 1), axis)
    return parameter


def _quantize(a, x, scale, zero_point):
    q = torch.round(x * (1.0 / _blocks(x, scale))) + _blocks(x, zero_point)
    return q.clamp(a.min, a.max).nan_to_num(0).to(_torch_dtype(a.dtype))


def _dequantize(a, x, scale, zero_point):
    return (x.float() - _blocks(x, zero_point)) * _blocks(x, scale)


def _stored(quantization, x):
    """What is left of ``x`` when it is stored so."""
    if quantization is None:
        return x
    info = torch.iinfo(_torch_dtype(quantization.dtype))
    scale, zero_point = (torch.from_numpy(p) for p in (quantization.scale, quantization.zero_point))
    q = (torch.round(x * (1.0 / scale)) + zero_point).clamp(info.min, info.max).nan_to_num(0)
    return (q - zero_point) * scale


def _choose_qparams(a, x):
    axes = tuple(range(x.dim() - a.axes, x.dim()))
    low, high = (x.amin(axes, True), x.amax(axes, True)) if axes else (x, x)
    low, high = low.clamp(max=0), high.clamp(min=0)
    if a.kind == QParamsKind.Symmetric:
        scale = torch.maximum(-low, high) / ((a.max - a.min) / 2)
        scale = scale.clamp(min=a.epsilon)
        return scale, torch.full_like(scale, (a.max + a.min + 1) // 2).int()
    scale = ((high - low) / (a.max - a.min)).clamp(min=a.epsilon)
    zero_point = a.min - torch.round(low / scale)
    if a.kind == QParamsKind.Nearest:
        from_low = (a.min + low / scale) + (a.max + high / scale) > 0
        zero_point = torch.round(torch.where(from_low, a.min - low / scale, a.max - high / scale))
    return scale, zero_point.clamp(a.min, a.max).int()


def _rounded(x, axes):
    """Rounded to 8 bits, with parameters for the last axes."""
    a = SimpleNamespace(kind=QParamsKind.Nearest, axes=axes, min=-128, max=127, epsilon=2**-23, dtype=DType.Int8)
    parameters = _choose_qparams(a, x)
    return _dequantize(a, _quantize(a, x, *parameters), *parameters)


def _quantized_linear(a, x, weight, scale, bias=None, zero_point=None):
    if a.dynamic_quantization:
        x = _rounded(x, 1)
    if a.bits == 4:
        weight = torch.stack([weight & 15, weight >> 4], -1).flatten(1).int() - 8
    zero_point = torch.zeros(scale.shape) if zero_point is None else zero_point
    return _clamped(F.linear(x, _dequantize(a, weight, scale, zero_point), bias), a.clamp)


_OPERATORS = {
    "Unary": lambda a, x: _UNARY[a.kind](x, a),
    "Binary": lambda a, x, y: _clamped(_BINARY[a.kind](x, y), a.clamp),
    "Linear": lambda a, x, w, bias=None: _clamped(F.linear(x, w, bias), a.clamp),
    "BatchMatMul": lambda a, x, y: x @ (y.transpose(-2, -1) if a.transpose_b else y),
    "Conv2d": _conv2d,
    "ConvTranspose2d": _conv_transpose2d,
    "AvgPool2d": _avg_pool2d,
    "MaxPool2d": _max_pool2d,
    "AdaptivePool2d": _adaptive_pool2d,
    "Reduce": _reduce,
    "ArgReduce": _arg_reduce,
    "Scan": _scan,
    "Sort": _sort,
    "Softmax": lambda a, x: (torch.log_softmax if a.log else torch.softmax)(x, a.axis),
    "LayerNorm": _layer_norm,
    "RmsNorm": _rms_norm,
    "GroupNorm": _group_norm,
    "MaxPoolIndices": _max_pool_indices,
    "GridSample": _grid_sample,
    "Recurrent": _recurrent,
    "Attention": _attention,
    "RotaryEmbedding": _rotary_embedding,
    "Reshape": lambda a, x: x.reshape(a.shape),
    "Transpose": lambda a, x: x.permute(a.perm),
    "Expand": lambda a, x: x.expand(a.shape),
    "Concat": lambda a, *xs: torch.cat(xs, a.axis),
    "Slice": _slice,
    "Pad": _pad,
    "Compare": lambda a, x, y: _COMPARE[a.kind](x, y),
    "Where": lambda a, condition, x, y: torch.where(condition, x, y),
    "Cast": lambda a, x: x.to(_torch_dtype(a.dtype)),
    "Quantize": _quantize,
    "Dequantize": _dequantize,
    "ChooseQParams": _choose_qparams,
    "QuantizedLinear": _quantized_linear,
    "Iota": lambda a: torch.arange(a.size),
    "Index": lambda a, x, *indices: x[(slice(None),) * a.axis + indices],
    "Gather": lambda a, x, index: x.gather(a.axis, index.long()),
    "Resize2d": _resize,
    "IndexPut": _index_put,
    "Scatter": _scatter,
    "SliceScatter": _slice_scatter,
    "MaskedScatter": lambda a, x, mask, values: x.masked_scatter(mask, values),
    "EmbeddingBag": _embedding_bag,
    "SizeValue": lambda a: torch.tensor(a.size),
}


_SEVERAL_RESULTS = ("LayerNorm", "GroupNorm", "MaxPoolIndices", "Recurrent", "ChooseQParams")


def _solve(graph: Graph, arguments) -> dict[sympy.Symbol, int]:
    """The values of all symbols, from the sizes of the arguments."""
    equations = []
    for source, argument in zip(graph.arguments, arguments, strict=True):
        if source.value is None:
            equations.append((source.expr, argument))
        else:
            equations += zip(graph.values[source.value].shape, argument.shape, strict=False)
    symbols = {e: v for e, v in equations if isinstance(e, sympy.Symbol)}
    for expr, value in equations:
        expr = sympy.sympify(expr).subs(symbols)
        if len(expr.free_symbols) == 1:
            (symbol,) = expr.free_symbols
            symbols[symbol] = int(sympy.solve(expr - value, symbol)[0])
    return symbols


def run(graph: Graph, arguments, states: dict[str, torch.Tensor] | None = None) -> list[torch.Tensor]:
    """The delegate's outputs for its arguments, both as the caller sees them.

    ``states`` are read and set by name; what is missing has its initial content.
    """
    states = {} if states is None else states

    def physical(source, argument):
        if source.value is None or source.dim_order is None:
            return argument
        return argument.permute(source.dim_order)

    arguments = [physical(s, a) for s, a in zip(graph.arguments, arguments, strict=True)]
    symbols = _solve(graph, arguments)

    def number(d):
        return int(d.subs(symbols)) if isinstance(d, sympy.Expr) else d

    def numbers(x):
        return tuple(numbers(d) for d in x) if type(x) is tuple else number(x)

    def check(name, tensor):
        value = graph.values[name]
        shape = tuple(number(d) for d in value.shape)
        assert tuple(tensor.shape) == shape, f"%{name} is {tuple(tensor.shape)}, not {shape}"
        dtype = _torch_dtype(value.dtype)
        assert tensor.dtype == dtype, f"%{name} is {tensor.dtype}, not {dtype}"
        return tensor

    env = {
        name: _tensor(value.array).reshape(value.shape)
        for name, value in graph.values.items()
        if value.constant is not None
    }
    for source, argument in zip(graph.arguments, arguments, strict=True):
        if source.value is not None:
            env[source.value] = check(source.value, argument)
    for source in graph.inputs:
        if source.state is not None:
            initial = _tensor(source.state.initial.array)
            env[source.value] = check(source.value, states.get(source.state.name, initial))
    for node in graph.nodes:
        attributes = type(node.attributes)(**{k: numbers(v) for k, v in vars(node.attributes).items()})
        operands = [None if i is None else env[i] for i in node.inputs]
        results = _OPERATORS[node.op](attributes, *operands)
        if node.op in _SEVERAL_RESULTS:
            results = results[: len(node.outputs)]
        else:
            results = (results,)
        for output, result in zip(node.outputs, results, strict=True):
            env[output] = check(output, _stored(graph.values[output].quantization, result))
    results = []
    for output in graph.outputs:
        if output.state is not None:
            states[output.state] = env[output.value].clone()
    for output in graph.results:
        y = env[output.value].contiguous()
        order = output.dim_order or tuple(range(y.dim()))
        results.append(y.permute([order.index(a) for a in range(y.dim())]))
    return results
