# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""How far results inside of a delegate are from eager PyTorch, as ExecuTorch's Inspector finds it."""

import os
import subprocess
import sys
from pathlib import Path

import torch


def record(program: Path, inputs: Path, folder: Path) -> None:
    """Runs ``forward`` and writes what it recorded into ``folder``: "etdump" and "debug"."""
    import executorch.backends.et_xnnpack  # noqa: F401
    from executorch.extension.pybindings import portable_lib

    buffer = program.read_bytes()  # which the module does not keep
    module = portable_lib._load_for_executorch_from_buffer(buffer, enable_etdump=True, debug_buffer_size=1 << 22)
    module.run_method("forward", torch.load(inputs))
    module.write_etdump_result_to_file(str(folder / "etdump"), str(folder / "debug"))


def gaps(program, inputs: tuple, folder: Path, *, buffer: bytes | None = None, library: Path | None = None) -> dict:
    """By the last operator of PyTorch that a recorded result stands for, its largest distance to eager PyTorch, in the
    order of the program.

    program: an ExecutorchProgramManager with an ETRecord.
    buffer: a program to run in its place.
    library: a ``libet_xnnpack.so`` to run it with in the place of the installed one, in a process of its own.
    """
    from executorch.devtools import Inspector

    kept = program.get_etrecord()
    kept.update_representative_inputs(list(inputs))
    kept.save(str(folder / "etrecord.bin"))
    (folder / "program.pte").write_bytes(buffer or program.buffer)
    torch.save(inputs, folder / "inputs.pt")
    arguments = (folder / "program.pte", folder / "inputs.pt", folder)
    if library is None:
        record(*arguments)
    else:
        environment = os.environ | {"LD_LIBRARY_PATH": str(library.parent)}
        done = subprocess.run([sys.executable, __file__, *map(str, arguments)], env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        assert str(library) in done.stdout.decode().splitlines(), "another library was loaded"
    inspector = Inspector(
        etdump_path=str(folder / "etdump"),
        etrecord=str(folder / "etrecord.bin"),
        debug_buffer_path=str(folder / "debug"),
    )
    for block in inspector.event_blocks:
        for event in block.events:
            if event.is_delegated_op:
                event.num_outputs = 1  # where ExecuTorch has that of the whole delegate
    table = inspector.calculate_numeric_gap("L1", reference_graph="edge_dialect_exported_program")
    return {row["aot_ops"][-1]: max(row["gap"]) for _, row in table.iterrows()}


if __name__ == "__main__":
    record(*map(Path, sys.argv[1:]))
    print(
        *sorted({line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}),
        sep="\n",
    )
