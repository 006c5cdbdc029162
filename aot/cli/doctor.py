# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack doctor``"""

import collections
import importlib.metadata
import os
import platform
import re
import tempfile
import time
from pathlib import Path

import click

from .errors import ExitCode, first_line, runtime_log
from .output import emit, json_option, printable, say

_FEATURES = (  # those that kernels of ours or of XNNPACK ask for, as /proc/cpuinfo calls them
    *("sse2", "ssse3", "sse4_1", "avx", "f16c", "fma", "avx2", "avx_vnni", "avx512f", "avx512bw", "avx512vl"),
    *("avx512vbmi", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "sme", "sme2"),
)
_TOLERANCE = 1e-4


@click.command(short_help="Versions, CPU, backends, and a self-test.")
@json_option
def doctor(as_json):
    """Says what is installed and whether it fits together: versions, the CPU and the instructions that kernels use
    on it, ours and the microkernels that XNNPACK chooses for products and convolutions, the thread pool, the registered
    backends. Then lowers a small model, runs it, and compares the results with eager PyTorch. Exits with 1 if
    something is wrong. --json has all microkernels that the self-test needs.
    """
    from ..progress import step, work

    with work("et-xnnpack doctor"):
        step("looking at what is installed")
        facts, problems = _facts()
        step("the self-test")
        self_test = _self_test(problems)
        if facts["runtime"]:
            facts["xnnpack_kernels"] = _xnnpack_kernels()
    data = {"facts": facts, "self_test": self_test, "problems": problems, "is_well": not problems}
    emit(as_json, data, lambda: _print(data))
    if problems:
        raise click.exceptions.Exit(ExitCode.NO)


def _facts() -> tuple[dict[str, object], list[str]]:
    import torch

    from ... import _aot_only, _runtime_module, is_available, xnnpack_version
    from ..._version import __version__, executorch_version
    from ..backend import BACKEND_ID
    from ..private.executorch import pool_size

    problems = []
    pinned = _requirement("torch")
    if pinned and torch.__version__.partition("+")[0] != pinned:
        problems.append(f"PyTorch is {torch.__version__}, but ExecuTorch {executorch_version} goes with {pinned}")
    facts = {
        "et_xnnpack": __version__,
        "executorch": importlib.metadata.version("executorch"),
        "built_with_executorch": executorch_version,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cpu_features": _features(),
        "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "runtime": is_available(),
    }
    if not is_available():
        facts["runtime_missing"] = "only lowers programs" if _aot_only else "the compiled part is not installed"
        if not _aot_only:
            problems.append("the compiled part of et_xnnpack is not installed: run `pip install .` in its checkout")
        return facts, problems
    facts["xnnpack"] = xnnpack_version()
    facts["instruction_set"] = _runtime_module().instruction_set()
    if not facts["instruction_set"]:
        problems.append(f"ET_XNNPACK_ISA is {os.environ.get('ET_XNNPACK_ISA')!r}, which this CPU or build lacks")
    with runtime_log():
        from executorch.runtime import Runtime

        facts["pool_threads"] = pool_size()
        registry = Runtime.get().backend_registry
        facts["backends"] = {name: registry.is_available(name) for name in registry.registered_backend_names}
    if not facts["backends"].get(BACKEND_ID):
        problems.append(f"{BACKEND_ID} is not registered, or not available")
    return facts, problems


def _xnnpack_kernels() -> dict[str, list[str]]:
    """By family, such as ``f32_gemm_minmax``, the microkernels that XNNPACK has chosen: ``7x32__avx512f_broadcast``.
    Those for products, and those of operators that this process has made."""
    from ... import _runtime_module

    found = collections.defaultdict(list)
    for name in _runtime_module().xnnpack_microkernels().split():
        family, _, variant = name.removeprefix("xnn_").partition("_ukernel_")
        if variant not in found[family]:
            found[family].append(variant)
    return dict(sorted(found.items()))


def _requirement(package: str) -> str | None:
    """The version that our package asks for."""
    try:
        lines = importlib.metadata.requires("et_xnnpack") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    matches = (re.match(rf"{package}==([\w.]+)$", line) for line in lines)
    return next((match[1] for match in matches if match), None)


def _cpu_lines() -> dict[str, str]:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def _cpu() -> str:
    lines = _cpu_lines()
    return lines.get("model name") or lines.get("CPU part") or platform.processor() or "unknown"


def _features() -> list[str]:
    lines = _cpu_lines()
    flags = (lines.get("flags") or lines.get("Features") or "").split()
    return [name for name in _FEATURES if name in flags]


def _self_test(problems: list[str]) -> dict[str, object]:
    import torch
    from executorch.exir import to_edge_transform_and_lower

    from ... import EtXnnpackPartitioner, is_available

    started = time.perf_counter()
    torch.manual_seed(0)
    model, example = _model()
    result: dict[str, object] = {}
    try:
        with torch.no_grad():
            expected = model(*example)
            partitioner = EtXnnpackPartitioner()
            program = to_edge_transform_and_lower(torch.export.export(model, example), partitioner=[partitioner])
        result["is_fully_delegated"] = partitioner.report.is_full
        if not partitioner.report.is_full:
            problems.append(f"the model of the self-test is not one delegate call: {partitioner.report}")
        if is_available():
            _run(program.to_executorch().buffer, example, expected, result, problems)
    except click.ClickException as error:
        problems.append(f"the self-test failed: {error.format_message()}")
    except Exception as error:
        problems.append(f"the self-test failed: {first_line(error)}")
    result["seconds"] = time.perf_counter() - started
    return result


def _model():
    """Convolution, matrix product, attention, norm and a fused pass."""
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.convolution = nn.Conv2d(3, 16, 3, stride=2)
            self.norm = nn.LayerNorm(16)
            self.linear = nn.Linear(16, 48)

        def forward(self, x):
            y = self.convolution(x).flatten(2).transpose(1, 2)
            q, k, v = self.linear(self.norm(y)).chunk(3, -1)
            y = y + nn.functional.scaled_dot_product_attention(q, k, v)
            return torch.sin(y) * torch.sigmoid(y) + y.mean(1, keepdim=True)

    return Model().eval(), (torch.rand(1, 3, 17, 17),)


def _run(buffer: bytes, example, expected, result, problems) -> None:
    from . import program as programs
    from .execute import Loaded
    from .tensors import compare

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.pte")
        path.write_bytes(buffer)
        method = programs.read(path).method(None)
        blob = method.delegates[0].blob
        found = collections.defaultdict(list)
        for node in blob.nodes:
            found[node.choice.by].append(node.name)
        result["computed_by"] = dict(found)
        for name, options in (("pool", {}), ("1 thread", {"num_threads": 1})):
            loaded = Loaded(path, "forward", options=options)
            (difference,) = compare(loaded.call(example), [expected], _TOLERANCE, _TOLERANCE)
            result[f"difference, {name}"] = difference.largest
            if not difference.is_close:
                problems.append(f"results differ from eager PyTorch by {difference.largest} ({name})")


def _print(data) -> None:
    facts, test = data["facts"], data["self_test"]
    rows = [
        ("et_xnnpack", facts["et_xnnpack"]),
        ("ExecuTorch", f"{facts['executorch']}, built with {facts['built_with_executorch']}"),
        ("PyTorch", facts["torch"]),
        ("Python", f"{facts['python']} on {facts['system']}"),
        ("CPU", f"{facts['cpu']}, {facts['processors']} processors"),
        ("has", " ".join(facts["cpu_features"])),
    ]
    if facts["runtime"]:
        backends = [name if ok else f"{name} (not available)" for name, ok in facts["backends"].items()]
        rows += [
            ("kernels use", facts["instruction_set"] or "nothing"),
            ("XNNPACK", facts["xnnpack"]),
            ("thread pool", facts["pool_threads"]),
            ("backends", ", ".join(backends)),
        ]
    else:
        rows.append(("runtime", facts["runtime_missing"]))
    for name, value in rows:
        say(f"{name:<12} {value}")
    for family, variants in facts.get("xnnpack_kernels", {}).items():
        if re.search("gemm|dwconv", family):
            say(f"{'XNNPACK runs':<12} {family}: {', '.join(variants)}")
    for by, nodes in test.get("computed_by", {}).items():
        say(f"{'self-test':<12} {by}: {', '.join(nodes)}")
    differences = [f"{value:.2g} ({key[12:]})" for key, value in test.items() if key.startswith("difference")]
    if differences:
        say(f"{'self-test':<12} differs from eager PyTorch by {', '.join(differences)}")
    say(f"{'self-test':<12} took {test['seconds']:.1f} s")
    for text in data["problems"]:
        click.secho(f"{'WRONG':<12} {printable(text)}", fg="red")
    if not data["problems"]:
        say("all is well")
