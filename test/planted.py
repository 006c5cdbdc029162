# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The library with an error in one source, made of the objects of a build folder."""

import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "libet_xnnpack.so"


def _command(build: Path, name: str) -> tuple[str, list[str]]:
    """The only target of the build folder whose path ends in ``name``, and how it is made."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], capture_output=True, text=True, check=True)
    targets = [line.partition(": ")[0] for line in listed.stdout.splitlines()]
    (target,) = {target for target in targets if target.endswith(f"/{name}") and not target.startswith("/")}
    shown = ["ninja", "-C", build, "-t", "commands", "-s", target]
    printed = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.splitlines()
    return target, shlex.split(printed[-1])


def _replaced(command: list[str], old: str, new: str) -> list[str]:
    assert old in command, f"{old} is not in {shlex.join(command)}"
    return [new if word == old else word for word in command]


def _run(command: list[str], build: Path) -> None:
    end = command.index("&&", 2) if "&&" in command[2:] else len(command)
    command = command[2:end] if command[:2] == [":", "&&"] else command  # CMake puts `:` around a link
    done = subprocess.run(command, cwd=build, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def plant(build: Path, source: str, right: str, wrong: str, folder: Path) -> Path:
    """Compiles ``source`` with ``wrong`` in the place of ``right``, which is in it once, links it with all other
    objects of the build folder, and returns the library, which is in ``folder`` like all that is made."""
    text = (ROOT / source).read_text()
    assert text.count(right) == 1, f"{right!r} is {text.count(right)} times in {source}"
    changed = folder / source
    changed.parent.mkdir(parents=True)
    changed.write_text(text.replace(right, wrong))

    built, command = _command(build, f"et_xnnpack_core.dir/{source.removeprefix('runtime/')}.o")
    made = folder / "changed.o"
    for old, new in ((built, made), (f"{built}.d", folder / "changed.d"), (str(ROOT / source), changed)):
        command = _replaced(command, old, str(new))
    # What compiles itself once for each set of instructions is found here, headers beside it are found there.
    at = next(i for i, word in enumerate(command) if word.startswith("-I"))
    command[at:at] = [f"-I{folder}", f"-I{(ROOT / source).parent}"]
    _run(command, build)

    target, command = _command(build, LIBRARY)
    library = folder / LIBRARY
    _run(_replaced(_replaced(command, built, str(made)), target, str(library)), build)
    return library
