# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What both delegates of ExecuTorch share: lowering, and the call path with the least overhead."""

import collections
from pathlib import Path


def prepare(module, inputs, folder: Path, partitioner) -> dict[str, object]:
    import torch
    from executorch.exir import to_edge_transform_and_lower

    with torch.no_grad():
        exported = torch.export.export(module, inputs)
    manager = to_edge_transform_and_lower(exported, partitioner=[partitioner])
    facts = _delegation(manager.exported_program().graph)
    with open(folder / "model.pte", "wb") as file:
        manager.to_executorch().write_to_file(file)
    return facts


def _delegation(graph) -> dict[str, object]:
    from executorch.backends.et_xnnpack.aot.lower import is_size, target_name
    from executorch.exir.delegate import executorch_call_delegate

    nodes = [n for n in graph.nodes if n.op == "call_function" and not is_size(n)]
    outside = collections.Counter(target_name(n) for n in nodes)
    calls = outside.pop(executorch_call_delegate.__name__, 0)
    outside.pop("getitem", None)
    return {"calls": calls, "outside": dict(outside.most_common())}


def load(folder: Path, threads: int):
    import torch
    from executorch.extension.pybindings import portable_lib

    portable_lib._unsafe_reset_threadpool(threads)
    torch.set_num_threads(1)
    program = portable_lib._load_program(str(folder / "model.pte"))
    method = program.load_method("forward")

    def call(inputs):
        return method.call(inputs, clone_outputs=False)

    call.program = program  # keeps the weights of the method alive
    return call
