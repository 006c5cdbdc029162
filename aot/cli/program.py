# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""A ``.pte`` file, as far as ExecuTorch's schema tells: methods, delegates of any backend, weights, memory."""

import collections
import dataclasses
import functools
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import torch
from executorch.exir.schema import (
    Bool,
    DelegateCall,
    Double,
    Int,
    IntList,
    KernelCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)

from ..backend import BACKEND_ID
from ..private.executorch import read_program
from .blob import PLAN_OPTIONS, Blob, read_blob
from .errors import first_line, unreadable
from .execute import parse_value

#: PyTorch's names for ExecuTorch's; the others are the same in small letters.
_DTYPES = {"BYTE": "uint8", "CHAR": "int8", "SHORT": "int16", "INT": "int32", "LONG": "int64"}
_DTYPES |= {"HALF": "float16", "FLOAT": "float32", "DOUBLE": "float64"}


@dataclasses.dataclass(frozen=True)
class Number:
    """An argument that is no tensor, and its value in the example of the export."""

    kind: str
    value: int | float | bool

    @property
    def type(self) -> str:
        return f"{self.kind}, {self.value} at export"


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    dtype: str
    sizes: tuple[int, ...]
    is_dynamic: bool
    bytes: int
    pool: int | None  #: the buffer of the memory plan that it lies in
    offset: int | None
    is_constant: bool
    order: tuple[int, ...] = ()  #: of the axes in memory; empty: 0, 1, 2, ...

    @property
    def type(self) -> str:
        order = f" with axes in the order {list(self.order)}" if self.order else ""
        return f"{self.plain_type}{order}"

    @property
    def plain_type(self) -> str:
        """Whatever the order of the axes in memory."""
        return f"{self.dtype}{list(self.sizes)}{' (at most)' if self.is_dynamic else ''}"


@dataclasses.dataclass(frozen=True)
class Delegate:
    index: int
    backend: str
    data: bytes
    specs: dict[str, str]
    calls: int  #: how many instructions call it
    named: dict[str, int]
    options: Mapping[str, bool | int | str]  #: of the plan

    @functools.cached_property
    def blob(self) -> Blob | None:
        """Of ours alone. Raises ValueError if the runtime does not take it."""
        return self.blob_of_call({})

    def blob_of_call(self, sizes: Mapping[int, tuple[int, ...]]) -> Blob | None:
        """With the sizes that it has where its inputs have these, by index."""
        return read_blob(self.data, self.named, sizes, self.options) if self.backend == BACKEND_ID else None

    @property
    def inputs(self) -> int | None:
        """How many of its arguments are inputs; None of a delegate of others, whose blob we do not read."""
        try:
            return None if self.blob is None else len(self.blob.inputs)
        except ValueError:
            return None


@dataclasses.dataclass(frozen=True)
class Instruction:
    kind: str  #: "delegate", "operator" or another one of ExecuTorch's
    name: str  #: of the operator or the backend
    delegate: int | None
    arguments: tuple[int, ...]
    form: str = ""  #: of the arguments, a % for each: with the lists that they are in and those that are absent


@dataclasses.dataclass(frozen=True)
class Flow:
    """The tensors that an instruction reads and writes; the last one of a method reads the results."""

    reads: Mapping[int, int]  #: by argument what was written there
    writes: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Method:
    name: str
    values: tuple[TensorInfo | Number | str, ...]  #: of what is neither tensor nor number the kind
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    delegates: tuple[Delegate, ...]
    instructions: tuple[Instruction, ...]
    pools: tuple[int, ...]  #: bytes of each buffer that is planned
    contents: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """Of values that come with the program: numbers and texts as they are, of constant tensors a hash."""

    @property
    def input_types(self) -> list[str]:
        """Whatever the order of axes: two methods with the same ones take the same inputs, ``laid_out`` for each."""
        return _types(self, self.inputs)

    @property
    def output_types(self) -> list[str]:
        """Whatever the order of axes."""
        return _types(self, self.outputs)

    @property
    def operators(self) -> dict[str, int]:
        """How often each operator is called outside of delegates."""
        names = collections.Counter(i.name for i in self.instructions if i.kind == "operator")
        return dict(names.most_common())

    @functools.cached_property
    def flow(self) -> list["Flow"]:
        """What each instruction reads and writes. A view that takes no instruction is what lies in its memory."""
        written, lies = set(self.inputs), {self._place(i): i for i in self.inputs}

        def reads(values) -> dict[int, int]:
            return {i: i if i in written else lies.get(self._place(i), i) for i in values}

        found = []
        for instruction in self.instructions:
            tensors = [i for i in instruction.arguments if isinstance(self.values[i], TensorInfo)]
            results = self._results(instruction, tensors, written)
            operands = [i for i in tensors if i not in results and not self.values[i].is_constant]
            found.append(Flow(reads(operands), results))
            written.update(results)
            lies |= {self._place(i): i for i in results}
        return [*found, Flow(reads(self.outputs), ())]

    def blobs_of_calls(self, shapes: Sequence[tuple[int, ...] | None]) -> list[Blob | None]:
        """Of each delegate call, where the inputs of the method have these shapes; None is for what is no tensor.
        What operators outside make counts with the largest sizes."""
        given = {i: shape for i, shape in zip(self.inputs, shapes, strict=True) if shape is not None}
        found = []
        for instruction, flow in zip(self.instructions, self.flow[:-1], strict=True):
            if instruction.delegate is not None:
                read = [flow.reads.get(i) for i in instruction.arguments]
                sizes = {k: given[i] for k, i in enumerate(read) if i in given}
                found.append(self.delegates[instruction.delegate].blob_of_call(sizes))
        return found

    def _place(self, value: int) -> tuple[int | None, ...]:
        info = self.values[value]
        place = (info.pool, info.offset) if isinstance(info, TensorInfo) else (None, None)
        return place if None not in place else (None, value)

    def _results(self, instruction: Instruction, tensors: list[int], written: set[int]) -> tuple[int, ...]:
        """An operator returns what it writes, so its arguments end in them twice; a delegate's end in what is new."""
        if instruction.delegate is None:
            if not tensors or tensors[-1] != instruction.arguments[-1]:
                return ()  # it makes a number, such as sym_size
            count = 0
            while count < len(tensors) and tensors[-1 - count] in tensors[: -1 - count]:
                count += 1
            return tuple(tensors[len(tensors) - max(count, 1) :])
        count = len(tensors)
        while count > 0 and tensors[count - 1] not in written:
            count -= 1
        if (border := self.delegates[instruction.delegate].inputs) is not None:
            arguments = instruction.arguments[:border]
            count = sum(isinstance(self.values[i], TensorInfo) for i in arguments)
        return tuple(tensors[count:])

    @functools.cached_property
    def in_use(self) -> dict[int, tuple[int, int]]:
        """By planned tensor the first and the last instruction that need it."""
        first, last = dict.fromkeys(self.inputs, 0), dict.fromkeys(self.inputs, 0)
        for at, flow in enumerate(self.flow[:-1]):
            for i in (*flow.reads.values(), *flow.writes):
                first.setdefault(i, at)
                last[i] = at
        last.update(dict.fromkeys(self.flow[-1].reads.values(), len(self.instructions) - 1))
        return {
            i: (begin, last[i])
            for i, begin in first.items()
            if isinstance(self.values[i], TensorInfo) and self.values[i].pool is not None
        }

    @functools.cached_property
    def live_bytes(self) -> list[int]:
        """While each instruction runs, the bytes of planned tensors that are in use."""
        found = [0] * len(self.instructions)
        for i, (begin, end) in self.in_use.items():
            for at in range(begin, end + 1):
                found[at] += self.values[i].bytes
        return found


@dataclasses.dataclass(frozen=True)
class Program:
    path: Path
    bytes: int
    methods: tuple[Method, ...]
    named: dict[str, int]  #: bytes by key
    constant_bytes: int  #: of tensors outside of delegates

    def method(self, name: str | None) -> Method:
        """The one of that name; without a name ``forward``, or the only one."""
        names = [method.name for method in self.methods]
        if name is None and len(names) > 1 and "forward" not in names:
            raise click.UsageError(f"{self.path} has methods {', '.join(names)}: name one with --method")
        wanted = name or ("forward" if "forward" in names else names[0])
        for method in self.methods:
            if method.name == wanted:
                return method
        unreadable(f"{self.path}: has no method {wanted!r}, but {', '.join(names)}")


def read(
    path: str | Path, options: Mapping[str, bool | int | str] | None = None, with_contents: bool = False
) -> Program:
    """Ends the command with one line for a file that is no program.

    options: plans are those of a load with them, on top of what the program asks for.
    with_contents: whether methods have ``contents``.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        unreadable(f"{path}: {error.strerror}")
    if data[4:8] not in (b"ET12", b"ET11", b"ET13"):
        unreadable(f"{path}: is no program of ExecuTorch (.pte)")
    try:
        program, named = read_program(data)
    except Exception as error:
        unreadable(f"{path}: is damaged, or of another ExecuTorch: {first_line(error)}")
    methods = tuple(_method(program, plan, named, options, with_contents) for plan in program.execution_plan)
    if not methods:
        unreadable(f"{path}: has no method")
    return Program(path, len(data), methods, named, sum(len(buffer.storage) for buffer in program.constant_buffer))


def _types(method: Method, values: Sequence[int]) -> list[str]:
    found = (method.values[i] for i in values)
    return [v if isinstance(v, str) else v.plain_type if isinstance(v, TensorInfo) else v.type for v in found]


def _method(program, plan, named: dict[str, int], options, with_contents: bool) -> Method:
    arguments = [instruction.instr_args for chain in plan.chains for instruction in chain.instructions]
    calls = collections.Counter(a.delegate_index for a in arguments if isinstance(a, DelegateCall))
    delegates = []
    for i, delegate in enumerate(plan.delegates):
        data = bytes(program.backend_delegate_data[delegate.processed.index].data)
        specs = {spec.key: _text(spec.value) for spec in delegate.compile_specs}
        wanted = {key: parse_value(value) for key, value in specs.items()} | dict(options or {})
        wanted = {key: value for key, value in wanted.items() if key in PLAN_OPTIONS}
        delegates.append(Delegate(i, delegate.id, data, specs, calls[i], named, wanted))
    return Method(
        plan.name,
        tuple(_info(value.val) for value in plan.values),
        tuple(plan.inputs),
        tuple(plan.outputs),
        tuple(delegates),
        tuple(_instruction(plan, a) for a in arguments),
        tuple(plan.non_const_buffer_sizes[1:]),
        {i: text for i, v in enumerate(plan.values) if (text := _content(program, v.val))} if with_contents else {},
    )


def _instruction(plan, arguments) -> Instruction:
    if isinstance(arguments, DelegateCall):
        backend = plan.delegates[arguments.delegate_index].id
        values = tuple(_flat(plan, arguments.args))
        return Instruction("delegate", backend, arguments.delegate_index, values, _form(plan, arguments.args))
    if isinstance(arguments, KernelCall):
        operator = plan.operators[arguments.op_index]
        name = operator.name.replace("::", ".") + (f".{operator.overload}" if operator.overload else "")
        return Instruction("operator", name, None, tuple(_flat(plan, arguments.args)), _form(plan, arguments.args))
    return Instruction(type(arguments).__name__, type(arguments).__name__, None, (), str(arguments))


def _flat(plan, arguments):
    """With the items of a list of values in its place."""
    for i in arguments:
        value = plan.values[i].val
        if isinstance(value, (TensorList, OptionalTensorList, IntList)):
            yield from (item for item in value.items if item >= 0)
        else:
            yield i


def _form(plan, arguments) -> str:
    found = []
    for i in arguments:
        value = plan.values[i].val
        is_list = isinstance(value, (TensorList, OptionalTensorList, IntList))
        found.append(f"[{', '.join('%' if item >= 0 else '-' for item in value.items)}]" if is_list else "%")
    return ", ".join(found)


def _content(program, value) -> str:
    if isinstance(value, Tensor):
        outside = getattr(value.extra_tensor_info, "fully_qualified_name", None) or ""
        if value.data_buffer_idx <= 0 or value.allocation_info is not None:
            return outside
        content = program.constant_buffer[value.data_buffer_idx].storage
        return f"{outside} {hashlib.sha256(content).hexdigest()[:16]}".strip()
    if isinstance(value, (TensorList, OptionalTensorList, IntList)):
        return ""
    return " ".join(map(str, vars(value).values()))


def _info(value) -> TensorInfo | str:
    if isinstance(value, (Int, Double, Bool)):
        kind = type(value).__name__.lower()
        return Number(kind, getattr(value, f"{kind}_val"))
    if not isinstance(value, Tensor):
        return type(value).__name__
    dtype = _DTYPES.get(value.scalar_type.name, value.scalar_type.name.lower())
    where = value.allocation_info
    order, plain = tuple(value.dim_order or ()), tuple(range(len(value.sizes)))
    return TensorInfo(
        dtype,
        tuple(value.sizes),
        value.shape_dynamism != 0,
        math.prod(value.sizes) * getattr(getattr(torch, dtype, None), "itemsize", 1),
        None if where is None else where.memory_id,
        None if where is None else where.memory_offset,
        value.data_buffer_idx > 0 and where is None,
        order if order != plain and tuple(sorted(order)) == plain else (),
    )


def _text(value: bytes) -> str:
    try:
        text = bytes(value).decode()
    except UnicodeDecodeError:
        return f"{len(value)} bytes"
    return text if text.isprintable() else f"{len(value)} bytes"
