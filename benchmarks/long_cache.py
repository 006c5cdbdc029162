# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Attention with a cache that is partly filled: et_xnnpack beside ExecuTorch's operators, at several positions.

Each program writes new keys and values to its cache and attends to it: ``operators`` with ExecuTorch's kernels for
``llama.update_cache`` and ``llama.custom_sdpa``; ``delegated`` the same, lowered; ``masked`` with PyTorch's attention
over the whole cache and a mask of the positions. Programs take turns, and what counts is the CPU time of the process:
ratios above 1 are times as fast as ``operators``.
"""

import argparse
import statistics
import time

import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401 - registers the operators
from executorch.runtime import Runtime
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


def arguments_of(rows: int, start: int):
    q, k, v = (torch.randn(1, rows, heads, WIDTH) for heads in (HEADS, KEY_HEADS, KEY_HEADS))
    return q, k, v, torch.arange(start, start + rows)


def method_of(module, context: int, delegated: bool):
    rows = torch.export.Dim("rows", max=min(512, context - 1))
    shapes = ({1: rows}, {1: rows}, {1: rows}, {0: rows})
    program = torch.export.export(module, arguments_of(3, 0), dynamic_shapes=shapes)
    partitioners = [EtXnnpackPartitioner(require_full_delegation=True, runtime_options={"num_threads": 1})]
    config = EdgeCompileConfig(_check_ir_validity=False)
    edge = to_edge_transform_and_lower(program, partitioner=partitioners if delegated else [], compile_config=config)
    return Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contexts", type=int, nargs="+", default=(2048, 8192))
    parser.add_argument("--rows", type=int, nargs="+", default=(1, 64, 512))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    table = []
    for context in options.contexts:
        methods = {
            "operators": method_of(Operators(context), context, False),
            "delegated": method_of(Operators(context), context, True),
            "masked": method_of(Masked(context), context, True),
        }
        for rows in options.rows:
            for start in sorted({10, context // 4, context // 2, context - rows}):
                inputs = arguments_of(rows, start)
                times = {name: [] for name in methods}
                for _ in range(options.rounds):
                    for name, method in methods.items():
                        method.execute(inputs)
                        begin = time.process_time()
                        for _ in range(max(1, 64 // rows)):
                            method.execute(inputs)
                        times[name].append((time.process_time() - begin) / max(1, 64 // rows))
                best = {name: statistics.median(t) for name, t in times.items()}
                ratios = (best["operators"] / best[name] for name in ("delegated", "masked"))
                table.append((context, rows, start, best["operators"] * 1e3, *ratios))
                print(tabulate(table[-1:], tablefmt="plain", floatfmt=".2f"), flush=True)
    print(
        tabulate(table, ("cache", "rows", "position", "operators, ms", "delegated", "masked"), "github", floatfmt=".2f")
    )


if __name__ == "__main__":
    main()
