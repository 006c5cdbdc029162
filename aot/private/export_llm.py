# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""ExecuTorch's exporter of language models, ``executorch.examples.models.llama``."""

import contextlib
from collections.abc import Callable, Iterator

from executorch.exir.backend.partitioner import Partitioner, PartitionResult
from torch.export import ExportedProgram


class _TakesNothing(Partitioner):
    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        return PartitionResult(exported_program, {})


@contextlib.contextmanager
def partitioner_of_exporter(make: Callable[[], Partitioner]) -> Iterator[list[Partitioner]]:
    """Has the exporter lower with the partitioner that ``make`` gives, instead of those of the XNNPACK delegate.

    The exporter has no option for another partitioner, but gets them all from one function, that it looks up by name
    in its module at each export: one for what is quantized dynamically and, with ``xnnpack_extended_ops``, one for the
    rest. Ours takes both. Gives the list of the partitioners that were made, one for each export.
    """
    from executorch.examples.models.llama import export_llama_lib as exporter

    made: list[Partitioner] = []

    def partitioner(dynamic_quant_only_partitioner: bool = True, **_) -> Partitioner:
        if not dynamic_quant_only_partitioner:
            return _TakesNothing()
        made.append(make())
        return made[-1]

    official = exporter.get_xnnpack_partitioner
    exporter.get_xnnpack_partitioner = partitioner
    try:
        yield made
    finally:
        exporter.get_xnnpack_partitioner = official


def run_exporter() -> None:
    """What ``python -m executorch.extension.llm.export.export_llm`` does with ``sys.argv``."""
    from executorch.extension.llm.export import export_llm

    export_llm.main()
