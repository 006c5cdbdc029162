# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Time and memory of lowering: what of them is the delegate's own, et_xnnpack beside the official XNNPACK delegate.

Each lowering is a process of its own, and the delegates take turns. The time of `to_edge_transform_and_lower` is
divided by who runs: the partitioner and `preprocess` of the delegate, which ExecuTorch calls, or ExecuTorch. Memory is
the most that the process takes, beyond what it takes before the model is made, relative to the weights.

The Llama has all 32 layers, heads and the vocabulary of Llama 2 7B, but a quarter of its width (1024 instead of 4096):
its graph is as large, its weights are 1.9 GB instead of 27, which no delegate could lower in 24 GB.
Writes lowering.json and lowering.md.
"""

import argparse
import json
import os
import statistics
import sys
from pathlib import Path

from child import ask
from engines import OFFICIAL, OURS
from options import add_output, positive
from turns import turns

ENGINES = (OURS, OFFICIAL)
MODELS = ("bert_base", "resnet50", "llama_32l")
SHARE, MEMORY = 1 / 3, 1.5  # goals: of ExecuTorch's own time, and of the weights


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="MODEL", help="or any of models.py")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="ENGINE")
    parser.add_argument("--rounds", type=positive, default=3, help="lowerings of each")
    parser.add_argument("--profile", action="store_true", help="the functions of ours that take longest, in one more")
    add_output(parser, "results")
    parser.add_argument("--lower", nargs=2, metavar=("ENGINE", "MODEL"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.lower:
        return lower(*arguments.lower, arguments.profile)

    arguments.output.mkdir(parents=True, exist_ok=True)
    found = {}
    for model in arguments.models:
        samples = {e: [] for e in arguments.engines}
        for i, order in enumerate(turns(arguments.engines, arguments.rounds)):
            for engine in order:
                print(f"{model}: {engine}, {i + 1} of {arguments.rounds}", file=sys.stderr, flush=True)
                samples[engine].append(ask(__file__, "--lower", engine, model))
        found[model] = {e: _medians(s) for e, s in samples.items()}
        if arguments.profile and OURS in arguments.engines:
            found[model]["profile"] = ask(__file__, "--lower", OURS, model, "--profile")["profile"]
    (arguments.output / "lowering.json").write_text(json.dumps(found, indent=1))
    text = report(found)
    (arguments.output / "lowering.md").write_text(text)
    print(text)
    return 0


def _medians(samples: list[dict]) -> dict[str, float]:
    return {key: statistics.median(s[key] for s in samples) for key in samples[0]}


# In a process of its own ----------------------------------------------------------------


def llama_32l():
    """[1, 64] of ids -> scores. See above for its size."""
    from models import Output
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000,
        hidden_size=1024,
        intermediate_size=2752,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=32,
    )
    return Output(LlamaForCausalLM(config), ("input_ids",), "logits", use_cache=False)


def lower(engine: str, name: str, with_profile: bool) -> int:
    """Prints seconds and megabytes."""
    import gc
    import time

    import models
    import torch
    from executorch.exir import to_edge_transform_and_lower
    from process_memory import forget_peak, memory

    torch.set_num_threads(1)
    partitioner, clock = _instrumented(engine)
    relu = torch.export.export(torch.nn.ReLU(), (torch.rand(4),))
    to_edge_transform_and_lower(relu, partitioner=[partitioner]).to_executorch()  # imports what it needs
    clock.reset()
    before = sum(memory()[key] for key in ("RssAnon", "RssFile"))
    if name == "llama_32l":
        module, inputs = llama_32l().eval(), (torch.randint(0, 32000, (1, 64)),)
    else:
        found = models.get(name)
        module, inputs = found.build(), found.example()
    with torch.no_grad():
        exported = torch.export.export(module, inputs)
    weights = sum(t.untyped_storage().nbytes() for t in _distinct(exported)) / 1e6
    del module
    gc.collect()
    with _Profile(with_profile) as profile:
        forget_peak()
        started = time.perf_counter()
        manager = to_edge_transform_and_lower(exported, partitioner=[partitioner])
        seconds = time.perf_counter() - started
        lowering = memory()["VmHWM"] - before
    forget_peak()
    manager.to_executorch()
    result = {
        "seconds": seconds,
        "delegate_seconds": clock.seconds,
        **{f"{part}_seconds": value for part, value in clock.parts.items()},
        "weights_mb": weights,
        "peak_mb": lowering,
        "peak_of_to_executorch_mb": memory()["VmHWM"] - before,
    }
    if with_profile:
        result["profile"] = profile.text()
    print(json.dumps(result))
    return 0


def _distinct(exported):
    """Weights and constants, each storage once."""
    tensors = [*exported.state_dict.values(), *exported.tensor_constants.values()]
    return {t.untyped_storage().data_ptr(): t for t in tensors}.values()


class _Clock:
    """Seconds inside of functions that may call each other, which count once."""

    def __init__(self):
        self.seconds, self.parts, self.depth = 0.0, {}, 0

    def reset(self) -> None:
        self.seconds, self.parts = 0.0, dict.fromkeys(self.parts, 0.0)

    def watch(self, owner, name: str, part: str) -> None:
        import functools
        import time

        found = owner.__dict__[name]
        is_static = isinstance(found, staticmethod)
        function = found.__func__ if is_static else found
        self.parts.setdefault(part, 0.0)

        @functools.wraps(function)
        def timed(*args, **kwargs):
            self.depth += 1
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.depth -= 1
                if not self.depth:
                    passed = time.perf_counter() - started
                    self.seconds += passed
                    self.parts[part] += passed

        setattr(owner, name, staticmethod(timed) if is_static else timed)


def _instrumented(engine: str):
    """The partitioner of a delegate, and a clock of all that ExecuTorch calls of it."""
    if engine == OURS:
        from executorch.backends.et_xnnpack import EtXnnpackPartitioner as Partitioner
        from executorch.backends.et_xnnpack.aot.backend import EtXnnpackBackend as Backend
    else:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner as Partitioner
        from executorch.backends.xnnpack.xnnpack_preprocess import XnnpackBackend as Backend
    clock = _Clock()
    for name in ("transform_for_pre_decomposition", "ops_to_not_decompose", "partition"):
        for owner in Partitioner.__mro__[:-1]:  # the official one inherits some
            if name in owner.__dict__:
                clock.watch(owner, name, "partition")
                break
    clock.watch(Backend, "preprocess", "preprocess")
    return Partitioner(), clock


class _Profile:
    """Functions of et_xnnpack by the time inside of them and of what they call."""

    def __init__(self, enabled: bool):
        import cProfile

        self.profile = cProfile.Profile() if enabled else None

    def __enter__(self):
        if self.profile:
            self.profile.enable()
        return self

    def __exit__(self, *_):
        if self.profile:
            self.profile.disable()

    def text(self, count: int = 25) -> str:
        import io
        import pstats

        text = io.StringIO()
        pstats.Stats(self.profile, stream=text).sort_stats("cumulative").print_stats("backends/et_xnnpack", count)
        pstats.Stats(self.profile, stream=text).sort_stats("tottime").print_stats(count)
        return text.getvalue().replace(str(Path(os.__file__).parent), "")


# The report -----------------------------------------------------------------------------


def report(found) -> str:
    from markdown_table import table

    rows, profiles = [], []
    for model, engines in found.items():
        if "profile" in engines:
            profiles += [f"## Profile of {model}", f"```\n{engines['profile'].strip()}\n```"]
        for engine in ENGINES:
            if engine in engines:
                rows.append([model, engine, *_cells(engines[engine])])
    headers = ["model", "delegate", "weights MB", "seconds", "of the delegate: partition + preprocess"]
    headers += ["beside ExecuTorch's own", "peak MB", "times the weights", "with to_executorch"]
    goals = (
        f"Goals of et_xnnpack: at most {SHARE:.2f} of the time that ExecuTorch itself takes, and at most {MEMORY} "
        "times the weights. In bold what misses one."
    )
    return "\n\n".join(["# Lowering", goals, table(headers, rows), *profiles]) + "\n"


def _cells(one: dict) -> list[str]:
    own = one["seconds"] - one["delegate_seconds"]
    share, times = one["delegate_seconds"] / own, one["peak_mb"] / one["weights_mb"]
    return [
        f"{one['weights_mb']:.0f}",
        f"{one['seconds']:.1f}",
        f"{one['partition_seconds']:.1f} + {one['preprocess_seconds']:.1f}",
        f"**{share:.2f}**" if share > SHARE else f"{share:.2f}",
        f"{one['peak_mb']:.0f}",
        f"**{times:.2f}**" if times > MEMORY else f"{times:.2f}",
        f"{one['peak_of_to_executorch_mb'] / one['weights_mb']:.2f}",
    ]


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sys.exit(main())
