# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What both delegates of ExecuTorch share: lowering, and the call path with the least overhead."""

from pathlib import Path

_pools: list[int] = []  # the number of threads, once it is set


def prepare(module, inputs, folder: Path, partitioners) -> dict[str, object]:
    import torch

    with torch.no_grad():
        exported = torch.export.export(module, inputs)
    return lower(exported, folder, partitioners)


def lower(exported, folder: Path, partitioners, config=None) -> dict[str, object]:
    from executorch.backends.et_xnnpack import count_delegation
    from executorch.exir import to_edge_transform_and_lower

    manager = to_edge_transform_and_lower(exported, partitioner=partitioners, compile_config=config)
    calls, outside = count_delegation(manager.exported_program())
    with open(folder / "model.pte", "wb") as file:
        manager.to_executorch().write_to_file(file)
    return {"calls": calls, "outside": outside}


def load(folder: Path, threads: int):
    import torch

    if threads not in _pools:  # programs that are loaded may hold on to the pool
        assert not _pools, "a process has one number of threads"
        use_threads(threads)
        _pools.append(threads)
    torch.set_num_threads(1)
    program, method = load_method(folder)

    def call(inputs):
        return method.call(inputs, clone_outputs=False)

    call.program = program  # keeps the weights of the method alive
    return call


def use_threads(count: int) -> None:
    """The pool that both delegates share, which ExecuTorch's documented ``Runtime`` cannot size."""
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(count)


def load_method(folder: Path):
    """The program, which keeps the weights alive, and its method.

    That of the documented ``Runtime`` copies its outputs and checks more: a delegate is only part of the time.
    """
    from executorch.extension.pybindings import portable_lib

    program = portable_lib._load_program(str(folder / "model.pte"))
    return program, program.load_method("forward")
