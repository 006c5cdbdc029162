"""What Python threads may do at once, and no memory, in processes of their own: ExecuTorch makes its pool once."""

import subprocess
import sys

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower

# ExecuTorch logs while it makes its pool, and its log goes through Python, which then lets another thread run.
FIRST_CALLS = """
import os, signal, sys, threading, time
import torch
from executorch.backends import et_xnnpack
from executorch.extension.pybindings import portable_lib

program, inputs, kind = open(sys.argv[1], "rb").read(), torch.load(sys.argv[2]), sys.argv[3]
x, expected = inputs
torch.set_num_threads(1)


def child():
    sys.setswitchinterval(1e-6)
    results = []
    one = portable_lib._load_for_executorch_from_buffer(program)

    def run():
        module = one if kind == "one" else portable_lib._load_for_executorch_from_buffer(program)
        for _ in range(10):
            (y,) = module.run_method("forward", (x,))
            results.append(torch.allclose(y, expected, atol=1e-4))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os._exit(0 if results == [True] * 40 else 1)


for _ in range(5):
    pid = os.fork()
    if pid == 0:
        child()
    end = time.monotonic() + 60
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > end:
            os.kill(pid, signal.SIGKILL)
            sys.exit("hangs")
        time.sleep(0.01)
    if status != 0:
        sys.exit(f"status {status}")
os._exit(0)
"""


@pytest.mark.parametrize("kind", ["one", "several"])
def test_first_calls_on_several_threads_end(kind, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 64)).eval()
    x = torch.randn(8, 64)
    lowered = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[EtXnnpackPartitioner()])
    program, inputs = tmp_path / "model.pte", tmp_path / "inputs.pt"
    program.write_bytes(lowered.to_executorch().buffer)
    torch.save((x, model(x).detach()), inputs)
    command = [sys.executable, "-W", "ignore", "-c", FIRST_CALLS, str(program), str(inputs), kind]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stderr[-2000:]


# Weights are packed while other threads run; what ExecuTorch did with the C++ streams for one must not reach another.
LOADS = """
import sys, threading
import torch
from executorch.backends import et_xnnpack
from executorch.extension.pybindings import portable_lib

program = open(sys.argv[1], "rb").read()
et_xnnpack.set_option("weight_cache", False)  # all pack
x, results = torch.ones(4, 1024), []


def run():
    for _ in range(8):
        (y,) = portable_lib._load_for_executorch_from_buffer(program).run_method("forward", (x,))
        results.append(y)


threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(results) == 24 and all(torch.equal(y, results[0]) for y in results)
print("the end")
"""


def test_threads_that_load_leave_the_streams_in_order(tmp_path):
    model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for _ in range(6))).eval()
    exported = torch.export.export(model, (torch.ones(4, 1024),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
    program = tmp_path / "model.pte"
    program.write_bytes(lowered.to_executorch().buffer)
    command = [sys.executable, "-W", "ignore", "-c", LOADS, str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (0, "the end\n"), result.stderr[-2000:]


NOTES = """
import sys, threading
from executorch.backends import et_xnnpack
from executorch.runtime import Runtime

runtime = Runtime.get()


def run():
    for _ in range(300):
        runtime.load_program(sys.argv[1]).load_method("forward")


et_xnnpack.set_option("force_bf16", True)
run()
threads = [threading.Thread(target=run) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("the end")
"""


def test_threads_whose_loads_are_logged_leave_the_streams_in_order(tmp_path):
    class Sine(torch.nn.Module):
        def forward(self, x):
            return x.sin() + 1

    lowered = to_edge_transform_and_lower(
        torch.export.export(Sine(), (torch.ones(3),)), partitioner=[EtXnnpackPartitioner()]
    )
    program = tmp_path / "model.pte"
    program.write_bytes(lowered.to_executorch().buffer)
    command = [sys.executable, "-W", "ignore", "-c", NOTES, str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert (result.returncode, result.stdout) == (0, "the end\n"), result.stderr[-2000:]
    assert result.stderr.count("et_xnnpack: force_bf16: no product is rounded to bfloat16") == 1500


NO_MEMORY = """
import resource, sys
import torch
from executorch.extension.pybindings import portable_lib
from executorch.backends import et_xnnpack

program = open(sys.argv[1], "rb").read()  # ExecuTorch does not keep it
module = portable_lib._load_for_executorch_from_buffer(program)
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
for _ in range(2):
    try:
        module.run_method("forward", (torch.rand(1, 1, 4, 4),))
    except RuntimeError as error:
        print("error", error)
"""


class Resize(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.interpolate(x, size=(2**30, 1), mode="nearest").mean()


class Pool(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.adaptive_avg_pool2d(x, (2**31 - 1, 1)).mean()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the address space of a process")
@pytest.mark.parametrize("model", [Resize, Pool])
def test_tables_that_fit_into_no_memory_are_errors(model, tmp_path):
    exported = torch.export.export(model().eval(), (torch.rand(1, 1, 4, 4),))
    lowered = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
    program = tmp_path / "model.pte"
    program.write_bytes(lowered.to_executorch().buffer)
    command = [sys.executable, "-W", "ignore", "-c", NO_MEMORY, str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.count("0x21") == 2, "MemoryAllocationFailed"
    assert "no memory for" in result.stderr
