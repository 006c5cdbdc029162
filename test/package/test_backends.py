# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Our backend and ExecuTorch's own XNNPACK delegate in one process, whose XNNPACK they may share."""

import subprocess
import sys
import textwrap

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from harness import needs_runtime

pytestmark = needs_runtime

LOADS = {
    "ours first": "from executorch.backends import et_xnnpack",
    "theirs first": "from executorch.extension.pybindings import portable_lib",
    "our library alone first": """
        import ctypes, importlib.util, pathlib
        executorch = pathlib.Path(importlib.util.find_spec("executorch").submodule_search_locations[0])
        ctypes.CDLL(str(executorch / "backends" / "et_xnnpack" / "lib" / "libet_xnnpack.so"))""",
}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.depthwise = torch.nn.Conv2d(32, 32, 3, groups=32)
        self.linear = torch.nn.Linear(32, 10)

    def forward(self, x):
        return self.linear(torch.relu(self.depthwise(torch.relu(self.conv(x)))).mean((2, 3)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    torch.manual_seed(0)
    model, x = Model().eval(), torch.randn(2, 3, 20, 20)
    for name, partitioner in ("ours", EtXnnpackPartitioner()), ("theirs", XnnpackPartitioner()):
        lowered = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[partitioner])
        assert "call_delegate" in str(lowered.exported_program().graph)
        (folder / f"{name}.pte").write_bytes(lowered.to_executorch().buffer)
    torch.save((x, model(x).detach()), folder / "expected.pt")
    return folder


@pytest.mark.parametrize("first", LOADS)
def test_each_is_registered_once_and_computes(first, folder):
    code = f"""
        {LOADS[first].strip()}
        import threading
        import torch
        from executorch.backends import et_xnnpack
        from executorch.runtime import Runtime

        runtime = Runtime.get()
        names = runtime.backend_registry.registered_backend_names
        assert names.count("XnnpackBackend") == 1 and names.count("EtXnnpackBackend") == 1, names
        x, expected = torch.load("expected.pt")
        methods = [runtime.load_program(f"{{name}}.pte").load_method("forward") for name in ("ours", "theirs")]
        results = []
        def run(method):
            for _ in range(20):
                results.append(method.execute((x,))[0].clone())
        for method in methods * 2:
            run(method)
        threads = [threading.Thread(target=run, args=(method,)) for method in methods]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(results) == 120
        for result in results:
            torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
        mapped = {{line.split()[-1] for line in open("/proc/self/maps") if "backend_xnnpack" in line}}
        assert len(mapped) == 1, mapped
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
    )
    assert done.returncode == 0 and done.stdout.endswith("done\n"), done.stdout
