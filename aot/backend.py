# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ExecuTorch calls to compile one partition."""

from typing import final

from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram

from ..serialization.serialize import serialize
from .lower import lower
from .passes import optimize

_WEIGHT_ALIGNMENT = 64  # bytes; a cache line, and enough for every SIMD load


@final
class EtXnnpackBackend(BackendDetails):
    """The class name is the backend id in the .pte file and in the runtime."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """One partition as a blob, its weights in the named data under their content hash.

        Raises Unsupported if a node cannot be lowered and ValueError for an unknown
        compile spec; ``EtXnnpackPartitioner`` never tags such a node.
        """
        check_compile_specs(compile_specs)
        serialized = serialize(optimize(lower(edge_program)))
        store = NamedDataStore()
        for key, data in serialized.weights.items():
            store.add_named_data(key, data, alignment=_WEIGHT_ALIGNMENT)
        return PreprocessResult(
            processed_bytes=serialized.blob,
            debug_handle_map={},
            data_store_output=store.get_named_data_store_output(),
        )


def check_compile_specs(compile_specs: list[CompileSpec]) -> None:
    """Raises ValueError for a compile spec that does not exist."""
    for spec in compile_specs:
        raise ValueError(f"et_xnnpack has no compile spec {spec.key!r}")
