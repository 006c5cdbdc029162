# Copyright (c) et_xnnpack authors.
# SPDX-License-Identifier: BSD-3-Clause
"""A wheel that only lowers programs, for machines that export and do not run: nothing in it is compiled.

The Python code of the schema is written by the flatc in ExecuTorch's package, which is of another version than that of
the build with CMake; test/package/test_aot_only.py compares what both write.
"""

import base64
import hashlib
import importlib.util
import subprocess
import tempfile
import zipfile
from pathlib import Path

from requirements import version_of

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "executorch/backends/et_xnnpack"


def find_flatc() -> str:
    """That of the executorch package. Raises RuntimeError if there is none."""
    spec = importlib.util.find_spec("executorch")
    for folder in spec.submodule_search_locations if spec else []:
        for name in ("flatc", "flatc.exe"):
            if (file := Path(folder, "data", "bin", name)).is_file():
                return str(file)
    raise RuntimeError(
        "ET_XNNPACK_AOT_ONLY takes the flatc of ExecuTorch's package, and this Python has none: "
        f"install executorch=={version_of('executorch')} or build with isolation"
    )


def generate_schema(flatc: str, folder: Path) -> list[Path]:
    """Writes the Python code of the schema, as ``serialization/CMakeLists.txt`` has it written."""
    options = ("--gen-all", "--python", "--gen-onefile", "--gen-object-api", "--jsonschema")
    subprocess.run([flatc, *options, "-o", str(folder), str(ROOT / "serialization" / "schema.fbs")], check=True)
    return [folder / "schema_generated.py", folder / "schema.schema.json"]


def package_files(version: str, generated: Path) -> dict[str, bytes]:
    """What is installed, by the path in the package."""
    files = {path.name: path.read_bytes() for path in sorted(ROOT.glob("*.py"))}
    for folder in ("aot", "serialization"):
        for path in sorted((ROOT / folder).rglob("*.*")):
            if path.suffix in (".py", ".html", ".css", ".js"):
                files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    for path in generate_schema(find_flatc(), generated):
        files[f"serialization/{path.name}"] = path.read_bytes()
    text = (ROOT / "cmake" / "_version.py.in").read_text()
    values = {
        "PROJECT_VERSION": version,
        "ET_XNNPACK_EXECUTORCH_VERSION": version_of("executorch"),
        "ET_XNNPACK_IS_AOT_ONLY": "True",
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    files["_version.py"] = text.encode()
    return files


def write_wheel(wheel_directory: str, metadata: Path) -> str:
    """Writes the wheel whose ``.dist-info`` is in the folder ``metadata``, and returns its name."""
    name, version = metadata.name.removesuffix(".dist-info").split("-")
    wheel = f"{name}-{version}-py3-none-any.whl"
    with tempfile.TemporaryDirectory() as generated:
        files = {f"{PACKAGE}/{path}": data for path, data in package_files(version, Path(generated)).items()}
    for path in sorted(metadata.rglob("*")):
        if path.is_file() and path.name != "RECORD":
            files[f"{metadata.name}/{path.relative_to(metadata).as_posix()}"] = path.read_bytes()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(data)}\n"
    files[f"{metadata.name}/RECORD"] = (record + f"{metadata.name}/RECORD,,\n").encode()
    with zipfile.ZipFile(Path(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(zipfile.ZipInfo(path), data, zipfile.ZIP_DEFLATED)
    return wheel
