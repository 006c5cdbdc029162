# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``ET_XNNPACK_AOT_ONLY=1`` makes a wheel that only lowers programs, without a compiler or CMake."""

import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import pytest
from harness import needs_runtime

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "executorch/backends/et_xnnpack"
BUILD = """
import sys
sys.path.insert(0, "cmake")
import build_backend
print("requires", build_backend.get_requires_for_build_wheel())
print("wheel", build_backend.build_wheel(sys.argv[1]))
"""


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """A Python that finds no program, so neither a compiler nor CMake."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PATH": "/nowhere", "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = run(BUILD, str(folder), ET_XNNPACK_AOT_ONLY="1")
    assert done.returncode == 0, done.stderr
    requires = next(line for line in done.stdout.splitlines() if line.startswith("requires"))
    assert "executorch==" in requires
    assert not any(name in requires for name in ("'cmake", "'ninja", "'torch"))
    (wheel,) = folder.glob("*.whl")
    assert wheel.name in done.stdout
    return wheel


def test_it_is_for_every_machine(wheel):
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(next(name for name in archive.namelist() if name.endswith("/WHEEL"))).decode()
    assert "Root-Is-Purelib: true" in text
    assert "Tag: py3-none-any" in text


def test_it_has_the_python_files_of_the_package_and_a_record_of_all(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = archive.read(next(name for name in names if name.endswith("/RECORD"))).decode()
    assert sorted(names) == sorted(line.split(",")[0] for line in record.splitlines())
    ours = {name.removeprefix(f"{PACKAGE}/") for name in names if name.startswith(PACKAGE)}
    paths = (path for folder in ("aot", "serialization") for path in (ROOT / folder).rglob("*"))
    sources = {path.relative_to(ROOT).as_posix() for path in paths if path.suffix in (".py", ".html", ".css", ".js")}
    generated = {
        "serialization/schema_generated.py",
        "serialization/schema.schema.json",
        "_version.py",
    }
    assert ours == sources | generated | {path.name for path in ROOT.glob("*.py")}
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    with zipfile.ZipFile(wheel) as archive:
        scripts = archive.read(next(name for name in names if name.endswith("/entry_points.txt"))).decode()
    assert "et-xnnpack=executorch.backends.et_xnnpack.aot.cli.main:main" in scripts.replace(" ", "")


@needs_runtime
def test_the_schema_is_that_of_the_compiled_package(wheel):
    """ExecuTorch's flatc is of another version than ours."""
    installed = Path(sys.modules["executorch.backends.et_xnnpack.serialization.schema_generated"].__file__).parent
    with zipfile.ZipFile(wheel) as archive:
        for name in ("schema_generated.py", "schema.schema.json"):
            assert archive.read(f"{PACKAGE}/serialization/{name}") == (installed / name).read_bytes()


def test_it_lowers_and_says_that_it_does_not_run(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    done = run(
        """
        import sys
        import torch
        import executorch.backends
        executorch.backends.__path__.insert(0, sys.argv[1])
        from executorch.backends import et_xnnpack
        from executorch.exir import to_edge_transform_and_lower
        print("from", et_xnnpack.__file__)
        print("available", et_xnnpack.is_available())
        program = torch.export.export(torch.nn.GELU(), (torch.rand(2, 3),))
        lowered = to_edge_transform_and_lower(program, partitioner=[et_xnnpack.EtXnnpackPartitioner()])
        print("delegated", "call_delegate" in str(lowered.exported_program().graph))
        try:
            et_xnnpack.verify(b"")
        except RuntimeError as error:
            print(error)
        """,
        str(tmp_path / "executorch" / "backends"),
    )
    assert done.returncode == 0, done.stderr
    assert f"from {tmp_path}" in done.stdout
    assert "available False" in done.stdout
    assert "delegated True" in done.stdout
    assert "this et_xnnpack only lowers programs (it was built with ET_XNNPACK_AOT_ONLY=1)" in done.stdout


def test_another_value_is_refused(tmp_path):
    done = run(BUILD, str(tmp_path), ET_XNNPACK_AOT_ONLY="yes")
    assert "ET_XNNPACK_AOT_ONLY is 'yes', must be 0 or 1" in done.stderr


def test_it_is_not_editable(tmp_path):
    done = run(BUILD.replace("build_wheel(sys", "build_editable(sys"), str(tmp_path), ET_XNNPACK_AOT_ONLY="1")
    assert "an editable install needs the compiled part" in done.stderr
