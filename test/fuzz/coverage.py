# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Which operators random programs reach, of those that are delegated."""

import re

from executorch.backends.et_xnnpack.aot.lowering import target_name
from executorch.backends.et_xnnpack.aot.ops import ROWS
from hypothesis import HealthCheck, Phase, given, settings

from fuzz.programs import Program, programs

#: Operators that no expression has, by the beginning of their names, and why.
LEFT_OUT = {
    "llama.": "eager ExecuTorch ends the process for empty and odd sizes; test_cache_operators compares them",
    "torchao.": "torchao writes them into whole models; test_dynamic compares what its configurations make",
    "transformers.": "transformers alone defines it; its samples are in samples/linear.py",
    "aten._grouped_mm": "eager PyTorch takes bfloat16 and aligned sizes only; its samples are in samples/linear.py",
    "quantized_decomposed.choose_qparams": "the dynamic quantizer writes them, and they fold into linear layers",
    "quantized_decomposed.quantize_per_token": "torchao writes it for 8da4w; test_dynamic compares that",
    "quantized_decomposed.dequantize_per_token": "torchao writes it for 8da4w; test_dynamic compares that",
    "quantized_decomposed.dequantize_per_channel_group": "torchao writes it for 8da4w; test_dynamic compares that",
    "quantized_decomposed.embedding_2bit": "as embedding_4bit, which there is",
    "quantized_decomposed.embedding_byte.dtype": "as embedding_byte, which there is",
    "quantized_decomposed.embedding_4bit.dtype": "as embedding_4bit, which there is",
}


def operators_of(method) -> set[str]:
    """The ATen operators in the delegates of a ``harness.Lowered``."""
    calls = (n for m in method.delegates.values() for n in m.original_module.graph.nodes if n.op == "call_function")
    return {target_name(n) for n in calls}


def missing(reached: set[str]) -> list[str]:
    """The delegated operators that are neither reached nor left out for a reason."""
    return sorted(op for op in ROWS if op not in reached and not op.startswith(tuple(LEFT_OUT)))


def _forms(program: Program) -> set[str]:
    """Its lines without names and numbers."""
    lines = (line.split(" = ", 1)[1] for line in program.source.splitlines() if " = " in line)
    return {re.sub(r"\b[vxa]?\d+(\.\d+)?\b", "_", line) for line in lines}


def covering_programs(of: int) -> list[Program]:
    """Of so many programs, always the same, those that have a form of line which none before has."""
    chosen, seen = [], set()

    @settings(
        max_examples=of,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def choose(program):
        forms = _forms(program)
        if not forms <= seen:
            seen.update(forms)
            chosen.append(program)

    choose()
    return chosen
