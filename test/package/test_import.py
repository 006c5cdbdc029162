# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What importing the package does when something is not as it should be. Each in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest
from harness import needs_runtime

NAME = "executorch.backends.et_xnnpack"


def python(code: str, **environment) -> str:
    """What the code prints, the log of ExecuTorch included. It must end by itself."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode in (0, 1), done.stdout
    return done.stdout


def test_without_the_compiled_part_lowering_works():
    printed = python(f"""
        import sys
        class Missing:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "{NAME}._runtime":
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        sys.meta_path.insert(0, Missing)

        import torch
        from executorch.exir import to_edge_transform_and_lower
        from {NAME} import EtXnnpackPartitioner, is_available, set_option, verify
        print("available", is_available())
        program = torch.export.export(torch.nn.GELU(), (torch.rand(2, 3),))
        lowered = to_edge_transform_and_lower(program, partitioner=[EtXnnpackPartitioner()])
        print("delegated", "call_delegate" in str(lowered.exported_program().graph))
        for function, arguments in (verify, (b"",)), (set_option, ("num_threads", 1)):
            try:
                function(*arguments)
            except RuntimeError as error:
                print(error)
    """)
    assert "available False" in printed
    assert "delegated True" in printed
    assert printed.count("the compiled part of et_xnnpack is not installed: run `pip install .`") == 2


def test_another_executorch_is_refused():
    printed = python(f"""
        import importlib.metadata
        version = importlib.metadata.version
        importlib.metadata.version = lambda name: "0.7.0+cpu" if name == "executorch" else version(name)
        import {NAME}
    """)
    assert "ImportError: this et_xnnpack was built with ExecuTorch" in printed
    assert "but 0.7.0 is installed. Run: pip install executorch==" in printed


@needs_runtime
def test_a_compiled_part_that_does_not_load_is_not_hidden():
    printed = python(f"""
        import sys
        class Broken:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "{NAME}._runtime":
                    raise ImportError("libexecutorch.so: cannot open shared object file")
        sys.meta_path.insert(0, Broken)
        import {NAME}
    """)
    assert "ImportError: libexecutorch.so: cannot open shared object file" in printed


# Through ExecuTorch's exported C++ function.
FILL_TABLE = """
import ctypes, re
import executorch.runtime
library = re.search(r"(/\\S*/libexecutorch\\.so)$", open("/proc/self/maps").read(), re.MULTILINE).group(1)

class Backend(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("backend", ctypes.c_void_p)]

register = ctypes.CDLL(library)._ZN10executorch7runtime16register_backendERKNS0_7BackendE
object = ctypes.create_string_buffer(64)
names = [ctypes.c_char_p(b"backend %d" % i) for i in range(20)]
for name in names:
    register(ctypes.byref(Backend(name, ctypes.addressof(object))))
"""


@needs_runtime
def test_a_full_table_of_backends_is_an_error():  # Robustness: R9
    printed = python(FILL_TABLE + f"import {NAME}")
    assert "et_xnnpack: cannot register" in printed
    assert "ImportError: et_xnnpack could not register with ExecuTorch, error" in printed


@needs_runtime
def test_a_library_that_is_closed_stays_for_those_who_know_its_backend():  # Robustness: R6
    printed = python(f"""
        import _ctypes, ctypes, importlib.util, pathlib
        executorch = pathlib.Path(importlib.util.find_spec("executorch").submodule_search_locations[0])
        library = ctypes.CDLL(str(executorch / "backends" / "et_xnnpack" / "lib" / "libet_xnnpack.so"))
        _ctypes.dlclose(library._handle)
        from executorch.runtime import Runtime
        print(Runtime.get().backend_registry.registered_backend_names.count("EtXnnpackBackend"))
        import {NAME}
        print({NAME}.is_available(), {NAME}.get_option("num_threads"))
    """)
    assert printed.endswith("1\nTrue 0\n")


@needs_runtime
def test_a_second_copy_of_the_library_leaves_the_first_alone(tmp_path):
    printed = python(f"""
        import ctypes, re, shutil
        import {NAME} as first
        library = re.search(r"(/\\S*libet_xnnpack\\.so)$", open("/proc/self/maps").read(), re.MULTILINE).group(1)
        shutil.copy(library, "{tmp_path}/copy.so")
        copy = ctypes.CDLL("{tmp_path}/copy.so")
        print("error", copy.et_xnnpack_register(), first.is_available(), first.get_option("num_threads"))
    """)
    assert "et_xnnpack: cannot register (error 0x12): another copy of the library is loaded" in printed
    assert "error 18 True 0" in printed


@needs_runtime
@pytest.mark.parametrize("isa", ["mmx", "neon,avx2"])
def test_an_unknown_instruction_set_is_an_error_at_load(isa):
    printed = python(
        f"""
        import torch
        from executorch.exir import to_edge_transform_and_lower
        from executorch.runtime import Runtime
        from {NAME} import EtXnnpackPartitioner
        program = torch.export.export(torch.nn.GELU(), (torch.rand(2, 3),))
        lowered = to_edge_transform_and_lower(program, partitioner=[EtXnnpackPartitioner()])
        Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
        """,
        ET_XNNPACK_ISA=isa,
    )
    assert f'et_xnnpack: cannot load the delegate: ET_XNNPACK_ISA is "{isa}", but must be one of: scalar' in printed
    assert "0x12" in printed
