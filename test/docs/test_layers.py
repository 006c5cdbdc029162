# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Rooms of the runtime include those below them and nothing else, and no file is a house of its own."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"

# Each room, and the rooms that it may include. What lies in runtime/ itself may include all of them, and et_xnnpack.h,
# which includes nothing of ours, may be included by all.
ROOMS = {
    "base": set(),
    "kernels": {"base"},
    "measure": set(),
    "xnnpack": {"base"},
    "program": {"base"},
    "ops": {"base", "kernels", "xnnpack", "program"},
    "weights": {"base", "kernels", "xnnpack", "program"},
    "plan": {"base", "kernels", "program", "ops"},
    "execute": {"base", "kernels", "xnnpack", "program", "ops", "weights", "plan"},
}
PUBLIC = "et_xnnpack.h"


def _included(file: Path) -> list[str]:
    """The files of ours that a file includes, from the root of the repository."""
    names = re.findall(r'^#\s*include "([^"]+)"', file.read_text(), re.MULTILINE)
    return [
        name if name.startswith("runtime/") else str((file.parent / name).resolve().relative_to(ROOT)) for name in names
    ]


def _room(path: str) -> str:
    parts = Path(path).relative_to("runtime").parts
    return parts[0] if len(parts) > 1 else ""


def test_rooms_are_those_that_there_are():
    assert {path.name for path in RUNTIME.iterdir() if path.is_dir()} == {*ROOMS, "python"}


@pytest.mark.parametrize("room", ROOMS)
def test_includes_go_one_way(room):
    files = [path for path in (RUNTIME / room).rglob("*") if path.suffix in (".h", ".cpp", ".c")]
    assert files
    wrong = [
        f"{file.relative_to(ROOT)} includes {name}"
        for file in files
        for name in _included(file)
        if name != f"runtime/{PUBLIC}" and _room(name) not in {room, *ROOMS[room]}
    ]
    assert wrong == []


def test_kernels_know_no_nodes():
    """Nor the schema, and their tests need no FlatBuffer."""
    for folder in (RUNTIME / "kernels", ROOT / "test/runtime/kernels"):
        for file in folder.rglob("*.[hc]*"):
            text = file.read_text()
            names = r"\bNodeContext\b|\bschema::|flatbuffers|schema_generated|#include [\"<](runtime/)?(ops|program)/"
            assert not re.search(names, text), file.relative_to(ROOT)


def test_locks_have_their_place_in_the_order():
    """``Mutex`` checks it; what it is made of is no lock of ours."""
    locks = r"\bstd::(?:\w+_)?mutex\b|\bpthread_(?:mutex|rwlock|spin)|\bflock\("
    found = {str(f.relative_to(RUNTIME)) for f in RUNTIME.rglob("*.[hc]*") if re.search(locks, f.read_text())}
    assert found == {"base/mutex.h", "weights/packed_file.cpp"}  # the latter only tries to lock a file


def test_the_public_header_includes_nothing_of_ours():
    assert _included(RUNTIME / PUBLIC) == []


@pytest.mark.parametrize("folder", ["aot", "serialization", "runtime", "third-party", "test", "benchmarks", "tools"])
def test_files_do_one_thing(folder):
    """A file that has grown beyond this does several things: split it."""
    files = [
        path for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".h", ".cpp", ".c", ".fbs", ".cmake")
    ]
    assert files
    lines = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in files}
    assert {path: count for path, count in lines.items() if count > 450} == {}
