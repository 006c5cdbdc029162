# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What ExecuTorch calls to compile one partition."""

import copy
from collections.abc import Mapping, Sequence
from typing import final

import torch
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram

from ..serialization.arrays import DTYPES, REDUCED_FLOATS, convert
from ..serialization.schema import DType
from ..serialization.serialize import serialize, stored, weight_key
from . import progress
from .collector import no_full_collections
from .lowering import lower
from .lowering.dtypes import array_of
from .passes import optimize
from .placeholders import Placeholders
from .private.executorch import external_file, named_data
from .report import Refusal, Report

_WEIGHT_ALIGNMENT = 64  # bytes; a cache line, and enough for every SIMD load


class ReportedSpecs(list):
    """Compile specs of a partitioner, with the report that ``preprocess`` completes: nothing else goes
    from one to the other."""

    report: Report | None = None


@final
class EtXnnpackBackend(BackendDetails):
    """ExecuTorch takes the name of the class for that of the backend."""

    @classmethod
    def copy_exported_program_for_preprocess(
        cls, edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> ExportedProgram:
        """What ExecuTorch gives ``preprocess``: a program of its own that shares its tensors with ``edge_program``.

        ExecuTorch would copy the weights, which ``preprocess`` only reads.
        """
        tensors = (*edge_program.state_dict.values(), *edge_program.constants.values())
        return copy.deepcopy(edge_program, {id(t): t for t in tensors if isinstance(t, torch.Tensor)})

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """One partition as a blob, its weights in the named data under their content hash.

        Raises Unsupported if a node cannot be lowered and ValueError for an unknown
        compile spec; ``EtXnnpackPartitioner`` never tags such a node.
        """
        check_compile_specs(compile_specs)
        float_fallbacks = []
        with progress.work("et_xnnpack lowers"), no_full_collections():
            graph = optimize(lower(edge_program), float_fallbacks)
            progress.step("serialize")
            serialized = serialize(graph)
        if isinstance(compile_specs, ReportedSpecs) and compile_specs.report is not None:
            compile_specs.report.float_fallbacks.extend(Refusal(*reason) for reason in float_fallbacks)
        files = _external_files(edge_program)
        weights = ((key, data, files.get(key, files.get(None))) for key, data in serialized.weights.items())
        return PreprocessResult(
            processed_bytes=serialized.blob,
            debug_handle_map=serialized.debug_handles,
            data_store_output=named_data(weights, _WEIGHT_ALIGNMENT),
        )


#: In the .pte file and in the runtime.
BACKEND_ID = EtXnnpackBackend.__name__


def _external_files(program: ExportedProgram) -> dict[str | None, str]:
    """By key, the file that a weight belongs to.

    Under None that of weights which passes made of others, if all have the same.
    """
    files = {}
    all_files = set()
    placeholders = Placeholders(program)
    for node in program.graph.nodes:
        tensor = placeholders.constant_tensor(node)
        if tensor is not None:
            file = external_file(node)
            all_files.add(file)
            if file is not None:
                array = array_of(tensor)
                files[weight_key(stored(array)[0])] = file
                if DTYPES.get(array.dtype) in REDUCED_FLOATS:  # what passes widen may be stored as bfloat16
                    files[weight_key(stored(convert(array, DType.Float32))[0])] = file
    if len(all_files) == 1 and None not in all_files:
        files[None] = all_files.pop()
    return files


def runtime_specs(options: Mapping[str, bool | int | str]) -> list[CompileSpec]:
    """Options of the runtime as compile specs: the program asks for them wherever it is loaded.

    Raises TypeError for a value that is none, and ValueError for a zero byte: programs keep names and texts as
    C strings. Which names exist, and what they take, is known to the runtime.
    """
    from .. import check_option, check_options

    if not isinstance(options, Mapping) or not all(isinstance(name, str) for name in options):
        raise TypeError(f"runtime_options takes a dict with the names of options, not {options!r}")
    specs = []
    for name, value in options.items():
        check_option(name, value)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if "\0" in name + text:
            raise ValueError(f"option {name!r} takes no text with a zero byte")
        specs.append(CompileSpec(name, text.encode()))
    check_options(options)
    return specs


def check_compile_specs(compile_specs: list[CompileSpec]) -> None:
    """Raises TypeError for what is no list of compile specs, and ValueError for one that is given twice or that the
    runtime does not take, if that is there to ask."""
    from .. import check_name, check_specs

    is_list = isinstance(compile_specs, Sequence) and not isinstance(compile_specs, str)
    if not is_list or not all(isinstance(spec, CompileSpec) for spec in compile_specs):
        raise TypeError(f"compile_specs takes a list of CompileSpec, not {compile_specs!r}")
    values = {}
    for spec in compile_specs:
        check_name(spec.key)
        if not isinstance(spec.value, bytes):
            raise TypeError(f"the compile spec {spec.key!r} takes bytes, not {spec.value!r}")
        if spec.key in values:
            raise ValueError(f"option {spec.key!r} is given twice")
        values[spec.key] = spec.value
    check_specs(values)
