# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""float32 values that find errors: all magnitudes, what is special, what lies beside it."""

import torch

INFINITY, NAN = float("inf"), float("nan")
LEAST, LEAST_NORMAL, MOST = 2.0**-149, 2.0**-126, (2 - 2.0**-23) * 2.0**127
SMALL = [0.0, -0.0, LEAST, -LEAST, LEAST_NORMAL, -LEAST_NORMAL]
#: What has a square in float32, or none that is finite either.
SQUARABLE = [*SMALL, INFINITY, -INFINITY, NAN]
SPECIAL = [*SQUARABLE, MOST, -MOST]
#: Where functions turn: halves, multiples of pi, ends of the range of exp, integers that float32 just holds.
TURNS = [
    0.5,
    1,
    1.5,
    2,
    2.5,
    3,
    6,
    torch.pi / 4,
    torch.pi / 2,
    torch.pi,
    88.72284,
    89,
    -87.33655,
    -103.97208,
    128,
    -149,
]
TURNS += [2.0**23, 2.0**23 - 0.5, 2.0**24 + 2, 2.0**31, 2.0**63, 1e-45 + 1, 1e10, 1e22, 1e38]


def beside(values: torch.Tensor) -> torch.Tensor:
    """The values and their neighbours."""
    infinity = torch.tensor(INFINITY)
    return torch.cat([values, torch.nextafter(values, infinity), torch.nextafter(values, -infinity)])


def everywhere(count: int = 128, seed: int = 0) -> torch.Tensor:
    """[N]: ``count`` values of each exponent and sign, denormal ones too, and all of the special ones."""
    generator = torch.Generator().manual_seed(seed)
    exponents = torch.arange(255, dtype=torch.int32).repeat_interleave(count)
    fractions = torch.randint(2**23, exponents.shape, generator=generator, dtype=torch.int32)
    denormal = fractions[: 23 * count] >> torch.arange(23).repeat(count)  # below each power of two
    magnitudes = torch.cat([(exponents << 23) | fractions, denormal.int()]).view(torch.float32)
    turns = beside(torch.tensor(TURNS))
    return torch.cat([torch.tensor(SPECIAL), turns, -turns, magnitudes, -magnitudes])


def between(low: float, high: float, count: int = 20000, seed: int = 0) -> torch.Tensor:
    """[N]: evenly spread, with both ends."""
    generator = torch.Generator().manual_seed(seed)
    inner = low + (high - low) * torch.rand(count, generator=generator, dtype=torch.float64)
    return torch.cat([torch.tensor([low, high]), inner.float()])


def pairs(count: int = 40, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """[N], [N]: each of some values with each, and random ones of similar magnitudes."""
    generator = torch.Generator().manual_seed(seed)
    some = everywhere(1, seed)
    some = some[torch.randperm(len(some), generator=generator)[: count * 4]]
    some = torch.cat([torch.tensor(SPECIAL), torch.tensor(TURNS), some])
    a, b = torch.cartesian_prod(some, some).unbind(1)
    near = 2.0 ** torch.randint(-60, 60, (20000,), generator=generator)
    c, d = (near * torch.randn(2, 20000, generator=generator)).unbind(0)
    return torch.cat([a, c]).contiguous(), torch.cat([b, d]).contiguous()


def rows(count: int, length: int, exponents: tuple[int, int], seed: int = 0) -> torch.Tensor:
    """[count, length]: rows of all magnitudes between these powers of two, a quarter of them far from zero."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(count, length, generator=generator)
    scales = 2.0 ** torch.linspace(*exponents, count, dtype=torch.float64)
    scales[::4] = 1
    x = (x.double() * scales[:, None]).float()
    x[1::4] += x[1::4].abs().amax(1, keepdim=True) * 8  # cancels in variances
    return x


def with_special(x: torch.Tensor, special: list[float] = SPECIAL) -> torch.Tensor:
    """The rows [N, K], and rows of which one element is special."""
    extra = 1 + torch.arange(x.shape[1]).repeat(2 * len(special), 1) % 7.0
    for i in range(len(extra)):
        extra[i, (5 * i) % extra.shape[1]] = special[i % len(special)]
    return torch.cat([x, extra])
