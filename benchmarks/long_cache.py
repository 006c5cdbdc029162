# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Attention with a cache that is partly filled: et_xnnpack beside ExecuTorch's operators, at several positions.

Each program writes new keys and values to its cache and attends to it: ``operators`` with ExecuTorch's kernels for
``llama.update_cache`` and ``llama.custom_sdpa``, or ``custom_quantized_sdpa`` where the cache is of int8; ``delegated``
the same, lowered; ``masked`` with PyTorch's attention over the whole cache and a mask of the positions. Programs take
turns on one thread, and what counts is the CPU time of the process: ratios above 1 are times as fast as ``operators``.
"""

import argparse
import statistics
import time

import torch
from engines import _executorch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401 - registers the operators
from executorch.runtime import Runtime
from options import positive
from tabulate import tabulate
from torch import nn

HEADS, KEY_HEADS, WIDTH = 8, 4, 64


class Operators(nn.Module):
    def __init__(self, context):
        super().__init__()
        for name in "keys", "values":
            self.register_buffer(name, torch.zeros(1, context, KEY_HEADS, WIDTH))

    def forward(self, q, k, v, positions):
        start = positions[0].item()
        torch.ops.llama.update_cache(k, self.keys, start)
        torch.ops.llama.update_cache(v, self.values, start)
        return torch.ops.llama.custom_sdpa(q, self.keys, self.values, start, None, 0.0, True)


class Masked(nn.Module):
    def __init__(self, context):
        super().__init__()
        for name in "keys", "values":
            self.register_buffer(name, torch.zeros(1, KEY_HEADS, context, WIDTH))
        self.register_buffer("places", torch.arange(context))

    def forward(self, q, k, v, positions):
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        self.keys.index_copy_(2, positions, k)
        self.values.index_copy_(2, positions, v)
        mask = self.places <= positions[:, None]
        y = nn.functional.scaled_dot_product_attention(q, self.keys, self.values, mask, enable_gqa=True)
        return y.transpose(1, 2)


class QuantizedOperators(nn.Module):
    """A cache of int8 with a scale and a zero point for each head of each token; what comes is quantized already."""

    def __init__(self, context):
        super().__init__()
        rows = (1, context, KEY_HEADS)
        for name in "keys", "values":
            self.register_buffer(name, torch.zeros(*rows, WIDTH, dtype=torch.int8))
            self.register_buffer(f"{name}_scale", torch.ones(*rows, 1))
            self.register_buffer(f"{name}_zero", torch.zeros(*rows, 1, dtype=torch.int8))

    def forward(self, q, q_scale, q_zero, k, v, scale, zero, positions):
        start = positions[0].item()
        for name, x in ("keys", k), ("values", v):
            for suffix, part in ("", x), ("_scale", scale), ("_zero", zero):
                torch.ops.llama.update_cache(part, getattr(self, name + suffix), start)
        scales = self.keys_zero, self.keys_scale, self.values_zero, self.values_scale
        return torch.ops.llama.custom_quantized_sdpa(
            q, self.keys, self.values, start, None, 0, True, None, q_zero, q_scale, *scales
        )


def float_arguments(rows: int, start: int):
    q, k, v = (torch.randn(1, rows, heads, WIDTH) for heads in (HEADS, KEY_HEADS, KEY_HEADS))
    return q, k, v, torch.arange(start, start + rows)


def quantized_arguments(rows: int, start: int):
    q, k, v = (
        torch.randint(-128, 128, (1, rows, heads, WIDTH), dtype=torch.int8) for heads in (HEADS, KEY_HEADS, KEY_HEADS)
    )
    parts = [
        (torch.rand(1, rows, heads, 1) / 50 + 0.01, torch.randint(-9, 9, (1, rows, heads, 1), dtype=torch.int8))
        for heads in (HEADS, KEY_HEADS)
    ]
    return q, *parts[0], k, v, *parts[1], torch.arange(start, start + rows)


#: By the type of the cache: the programs, by name, and their arguments.
CACHES = {
    "float32": ({"operators": Operators, "delegated": Operators, "masked": Masked}, float_arguments),
    "int8": ({"operators": QuantizedOperators, "delegated": QuantizedOperators}, quantized_arguments),
}


def load(module, arguments, context: int, delegated: bool, kept: list):
    """The method; what must live as long as it does goes into ``kept``."""
    rows = torch.export.Dim("rows", max=min(512, context - 1))
    shapes = tuple({x.dim() > 1: rows} for x in arguments)
    program = torch.export.export(module, arguments, dynamic_shapes=shapes)
    partitioners = [EtXnnpackPartitioner(require_full_delegation=True, runtime_options={"num_threads": 1})]
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=partitioners if delegated else [], compile_config=config)
    buffer = edge.to_executorch().buffer
    loaded = Runtime.get().load_program(buffer)
    kept += [buffer, loaded]
    return loaded.load_method("forward")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--caches", nargs="+", choices=list(CACHES), default=list(CACHES), metavar="TYPE")
    parser.add_argument("--contexts", type=positive, nargs="+", default=(2048, 8192))
    parser.add_argument("--rows", type=positive, nargs="+", default=(1, 64, 512))
    parser.add_argument("--rounds", type=positive, default=15)
    options = parser.parse_args()
    _executorch.use_threads(1)
    table = []
    for cache in options.caches:
        for context in options.contexts:
            for row in measure(cache, context, options.rows, options.rounds):
                table.append(row)
                print(tabulate([row], tablefmt="plain", floatfmt=".2f"), flush=True)
    headers = ("cache", "places", "rows", "position", "operators, ms", "delegated", "masked")
    print(tabulate(table, headers, "github", floatfmt=".2f"))


def measure(cache: str, context: int, row_counts, rounds: int):
    """Yields a row of the table for each number of rows and position."""
    modules, arguments_of = CACHES[cache]
    kept = []
    methods = {
        name: load(module(context), arguments_of(3, 0), context, name != "operators", kept)
        for name, module in modules.items()
    }
    for rows in row_counts:
        calls = max(1, 64 // rows)
        for start in sorted({10, context // 4, context // 2, context - rows}):
            inputs = arguments_of(rows, start)
            times = {name: [] for name in methods}
            for _ in range(rounds):
                for name, method in methods.items():
                    method.execute(inputs)
                    begin = time.process_time()
                    for _ in range(calls):
                        method.execute(inputs)
                    times[name].append((time.process_time() - begin) / calls)
            base, *others = (statistics.median(t) for t in times.values())
            yield cache, context, rows, start, base * 1e3, *(base / other for other in others)


if __name__ == "__main__":
    main()
