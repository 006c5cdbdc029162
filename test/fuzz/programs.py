# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Random programs as Python source, each line of which eager PyTorch can compute for every call."""

import dataclasses
import re
import textwrap

import torch
from hypothesis import strategies as st
from samples.find import at_most

from fuzz import layers, quantized, searches, writes  # noqa: F401 (each adds expressions)
from fuzz.expressions import EXPRESSIONS, forms

#: Sizes of the axes ``n`` and ``m`` in each call. The program is exported for the first, which is the upper bound.
CALLS = ((6, 9), (2, 5), (6, 1), (1, 9), (3, 4), (6, 9))
#: The same where axes may be empty, which many expressions do not take.
CALLS_WITH_EMPTY = ((6, 9), (0, 5), (2, 1), (3, 0), (0, 0), (6, 9))
#: Independent graphs in one program: exporting one costs much by itself.
MOST_GRAPHS = 4
#: No value is larger, so that sums stay exact where they should be.
LARGEST = 1e4
MOST_ELEMENTS = 20_000
FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
#: What a quantizer makes of a whole program: integers with ranges that were measured, by ExecuTorch's quantizer or by
#: ours, or that are computed in each call.
QUANTIZATIONS = ("static", "static, ours", "dynamic")
INTEGERS = (torch.int64, torch.int32, torch.int8, torch.uint8)


@dataclasses.dataclass(frozen=True)
class Input:
    """An argument; ``n`` and ``m`` in its shape are axes of any size."""

    shape: tuple[int | str, ...]
    dtype: torch.dtype
    channels_last: bool = False

    def tensor(self, call: tuple[int, int], seed: int) -> torch.Tensor:
        """Multiples of a quarter, so that sums and products of a few are exact."""
        generator = torch.Generator().manual_seed(seed)
        shape = [dict(zip("nm", call, strict=True)).get(d, d) for d in self.shape]
        if 0 in shape:  # ExecuTorch's Python ends the process for other strides of empty tensors
            return torch.empty(shape, dtype=self.dtype)
        numbers = torch.randint(-9, 10, shape, generator=generator)
        if self.dtype == torch.bool:
            return numbers > 0
        tensor = (numbers / 4).to(self.dtype) if self.dtype.is_floating_point else numbers.to(self.dtype)
        return tensor.contiguous(memory_format=torch.channels_last) if self.channels_last else tensor


@dataclasses.dataclass(frozen=True)
class Value:
    """What a name of the program stands for."""

    name: str
    calls: tuple[torch.Tensor, ...]  #: its value in each call
    exact: bool  #: whether no rounding has happened, so that any order of sums gives the same
    epsilon: float  #: of the narrowest type on the way
    found: bool = False  #: whether its first size is found in data, which most operators do not take

    @property
    def dtype(self) -> torch.dtype:
        return self.calls[0].dtype

    @property
    def rank(self) -> int:
        return self.calls[0].dim()

    @property
    def is_float(self) -> bool:
        return self.dtype.is_floating_point

    def size(self, axis: int) -> int | None:
        """None where it is not the same in all calls."""
        sizes = {c.shape[axis] for c in self.calls}
        return sizes.pop() if len(sizes) == 1 else None


@dataclasses.dataclass(frozen=True)
class Program:
    source: str
    inputs: tuple[Input, ...]
    #: For each result the narrowest type's epsilon, and whether it must be equal to the last bit.
    epsilons: tuple[float, ...]
    exact: tuple[bool, ...]
    calls: tuple[tuple[int, int], ...] = CALLS
    #: Which results belong to each of its graphs, that have nothing to do with each other; none: all to one.
    graphs: tuple[tuple[int, ...], ...] = ()
    has_states: bool = False
    quantization: str | None = None  #: of QUANTIZATIONS

    def __repr__(self) -> str:
        """What hypothesis prints and files keep; ``read_programs`` reads it."""
        constants = {name.upper(): getattr(self, name) for name in _CONSTANTS}
        return f"\n{self.source}\n" + "".join(f"{name} = {value!r}\n" for name, value in constants.items())

    def module(self) -> torch.nn.Module:
        return build(self.source)

    def only(self, *results: int) -> "Program":
        """What these results need; states that others write to stay as they are."""
        head, _, forward = self.source.partition("forward(")
        arguments, *lines, returned = forward.splitlines()
        all_names = returned.split("return ")[1].rstrip(",").split(", ")
        names = [all_names[i] for i in results]
        wanted, kept = set(names), []
        for line in reversed(lines):
            if line.split(" = ")[0].strip() in wanted:
                wanted |= set(re.findall(r"\bv\d+\b", line))
                kept.insert(0, line)
        source = "\n".join([f"{head}forward({arguments}", *kept, f"        return {', '.join(names)},"]) + "\n"
        places = {result: place for place, result in enumerate(results)}
        graphs = tuple(tuple(places[i] for i in graph if i in places) for graph in self.graphs)
        return dataclasses.replace(
            self,
            source=source,
            epsilons=tuple(self.epsilons[i] for i in results),
            exact=tuple(self.exact[i] for i in results),
            graphs=tuple(filter(None, graphs)),
        )

    def halves(self) -> "list[Program]":
        """Some of its graphs and the others; one alone cannot be divided."""
        middle, end = len(self.graphs) // 2, len(self.graphs)
        halves = self.without(set(range(middle, end))), self.without(set(range(middle)))
        return [half for half in halves if half is not None]

    def without(self, graphs: set[int]) -> "Program | None":
        """Its other graphs; None where that leaves none."""
        kept = [places for graph, places in enumerate(self.graphs) if graph not in graphs]
        return self.only(*sum(kept, ())) if kept else None

    def arguments(self, call: tuple[int, int]) -> tuple[torch.Tensor, ...]:
        return tuple(x.tensor(call, seed) for seed, x in enumerate(self.inputs))


#: What is written beside the source.
_CONSTANTS = ("inputs", "calls", "epsilons", "exact", "quantization")
_NAMES = {
    "torch": torch,
    "nn": torch.nn,
    "F": torch.nn.functional,
    "_q": torch.ops.quantized_decomposed,
    "at_most": at_most,
    "with_integers": quantized.with_integers,
}


def build(source: str, **others) -> torch.nn.Module:
    """The module ``Program`` of ``source``, with the same weights each time; ``others`` are what names of it mean."""
    names = {**_NAMES, **others}
    exec(source, names)
    with torch.random.fork_rng():
        return names["Program"]().eval()  # it sets the seeds


def read_programs(text: str) -> list[Program]:
    """What several programs print, one after the other."""
    result = []
    for part in text.split("class Program(nn.Module):\n")[1:]:
        source, _, rest = part.partition("\nINPUTS = ")
        names = {"Input": Input, **_NAMES}
        exec(f"INPUTS = {rest}", names)
        constants = {name: names[name.upper()] for name in _CONSTANTS}
        result.append(Program(f"class Program(nn.Module):\n{source}", **constants))
    return result


class Writer:
    """Adds lines to a program, if eager PyTorch takes them."""

    def __init__(self, draw):
        self.draw = draw
        self.calls = self.pick(CALLS, CALLS, CALLS, CALLS_WITH_EMPTY)
        self.quantization = self.pick(*[None] * 10, *QUANTIZATIONS)
        self.inputs: list[Input] = []
        self.values: list[Value] = []
        self.attributes: list[str] = []
        self.lines: list[str] = []
        self.used: set[str] = set()
        self.has_states = False
        self._done: list[list[Value]] = []  # of graphs before
        self._modules: dict[str, object] = {}

    def new_graph(self) -> None:
        """What comes next knows nothing of what there is."""
        if self.values:
            self._done.append(self.values)
        self.values = []

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def form(self, text: str) -> str:
        return self.pick(*forms(text))

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def axis(self, value: Value) -> int:
        return self.number(0, value.rank - 1)

    def value(self, accepts=lambda value: True) -> Value | None:
        """One that there is, rather a late one."""
        fit = [v for v in self.values if not v.found and accepts(v)]
        return fit[len(fit) - 1 - min(self.number(0, 4), len(fit) - 1)] if fit else None

    def found(self) -> Value | None:
        """The last one whose size is found in data."""
        return next((v for v in reversed(self.values) if v.found), None)

    def attribute(self, source: str) -> str:
        """The name of a module that is made once."""
        seed = len(self.attributes)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._modules[f"a{seed}"] = eval(source, dict(_NAMES)).eval()
        self.attributes.append(f"torch.manual_seed({seed}); self.a{seed} = {source}")
        return f"self.a{seed}"

    def buffer(self, source: str) -> str:
        """The name of a tensor that the program may write to."""
        seed = len(self.attributes)
        name = f"a{seed}"
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._modules[name] = eval(source, dict(_NAMES))
        self.attributes.append(f"torch.manual_seed({seed}); self.register_buffer('{name}', {source})")
        return name

    def input(self) -> None:
        shape = self.draw(st.lists(st.sampled_from((1, 2, 3, 4, 7, "n", "m")), min_size=1, max_size=4))
        dtype = self.pick(*[torch.float32] * 6, *[torch.int64] * 2, torch.bool, *INTEGERS[1:], *FLOATS[1:])
        x = Input(tuple(shape), dtype, len(shape) == 4 and self.pick(False, True))
        calls = tuple(x.tensor(call, len(self.inputs)) for call in self.calls)
        epsilon = torch.finfo(dtype).eps if dtype.is_floating_point else 0.0
        # The quantizer rounds whatever a program computes with.
        self.values.append(Value(f"x{len(self.inputs)}", calls, self.quantization is None, epsilon))
        self.inputs.append(x)

    def add(
        self, expression: str | None, operands: tuple[Value, ...], exact: bool, found: bool = False
    ) -> Value | None:
        """``expression`` as a new value; None where eager PyTorch refuses it or its result is of no use here."""
        if expression is None:
            return None
        holder = type("Holder", (), self._modules)
        kept = {name: module.clone() for name, module in self._modules.items() if isinstance(module, torch.Tensor)}
        value = self._value(expression, operands, exact, found, holder)
        written = [name for name, before in kept.items() if not torch.equal(before, self._modules[name])]
        for name in written:
            self._modules[name].copy_(kept[name])
        self.has_states |= value is not None and bool(written)
        return value

    def _value(self, expression: str, operands, exact: bool, found: bool, holder) -> Value | None:
        calls = []
        for i, sizes in enumerate(self.calls):
            names = {v.name: v.calls[i] for v in self.values}
            try:
                with torch.no_grad():
                    result = eval(expression, {**_NAMES, **names, "self": holder})
            except (RuntimeError, IndexError, ValueError, TypeError, AssertionError, NotImplementedError):
                return None
            if not _is_of_use(result, found or 0 in sizes):
                return None
            if calls and (result.dim(), result.dtype) != (calls[0].dim(), calls[0].dtype):
                return None
            calls.append(result.clone())  # of a state, which changes
        own = torch.finfo(calls[0].dtype).eps if calls[0].dtype.is_floating_point else 0.0
        exact = exact and all(v.exact for v in operands) and own <= torch.finfo(torch.float32).eps
        epsilon = max(own, *(v.epsilon for v in operands)) if operands else own
        value = Value(f"v{len(self.lines)}", tuple(calls), exact, epsilon, found)
        self.lines.append(f"{value.name} = {expression}")
        self.used.update(v.name for v in operands)
        self.values.append(value)
        return value

    def program(self) -> Program:
        """All that nothing else reads is returned."""
        self.new_graph()
        by_graph = [[v for v in values if v.name not in self.used and v.name[0] == "v"] for values in self._done]
        results = [v for values in by_graph for v in values]
        places = iter(range(len(results)))
        arguments = ", ".join(f"x{i}" for i in range(len(self.inputs)))
        body = "\n".join(self.lines)
        source = (
            "class Program(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            + textwrap.indent("\n".join(self.attributes), " " * 8)
            + f"\n\n    def forward(self, {arguments}):\n"
            + textwrap.indent(body, " " * 8)
            + f"\n        return {', '.join(v.name for v in results)},\n"
        )
        return Program(
            source,
            tuple(self.inputs),
            tuple(v.epsilon for v in results),
            tuple(v.exact for v in results),
            self.calls,
            tuple(tuple(next(places) for _ in values) for values in by_graph if values),
            self.has_states,
            None if self.has_states else self.quantization,
        )


def _is_of_use(result: object, may_be_empty: bool) -> bool:
    if not isinstance(result, torch.Tensor) or result.numel() > MOST_ELEMENTS or result.dim() > 6:
        return False
    if result.numel() == 0 and not may_be_empty:
        return False
    if result.dtype not in (*FLOATS, *INTEGERS, torch.bool):
        return False
    return result.dtype == torch.bool or bool((result.abs() <= LARGEST).all())  # NaN is not either


@st.composite
def programs(draw) -> Program:
    writer = Writer(draw)
    for _ in range(writer.number(1, MOST_GRAPHS)):
        writer.new_graph()
        for _ in range(writer.number(1, 3)):
            writer.input()
        first, wanted = len(writer.lines), writer.number(2, 8)
        for _ in range(3 * wanted):
            if len(writer.lines) - first < wanted:
                writer.pick(*EXPRESSIONS)(writer)
        if len(writer.lines) == first:
            x = writer.values[0]
            writer.add(f"{x.name} == 1", (x,), True)
    return writer.program()
