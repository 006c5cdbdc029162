# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Expressions of layers: norms, products, convolutions, pools, attention, recurrent ones."""

import torch

from fuzz.expressions import expression, is_float32


@expression
def norm(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank and v.size(-1))
    if x:
        made = writer.pick("nn.LayerNorm({n})", "nn.RMSNorm({n})", "nn.LayerNorm({n}, elementwise_affine=False)")
        name = writer.attribute(made.format(n=x.size(-1)))
        writer.add(f"{name}({x.name})", (x,), False)


@expression
def norm_operators(writer):
    """What other tools write where PyTorch has modules."""
    if x := writer.value(lambda v: is_float32(v) and v.rank in (2, 3, 4) and v.size(-1)):
        form = writer.form(
            """
            torch.ops.aten._fused_rms_norm({x}, [{n}], None, 1e-5)[0]
            torch.ops.aten._native_batch_norm_legit.no_stats({x}, None, None, True, 0.1, 1e-5)[0]
            """
        )
        writer.add(form.format(x=x.name, n=x.size(-1)), (x,), False)


@expression
def channel_norm(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank in (3, 4) and v.size(1))
    if x:
        kinds = {
            3: ("nn.BatchNorm1d({c})", "nn.GroupNorm(1, {c})", "nn.PReLU({c})", "nn.InstanceNorm1d({c}, affine=True)"),
            4: ("nn.BatchNorm2d({c})", "nn.GroupNorm({c}, {c})", "nn.PReLU()", "nn.InstanceNorm2d({c})"),
        }
        name = writer.attribute(writer.pick(*kinds[x.rank]).format(c=x.size(1)))
        writer.add(f"{name}({x.name})", (x,), False)


@expression
def linear(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank and v.size(-1))
    if x:
        name = writer.attribute(f"nn.Linear({x.size(-1)}, {writer.number(1, 9)}, bias={writer.pick(True, False)})")
        writer.add(f"{name}({x.name})", (x,), False)


@expression
def matmul(writer):
    x = writer.value(lambda v: v.is_float and v.rank)
    y = x and writer.value(lambda v: v.dtype == x.dtype and v.rank)
    if x and y:
        form = writer.form(
            """
            {0} @ {1} | {0} @ {1}.transpose(-1, -2) | {0}.transpose(-1, -2) @ {1}
            torch.outer({0}.flatten(), {1}.flatten()) | torch.mm({0}, {1}.t()) | torch.bmm({0}, {1}.transpose(1, 2))
            torch.addmm({0}.sum(), {0}, {1}.t()) | torch.addmv({0}.sum(-1), {0}, {1}.flatten())
            torch.addbmm({0}.sum(), {0}, {1}.transpose(1, 2))
            """
        )
        writer.add(form.format(x.name, y.name), (x, y), False)


@expression
def convolution(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank in (3, 4, 5) and v.size(1))
    if x:
        c, out, kernel = x.size(1), writer.number(1, 5), writer.pick(1, 2, 3)
        d = x.rank - 2
        form = writer.form(
            """
            nn.Conv{d}d({c}, {out}, {k}, padding={p}, stride={s})
            nn.Conv{d}d({c}, {c2}, {k}, groups={c}, padding={p}) | nn.ConvTranspose{d}d({c}, {out}, {k}, stride={s})
            nn.Conv{d}d({c}, {out}, {k}, dilation=2, padding=2, bias=False)
            """
        )
        made = form.format(
            d=d,
            c=c,
            out=out,
            c2=c * writer.number(1, 2),
            k=kernel,
            p=writer.number(0, kernel - 1),
            s=writer.number(1, 2),
        )
        writer.add(f"{writer.attribute(made)}({x.name})", (x,), False)


@expression
def pool(writer):
    if x := writer.value(lambda v: is_float32(v) and v.rank in (3, 4, 5)):
        d, k = x.rank - 2, writer.number(1, 3)
        form = writer.form(
            """
            F.avg_pool{d}d({x}, {k}, stride={s}, padding={p}) | F.adaptive_avg_pool{d}d({x}, {k})
            F.avg_pool{d}d({x}, {k}, ceil_mode=True, count_include_pad=False, padding={p})
            """
        )
        writer.add(form.format(d=d, x=x.name, k=k, s=writer.number(1, 3), p=k // 2), (x,), False)


@expression
def largest(writer):
    if x := writer.value(lambda v: is_float32(v) and v.rank in (3, 4, 5)):
        k = writer.number(1, 3)
        form = writer.form(
            """
            F.max_pool{d}d({x}, {k}, stride={s}, padding={p}) | F.max_pool{d}d({x}, {k}, ceil_mode=True)
            F.adaptive_max_pool{d}d({x}, {k}) | F.max_pool{d}d({x}, {k}, return_indices=True)[1]
            """
        )
        writer.add(form.format(d=x.rank - 2, x=x.name, k=k, s=writer.number(1, 3), p=k // 2), (x,), True)


@expression
def resize(writer):
    if x := writer.value(lambda v: is_float32(v) and v.rank == 4):
        form = writer.form(
            """
            F.interpolate({x}, scale_factor=2) | F.interpolate({x}, scale_factor=2.0, mode='bilinear')
            F.pixel_shuffle({x}, 2) | F.interpolate({x}, size=(5, 3), mode='bilinear', align_corners=True)
            F.interpolate({x}, size=(3, 4), mode='bicubic') | F.interpolate({x}, scale_factor=2, mode='nearest-exact')
            F.interpolate({x}, size=(3, 4), mode='bilinear', antialias=True) | torch.channel_shuffle({x}, 1)
            F.interpolate({x}, size=(3, 4), mode='bicubic', antialias=True)
            F.interpolate({x}, scale_factor=(1.1, 2.1)) | F.interpolate({x}, scale_factor=(2.3, 1.2), mode='bilinear')
            """
        )
        writer.add(form.format(x=x.name), (x,), False)


@expression
def attention(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank in (3, 4))
    y = x and writer.value(lambda v: is_float32(v) and v.rank == x.rank)
    if x and y:
        options = writer.pick("", ", is_causal=True", ", scale=0.5")
        writer.add(f"F.scaled_dot_product_attention({x.name}, {y.name}, {y.name}{options})", (x, y), False)


@expression
def recurrent(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank == 3 and v.size(-1))
    if x:
        kind = writer.pick("nn.LSTM", "nn.GRU", "nn.RNN")
        options = writer.pick("", ", batch_first=True", ", bidirectional=True", ", num_layers=2")
        name = writer.attribute(f"{kind}({x.size(-1)}, {writer.number(1, 5)}{options})")
        writer.add(f"{name}({x.name})[0]", (x,), False)


@expression
def resize_others(writer):
    if x := writer.value(lambda v: is_float32(v) and v.rank in (3, 5)):
        smooth = "linear" if x.rank == 3 else "trilinear"
        mode = writer.pick("nearest", "nearest-exact", smooth)
        # Of other factors what PyTorch takes for the nearest in five dimensions depends on the memory format.
        factor = 2 if x.rank == 5 and mode == "nearest" else writer.pick(2, 1.1, 2.1)
        writer.add(f"F.interpolate({x.name}, scale_factor={factor}, mode='{mode}')", (x,), False)


@expression
def sample_grid(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank == 4)
    if x:
        grid = f"torch.full(({x.name}.shape[0], 2, 3, 2), 0.25)"
        writer.add(f"F.grid_sample({x.name}, {grid}, align_corners={writer.pick(True, False)})", (x,), False)


@expression
def distance(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank in (2, 3))
    if x:
        writer.add(f"torch.cdist({x.name}, {x.name} + 1, p={writer.pick(1.0, 2.0)})", (x,), False)


@expression
def bilinear(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank in (2, 3) and v.size(-1))
    if x:
        n = x.size(-1)
        writer.add(f"{writer.attribute(f'nn.Bilinear({n}, {n}, 3)')}({x.name}, {x.name})", (x,), False)


@expression
def cell(writer):
    x = writer.value(lambda v: is_float32(v) and v.rank == 2 and v.size(-1))
    if x:
        made = writer.pick("nn.LSTMCell({n}, 4)", "nn.GRUCell({n}, 4)", "nn.RNNCell({n}, 4)")
        made = writer.pick(made, "nn.RNNCell({n}, 4, nonlinearity='relu')")
        name = writer.attribute(made.format(n=x.size(-1)))
        writer.add(f"{name}({x.name}){'[0]' if 'LSTM' in made else ''}", (x,), False)


@expression
def bag(writer):
    if i := writer.value(lambda v: v.dtype == torch.int64 and v.rank == 2):
        name = writer.attribute(
            f"nn.EmbeddingBag(7, {writer.number(1, 5)}, mode='{writer.pick('sum', 'mean', 'max')}')"
        )
        form = writer.form(
            """
            {bag}({i} % 7)
            torch.ops.aten._embedding_bag_forward_only({bag}.weight.detach(), {i}.flatten() % 7, torch.arange(2))[0]
            """
        )
        writer.add(form.format(bag=name, i=i.name), (i,), False)


@expression
def multiply_integers(writer):
    # Of one column eager PyTorch returns whatever there is in memory.
    x = writer.value(lambda v: is_float32(v) and v.rank == 2 and v.exact and all(c.shape[1] > 1 for c in v.calls))
    if x:
        whole = f"{x.name}.to(torch.int8)"
        writer.add(f"torch._int_mm({whole}, {whole}.t().contiguous())", (x,), True)
