# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs with their inputs and tolerance, by operator family.

End-to-end tests, round trips, the fuzz corpus and benchmarks all read this table::

    Sample("relu", F.relu, rand(2, 3))
    Sample("conv2d", new(nn.Conv2d, 3, 8, 3), rand(BATCH, 3, 9, 9))

A ``Size`` in a shape makes that axis dynamic: the program is called with each of its
``calls`` in turn.
"""

import copy
import dataclasses
import functools
import importlib
import inspect
import pkgutil
import zlib
from collections.abc import Callable, Iterator

import torch
from torch import nn

_NORMS = (
    nn.modules.batchnorm._BatchNorm,
    nn.modules.instancenorm._InstanceNorm,
    nn.GroupNorm,
    nn.LayerNorm,
    nn.RMSNorm,
)


@dataclasses.dataclass(frozen=True)
class Size:
    """An axis whose size changes from call to call."""

    name: str
    max: int
    calls: tuple[int, ...]  #: called one after the other; the program is for the smallest to ``max``

    @property
    def example(self) -> int:
        """The size to export with, neither the smallest nor ``max``."""
        return sorted(set(self.calls))[-2]


#: Lets operators pass that the Edge dialect does not know.
ANY_OPERATOR = {"_check_ir_validity": False}

BATCH = Size("batch", 5, (5, 1, 2, 5, 3, 3, 1))
LENGTH = Size("length", 17, (17, 4, 16, 1, 17, 3, 2))
HEIGHT = Size("height", 12, (12, 7, 12, 9, 8, 12, 6))
WIDTH = Size("width", 11, (11, 11, 6, 8, 11, 7, 9))
EVEN = Size("even", 16, (16, 4, 16, 6, 8))


@dataclasses.dataclass(frozen=True)
class Argument:
    """How to make one input tensor."""

    shape: tuple[int | Size, ...]
    fill: Callable[[list[int], torch.Generator], torch.Tensor]
    memory_format: torch.memory_format = torch.contiguous_format

    def tensor(self, sizes: dict[str, int], generator: torch.Generator) -> torch.Tensor:
        shape = [sizes[s.name] if isinstance(s, Size) else s for s in self.shape]
        return self.fill(shape, generator).contiguous(memory_format=self.memory_format)


def rand(*shape, low: float = -2, high: float = 2, channels_last: bool = False) -> Argument:
    """Uniformly distributed floats."""
    memory_format = torch.channels_last if channels_last else torch.contiguous_format
    return Argument(shape, lambda s, g: torch.rand(s, generator=g) * (high - low) + low, memory_format)


def bools(*shape, true: float = 0.7) -> Argument:
    """True with the probability ``true``."""
    return Argument(shape, lambda s, g: torch.rand(s, generator=g) < true)


def integers(*shape, low: int = -9, high: int = 9, dtype: torch.dtype = torch.int64) -> Argument:
    return Argument(shape, lambda s, g: torch.randint(low, high, s, generator=g, dtype=dtype))


def values(*numbers: float) -> Argument:
    """A vector of just these numbers."""
    return Argument((len(numbers),), lambda s, g: torch.tensor(numbers))


def flat(outputs) -> list[torch.Tensor]:
    """The results of a module, however nested, as a list."""
    return torch.utils._pytree.tree_leaves(outputs)


class Function(nn.Module):
    """A module that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


@dataclasses.dataclass(frozen=True, eq=False)
class new:
    """A module that is made, with reproducible weights, when it is needed."""

    cls: type[nn.Module] | Callable[..., nn.Module]
    args: tuple = ()
    options: dict = dataclasses.field(default_factory=dict)

    def __init__(self, cls, *args, **options):
        object.__setattr__(self, "cls", cls)
        object.__setattr__(self, "args", args)
        object.__setattr__(self, "options", options)

    def build(self, seed: int) -> nn.Module:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            module = self.cls(*self.args, **self.options)
            for m in module.modules():
                if getattr(m, "running_var", None) is not None:
                    m.running_mean.normal_()
                    m.running_var.uniform_(0.5, 2)
                if isinstance(m, _NORMS):
                    for parameter in m.parameters():
                        nn.init.normal_(parameter)
        return module


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """One program. It must become one delegate call and equal eager PyTorch."""

    name: str
    program: Callable | new
    arguments: tuple[Argument, ...]
    rtol: float
    atol: float
    config: dict[str, object]  #: options of ``EdgeCompileConfig``
    preserve: bool  #: False: let ExecuTorch decompose first and the partitioner come later

    def __init__(self, name, program, *arguments, rtol=1e-5, atol=1e-5, config=(), preserve=True):
        values = (name, program, arguments, rtol, atol, dict(config), preserve)
        for field, value in zip(dataclasses.fields(self), values, strict=True):
            object.__setattr__(self, field.name, value)

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())

    @functools.cached_property
    def module(self) -> nn.Module:
        program = self.program
        module = program.build(self.seed) if isinstance(program, new) else Function(program)
        return module.eval()

    @property
    def sizes(self) -> list[Size]:
        found = {s.name: s for a in self.arguments for s in a.shape if isinstance(s, Size)}
        return list(found.values())

    def inputs(self, call: int | None = None) -> tuple[torch.Tensor, ...]:
        """The inputs of a call by its number; those to export with if None."""
        generator = torch.Generator().manual_seed(self.seed + (0 if call is None else call))
        sizes = {s.name: s.example if call is None else s.calls[call] for s in self.sizes}
        return tuple(a.tensor(sizes, generator) for a in self.arguments)

    def calls(self) -> Iterator[tuple[torch.Tensor, ...]]:
        """The inputs of all calls."""
        for call in range(min((len(s.calls) for s in self.sizes), default=1)):
            yield self.inputs(call)

    def eager(self) -> Callable[[tuple[torch.Tensor, ...]], list[torch.Tensor]]:
        """What eager PyTorch computes, call after call, with the states of a new module."""
        module = copy.deepcopy(self.module)

        def call(inputs):
            with torch.no_grad():
                return [y.clone() for y in flat(module(*inputs))]

        return call

    def expected(self, inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
        """What eager PyTorch computes in a first call."""
        return self.eager()(inputs)

    def export(self) -> torch.export.ExportedProgram:
        dims = {s.name: torch.export.Dim(s.name, min=min(s.calls), max=s.max) for s in self.sizes}
        dynamic = tuple({i: dims[s.name] for i, s in enumerate(a.shape) if isinstance(s, Size)} for a in self.arguments)
        parameters = inspect.signature(self.module.forward).parameters.values()
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            dynamic = (dynamic,)
        with torch.no_grad():
            return torch.export.export(self.module, self.inputs(), dynamic_shapes=dynamic)


#: In units of the precision of the type, of results in 16 bits relative to each result and to the largest.
_TOLERANCE = {torch.float16: 4, torch.bfloat16: 4, torch.float64: 2**12}


def in_dtype(sample: Sample, dtype: torch.dtype) -> Sample | None:
    """The sample with floats of another type in place of float32; None if it has none or eager PyTorch does not take
    them."""
    module = copy.deepcopy(sample.module).to(dtype)

    def narrow(x):
        return x.to(dtype) if x.dtype == torch.float32 else x

    arguments = [dataclasses.replace(a, fill=lambda s, g, f=a.fill: narrow(f(s, g))) for a in sample.arguments]
    reduced = Sample(
        f"{sample.name}-{str(dtype).removeprefix('torch.')}",
        new(lambda: module),
        *arguments,
        rtol=_TOLERANCE[dtype] * torch.finfo(dtype).eps,
        atol=_TOLERANCE[dtype] * torch.finfo(dtype).eps,
        config={**sample.config, **ANY_OPERATOR},  # also operators of several types
        preserve=sample.preserve,
    )
    tensors = [*sample.inputs(), *module.parameters(), *module.buffers()]
    if not any(t.is_floating_point() for t in tensors):
        return None
    try:
        reduced.expected(reduced.inputs())
    except (RuntimeError, NotImplementedError, AssertionError):
        return None
    return reduced


def families() -> dict[str, list[Sample]]:
    """The samples of each module in this package."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    return {m.__name__.rpartition(".")[2]: m.SAMPLES for m in modules}


def all_samples() -> list[Sample]:
    return [sample for samples in families().values() for sample in samples]
