# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ExecuTorch does with a program before, while and after we get it."""

import functools
import inspect
from collections.abc import Callable, Iterable

from executorch.exir._serialize._named_data_store import NamedDataStore, NamedDataStoreOutput
from executorch.exir._serialize._program import deserialize_pte_binary, serialize_pte_binary
from executorch.exir.backend import backend_api
from executorch.exir.dialects.edge._ops import EdgeOpOverload
from executorch.exir.program import _program
from executorch.exir.schema import Program
from executorch.exir.tracer import _default_decomposition_table
from torch.fx import Node as FxNode

from .torch import OpOverload


def operator_of_edge(target):
    """The operator of PyTorch that an operator of the Edge dialect stands for; anything else as it is.

    Rows go by the names of ATen operators, and only these have a schema.
    """
    return target._op if isinstance(target, EdgeOpOverload) else target


@functools.cache
def decomposed_operators() -> frozenset[OpOverload]:
    """What ``to_edge_transform_and_lower`` decomposes where no partitioner keeps it.

    It does not say so. An operator outside PyTorch's core set that is not among these fails its checks.
    """
    return frozenset(_default_decomposition_table())


def method_being_lowered() -> str | None:
    """The name of the method that ExecuTorch calls a partitioner for; None if nobody does.

    A partitioner gets a program without its name, which a report of several methods needs.
    """
    return _local_of_caller(backend_api.__name__, "method_name")


def checks_operators() -> bool:
    """Whether the call of ExecuTorch that we are in checks the operators of the Edge dialect, as it does by default.

    A partitioner does not get the ``EdgeCompileConfig``.
    """
    config = _local_of_caller(_program.__name__, "config")
    return config is None or config._check_ir_validity


def _local_of_caller(module: str, name: str):
    """The local variable of this name in the nearest function of a module that is being called; None if none is."""
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == module and name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back
    return None


def debug_handle(node: FxNode) -> int:
    """The number by which ExecuTorch's profiler knows ``node``; 0 if it has none."""
    return node.meta.get("debug_handle", 0) or 0


def external_file(node: FxNode) -> str | None:
    """The file that ExecuTorch's pass ``delegate_external_constants_pass_unlifted`` chose for a weight."""
    return (node.meta.get("custom") or {}).get("delegate_constant_tag")


def named_data(items: Iterable[tuple[str, bytes, str | None]], alignment: int) -> NamedDataStoreOutput:
    """What ``PreprocessResult`` takes as ``data_store_output``; the class that makes it is private.

    items: key, content, and the external file that it goes to, if any
    alignment: of each content, in bytes
    """
    store = NamedDataStore()
    for key, data, file in items:
        store.add_named_data(key, data, alignment=alignment, external_tag=file)
    return store.get_named_data_store_output()


def read_program(data: bytes) -> tuple[Program, dict[str, int]]:
    """What a ``.pte`` says, with the blobs of delegates in place, and the sizes of its named data in bytes.

    Nothing public reads a ``.pte``. Raises whatever ExecuTorch does for a file that is none.
    """
    file = deserialize_pte_binary(data)
    named = file.named_data
    sizes = {} if named is None else {k: len(named.buffers[e.buffer_index]) for k, e in named.pte_data.items()}
    return file.program, sizes


def rewrite_program(data: bytes, change: Callable[[Program], None]) -> bytes:
    """A ``.pte`` after ``change`` of what ``read_program`` reads, which nothing public can do either."""
    file = deserialize_pte_binary(data)
    change(file.program)
    return bytes(serialize_pte_binary(file, extract_delegate_segments=True))


def delegate_blobs(program: bytes, backend: str) -> list[bytes]:
    """What the delegates of a backend get, in the order of methods. Nothing public reads a ``.pte``."""
    program, _ = read_program(program)
    return [
        program.backend_delegate_data[delegate.processed.index].data
        for plan in program.execution_plan
        for delegate in plan.delegates
        if delegate.id == backend
    ]


def load_program(path: str, data_path: str | None = None, etdump: bool = False):
    """A program with ``load_method(name)``, whose methods have ``call(inputs, clone_outputs=False)``.

    That of the documented ``Runtime`` copies its outputs and checks more: a delegate is only part of the time.
    """
    from executorch.extension.pybindings import portable_lib

    return portable_lib._load_program(path, enable_etdump=etdump, data_path=data_path)


def pool_size() -> int:
    """The number of threads of ExecuTorch's pool, which its documented ``Runtime`` does not tell."""
    from executorch.extension.pybindings import portable_lib

    return portable_lib._threadpool_get_thread_count()


def set_pool_size(threads: int) -> None:
    """Before a program is loaded: those that are may hold on to the pool. ``Runtime`` has nothing for it."""
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(threads)
