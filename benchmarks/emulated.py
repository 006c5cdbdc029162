# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs for another processor: lowered here by both delegates, run there or under an emulator.

Each has a folder with an input, what eager PyTorch computes of it in float32 and of the program that both delegates
lower, and the program of each delegate. ``run`` runs one by the runner of ``examples/cpp`` under qemu.
"""

import argparse
import contextlib
import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from child import ask
from engines import OFFICIAL, OURS

ROOT = Path(__file__).resolve().parents[1]
#: Model and number format (benchmarks/quantized_programs.py): images of 224 x 224, 128 tokens, one token of a decoder.
#: Third comes an option that ours is loaded with.
PROGRAMS = (
    "mobilenet_v2 fp32",
    "mobilenet_v2 fp32 force_fp16",
    "mobilenet_v2 fp16",
    "mobilenet_v2 fp16 force_fp16",
    "mobilenet_v2 static",
    "minilm fp32",
    "minilm fp32 force_fp16",
    "minilm fp16",
    "minilm fp16 force_fp16",
    "minilm bf16",
    "minilm dynamic",
    "minilm 8da4w_32",
    "llama_4l_token 8da4w_32",
    "llama_4l_token weight_8",
    "llama_4l_token weight_4",
)
#: A linear layer, some rows of which are NaN because a number in them is NaN or infinite. For comparison only.
SPECIAL_PROGRAMS = ("special_rows 8da4w_32",)
#: What the CPUs of qemu 7.2 have, and who made them and what they are, as they say: XNNPACK has microkernels for some.
CPUS = {
    "cortex-a53": ("NEON", 0x41, 0xD03),
    "a64fx": ("fp16, SVE", 0x46, 0x001),
    "cortex-a76": ("fp16, dotprod", 0x41, 0xD0B),
    "neoverse-n1": ("fp16, dotprod", 0x41, 0xD0C),
    "max,sve=off,sme=off": ("fp16, dotprod, bf16, i8mm", 0x00, 0x051),
    "max,sme=off": ("fp16, dotprod, bf16, i8mm, SVE2", 0x00, 0x051),
    "max": ("fp16, dotprod, bf16, i8mm, SVE2, SME", 0x00, 0x051),
}
#: Files of programs are below it.
FOLDER = ROOT / "build" / "arm"
PACKAGE = ROOT / "build" / "aarch64-package" / "executorch"


@dataclasses.dataclass(frozen=True)
class Program:
    """What both delegates lowered, and the results to compare with."""

    name: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.name.replace(" ", "-")

    @property
    def options(self) -> list[str]:
        """Of the runtime, which are on."""
        return self.name.split()[2:]

    @property
    def facts(self) -> dict:
        """Sizes of inputs; of an engine that failed its error."""
        return json.loads((self.folder / "facts.json").read_text())

    def array(self, name: str) -> np.ndarray:
        """``expected``, of float32, or ``reference``, of the program that both delegates lower; with ``force_fp16`` of
        the model in float16 with sums in float16."""
        return np.load(self.folder / f"{name}.npy")


def prepare(names=PROGRAMS, fresh: bool = False) -> list[Program]:
    """Lowers what is not there yet, each program in a process of its own."""
    from bench import fingerprint

    current = fingerprint(OURS) + fingerprint(OFFICIAL)
    programs = [Program(name) for name in names]
    for program in programs:
        notes = program.folder / "facts.json"
        if fresh or not notes.exists() or program.facts["fingerprint"] != current:
            print(f"{program.name}: lowering", file=sys.stderr, flush=True)
            program.folder.mkdir(parents=True, exist_ok=True)
            notes.write_text(json.dumps({"fingerprint": current, **ask(__file__, "--lower", program.name)}))
    return programs


def lower(program: Program) -> dict:
    """Writes the files of a program."""
    import engines
    import quantized_programs
    import torch
    from executorch.exir import EdgeCompileConfig
    from float16_sums import Float16Sums

    model, scheme = program.name.split()[:2]
    if program.name in SPECIAL_PROGRAMS:
        module, inputs = _special_rows()
    else:
        module, inputs = quantized_programs.make_module(model), quantized_programs.make_inputs(model)
    facts = {"inputs": [], "errors": {}}
    for i, tensor in enumerate(inputs[0]):
        array = tensor.contiguous().numpy()
        (program.folder / f"input{i}").write_bytes(array.tobytes())
        facts["inputs"].append("x".join(map(str, array.shape)))
    with torch.no_grad():
        np.save(program.folder / "expected.npy", module(*inputs[0]).numpy())
        exported = quantized_programs.export_program(module, quantized_programs.SCHEMES[scheme], inputs)
        reference, sums = exported, contextlib.nullcontext()
        if "force_fp16" in program.options:
            float16, sums = quantized_programs.SCHEMES["fp16"], Float16Sums()
            reference = quantized_programs.export_program(quantized_programs.make_module(model), float16, inputs)
        with sums:
            np.save(program.folder / "reference.npy", reference.module()(*inputs[0]).numpy())
    for engine in (OURS, OFFICIAL):
        folder = program.folder / engine
        folder.mkdir(exist_ok=True)
        try:
            engines.get(engine).lower(exported, folder, EdgeCompileConfig(_check_ir_validity=False))
        except Exception as error:
            facts["errors"][engine] = str(error).strip().splitlines()[0][:200]
    return facts


def _special_rows():
    """The layer, and its inputs as ``benchmarks/quantized_programs.py`` makes them."""
    import torch

    torch.manual_seed(0)
    rows = torch.randn(33, 96) * 3
    rows[0, 95] = rows[32, 0] = float("nan")
    rows[1, 3] = float("inf")
    rows[20, 40] = -float("inf")
    rows[5] = 0
    return torch.nn.Linear(96, 40).eval(), [(rows,)] * 5


@dataclasses.dataclass(frozen=True)
class Library:
    """A delegate for aarch64: its shared library, and the programs that it runs."""

    title: str
    engine: str
    path: Path

    @classmethod
    def ours(cls, build: Path) -> "Library":
        build = build.resolve()
        return cls(build.name, OURS, build / "runtime" / "libet_xnnpack.so")

    @classmethod
    def official(cls) -> "Library":
        return cls("official", OFFICIAL, PACKAGE / "lib" / "libexecutorch_backend_xnnpack.so")


def runner(build: Path) -> Path:
    """The program that a build for aarch64 has for this."""
    return build.resolve() / "test" / "arm" / "et_xnnpack_bare_runner"


def run(runner: Path, library: Library, program: Program, cpu: str, *, plugin=None, calls: int = 1) -> np.ndarray:
    """The result of a program on an emulated CPU, computed by one thread.

    With a qemu plugin, the files ``counts`` and ``maps`` are written in the program's folder.
    """
    if library.engine in (errors := program.facts["errors"]):
        raise RuntimeError(f"lowering: {errors[library.engine]}")
    output = program.folder / "output"
    command = ["qemu-aarch64", "-L", str(_system(cpu)), "-cpu", cpu]
    environment = dict(os.environ)
    options = ["--one-thread", "--warm-up", "0", "--calls", str(calls), "--output", str(output)]
    if plugin is not None:
        command += ["-plugin", str(plugin)]
        environment["INSTRUCTIONS_OUTPUT"] = str(program.folder / "counts")
        options += ["--mark-phases", "--maps", str(program.folder / "maps")]
    if library.engine == OURS:
        options += [word for option in program.options for word in ("--option", f"{option}=true")]
    libraries = [library.path]
    if library.engine == OFFICIAL:  # what it leaves outside
        libraries += [PACKAGE / "lib" / f"libexecutorch_kernels_{name}.so" for name in ("optimized", "quantized")]
    for path in libraries:
        options += ["--library", str(path)]
    for i, sizes in enumerate(program.facts["inputs"]):
        options += ["--input", str(program.folder / f"input{i}"), "--shape", sizes]
    command += [str(runner), str(program.folder / library.engine / "model.pte"), *options]
    output.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"it ended with {done.returncode}"]
        raise RuntimeError(lines[-1])
    expected = program.array("expected")
    return np.fromfile(output, dtype=expected.dtype).reshape(expected.shape)


def _system(cpu: str) -> Path:
    """A folder in which the emulated program finds its libraries, and in /proc/cpuinfo its CPU instead of this one."""
    folder = FOLDER / "systems" / cpu
    (folder / "proc").mkdir(parents=True, exist_ok=True)
    libraries = folder / "lib"
    if not libraries.is_symlink():
        libraries.symlink_to(Path(os.environ.get("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu")) / "lib")
    _, implementer, part = CPUS[cpu]
    lines = ["CPU architecture: 8", f"CPU implementer\t: {implementer:#04x}", f"CPU part\t: {part:#05x}"]
    lines += ["CPU variant\t: 0x0", "CPU revision\t: 0"]
    processors = [f"processor\t: {i}\n" + "\n".join(lines) + "\n" for i in range(os.cpu_count() or 1)]
    (folder / "proc" / "cpuinfo").write_text("\n".join(processors))
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lower", metavar="PROGRAM", required=True, help=argparse.SUPPRESS)
    print(json.dumps(lower(Program(parser.parse_args().lower))))
