# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Options of the runtime, weights in other files, and the file of packed weights, from Python."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack import EtXnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 96)
        self.conv = torch.nn.Conv1d(4, 6, 3)
        self.second = torch.nn.Linear(96, 96)

    def forward(self, x):
        return self.conv(self.second(torch.relu(self.first(x))))


EXAMPLE = (torch.rand(2, 4, 64),)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return Model().eval()


def lower(model, **options):
    partitioner = EtXnnpackPartitioner(require_full_delegation=True, **options)
    return to_edge_transform_and_lower(torch.export.export(model, EXAMPLE), partitioner=[partitioner])


@pytest.fixture(scope="module")
def program(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("loading") / "model.pte"
    path.write_bytes(lower(model).to_executorch().buffer)
    return path


def check(model, path, data_path=None):
    method = Runtime.get().load_program(path, data_path=data_path).load_method("forward")
    torch.testing.assert_close(method.execute(EXAMPLE)[0], model(*EXAMPLE))
    return method


def test_options_have_types():
    for name, value in (("weight_cache", False), ("num_threads", 1), ("workspace_sharing", "global")):
        before = et_xnnpack.get_option(name)
        et_xnnpack.set_option(name, value)
        after = et_xnnpack.get_option(name)
        et_xnnpack.set_option(name, before)
        assert (type(after), after) == (type(value), value)


#: Wherever they are set.
WRONG = [
    ({"num_thread": 1}, "did you mean 'num_threads'"),
    ({"NUM_THREADS": 1}, "there is no option 'NUM_THREADS'; did you mean 'num_threads'"),
    ({"num_threads": True}, "takes an integer"),
    ({"num_threads": "1"}, "takes an integer"),
    *(({"num_threads": n}, f"takes 0 to 1, not {n}") for n in (2, 2**31, 2**63, 2**70, -(2**40))),
    ({"weight_cache": 1}, "takes true or false"),
    ({"weight_cache": 2**31}, "takes true or false"),
    ({"fuse_elementwise": "true"}, "takes true or false"),
    ({"force_f16": True}, "did you mean 'force_fp16'"),
    ({"workspace_sharing": "all"}, "takes 'none', 'model' or 'global', not 'all'"),
    ({"workspace_sharing": 1}, "takes a text"),
    ({"packed_cache_path": 2**70}, "takes a text"),
    ({"\ud800": 1}, "has no form in UTF-8"),
    ({"packed_cache_path": "\udcff"}, "has no form in UTF-8"),
]


@pytest.mark.parametrize(
    "options, message",
    [
        *WRONG,
        ({"packed_cache_path": "p" * 255}, "takes up to 254 bytes"),
        ({"packed_cache_path": "a\0b"}, "none of them 0"),
        ({"num_threads\0": 1}, "zero byte"),
    ],
)
def test_wrong_options_are_refused_everywhere(options, message):
    ((name, value),) = options.items()
    with pytest.raises(ValueError, match=message):
        et_xnnpack.set_option(name, value)
    with pytest.raises(ValueError, match=message), et_xnnpack.load_options(**options):
        pass


@pytest.mark.parametrize(
    "options, message",
    [
        *WRONG,
        ({"packed_cache_path": "p"}, "a program cannot ask for option 'packed_cache_path': set it for the process"),
        ({"state_group": 1}, "a program cannot ask for option 'state_group': set it for the process"),
    ],
)
def test_wrong_options_of_a_program_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        EtXnnpackPartitioner(runtime_options=options)


@pytest.mark.parametrize(
    "name, value",
    [
        ("num_threads", 1.0),
        ("fuse_elementwise", None),
        ("weight_cache", 0.0),
        ("profiling", 1.5),
        ("packed_cache_path", b"x"),
        ("packed_cache_path", None),
    ],
)
def test_what_no_option_takes_is_refused_everywhere(name, value):
    message = f"option '{name}' takes a bool, an int or a str, not {value!r}"
    before = et_xnnpack.get_option(name)
    with pytest.raises(TypeError, match=message):
        et_xnnpack.set_option(name, value)
    with pytest.raises(TypeError, match=message), et_xnnpack.load_options(**{name: value}):
        pass
    with pytest.raises(TypeError, match=message):
        EtXnnpackPartitioner(runtime_options={name: value})
    assert et_xnnpack.get_option(name) == before
    for function in et_xnnpack._module.set_option, lambda *one: et_xnnpack._module.set_load_options(dict([one])):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            function(name, value)


@pytest.mark.parametrize("name, error", [(None, TypeError), (b"num_threads", TypeError), ("\ud800", ValueError)])
def test_what_is_no_name_is_refused(name, error):
    with pytest.raises(error, match="the name of an option is a str|has no form in UTF-8"):
        et_xnnpack.get_option(name)
    with pytest.raises(error, match="the name of an option is a str|has no form in UTF-8"):
        et_xnnpack.set_option(name, 1)


def test_a_program_asks_for_options(model, tmp_path):
    path = tmp_path / "model.pte"
    options = {"weight_cache": False, "num_threads": 1, "workspace_sharing": "model"}
    path.write_bytes(lower(model, runtime_options=options).to_executorch().buffer)
    check(model, path)


def test_a_program_that_chooses_a_file_is_refused(model, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "model.pte"
    program = lower(model, runtime_options={"workspace_sharing": "none"}).to_executorch().buffer
    assert program.count(b"workspace_sharing") == 1
    path.write_bytes(program.replace(b"workspace_sharing", b"packed_cache_path"))  # the file "none"
    with pytest.raises(RuntimeError):
        Runtime.get().load_program(path).load_method("forward")
    assert "a program cannot ask for option 'packed_cache_path'" in capfd.readouterr().err
    assert not (tmp_path / "none").exists()


def test_load_options_say_when_nothing_was_loaded(model, program, tmp_path):
    packed = tmp_path / "packed"
    options = {"packed_cache_path": str(packed)}
    with pytest.warns(UserWarning, match=r"load_options\(packed_cache_path\) had no effect.*run_method inside") as told:
        with et_xnnpack.load_options(**options):
            module = portable_lib._load_for_executorch(str(program))
    assert told[0].filename == __file__
    assert not packed.exists()
    torch.testing.assert_close(module.run_method("forward", EXAMPLE)[0], model(*EXAMPLE))
    assert not packed.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with et_xnnpack.load_options(**options), et_xnnpack.load_options(num_threads=1):
            module = portable_lib._load_for_executorch(str(program))
            torch.testing.assert_close(module.run_method("forward", EXAMPLE)[0], model(*EXAMPLE))
        assert packed.exists()
        with et_xnnpack.load_options():
            pass
        with pytest.raises(KeyError), et_xnnpack.load_options(**options):
            raise KeyError
        with pytest.raises(RuntimeError), et_xnnpack.load_options(**options):
            Runtime.get().load_program(b"").load_method("forward")
    other = []
    thread = threading.Thread(target=lambda: other.append(Runtime.get().load_program(program).load_method("forward")))
    with pytest.warns(UserWarning, match="this thread loaded no method"), et_xnnpack.load_options(**options):
        thread.start()
        thread.join()
    assert other


def test_load_options_hold_inside_and_nest(model, program, tmp_path):
    outer, inner = tmp_path / "outer", tmp_path / "inner"
    with et_xnnpack.load_options(packed_cache_path=str(outer), num_threads=1):
        with et_xnnpack.load_options(packed_cache_path=str(inner)):
            check(model, program)
        assert inner.exists() and not outer.exists()
        check(model, program)
        assert outer.exists()
        with pytest.raises(ValueError), et_xnnpack.load_options(nothing=1):
            pass
        outer.unlink()
        check(model, program)
        assert outer.exists()
    outer.unlink()
    check(model, program)
    assert not outer.exists()


@pytest.mark.parametrize("sharing", ["none", "model", "global"])
def test_methods_that_share_memory(model, program, sharing):
    with et_xnnpack.load_options(workspace_sharing=sharing, shrink_memory=True):
        methods = [check(model, program) for _ in range(3)]
    for method in methods[::-1]:
        torch.testing.assert_close(method.execute(EXAMPLE)[0], model(*EXAMPLE))


def _external(model, tag, example=EXAMPLE):
    exported = torch.export.export(model, example)
    module = exported.module()
    delegate_external_constants_pass_unlifted(module, gen_tag_fn=tag)
    exported = torch.export.export(module, example)
    return to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()]).to_executorch()


def test_weights_in_a_file_of_their_own(model, program, tmp_path):
    separate = _external(model, lambda node: "weights")
    path = tmp_path / "separate.pte"
    path.write_bytes(separate.buffer)
    separate.write_tensor_data_to_file(str(tmp_path))
    assert (tmp_path / "weights.ptd").stat().st_size > 64 * 96 * 4
    assert path.stat().st_size < program.stat().st_size / 2
    check(model, path, tmp_path / "weights.ptd")
    with et_xnnpack.load_options(weight_cache=False), pytest.raises(RuntimeError):
        check(model, path)


def test_some_weights_in_a_file_of_their_own(model, tmp_path):
    separate = _external(model, lambda node: "first" if "first" in node.target else None)
    path = tmp_path / "separate.pte"
    path.write_bytes(separate.buffer)
    separate.write_tensor_data_to_file(str(tmp_path))
    size = (tmp_path / "first.ptd").stat().st_size
    assert 64 * 96 * 4 < size < 96 * 96 * 4
    check(model, path, tmp_path / "first.ptd")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_weights_of_16_bits_in_a_file_of_their_own(dtype, tmp_path):
    """Those of float32 hold numbers that 16 bits hold too."""
    model = Model().to(torch.bfloat16).to(dtype)
    example = (torch.rand(2, 4, 64).to(dtype),)
    separate = _external(model, lambda node: "first" if "first" in node.target else None, example)
    path = tmp_path / "separate.pte"
    path.write_bytes(separate.buffer)
    separate.write_tensor_data_to_file(str(tmp_path))
    assert 2 * 64 * 96 < (tmp_path / "first.ptd").stat().st_size < 3 * 64 * 96
    method = Runtime.get().load_program(path, data_path=tmp_path / "first.ptd").load_method("forward")
    torch.testing.assert_close(method.execute(example)[0], model(*example))


def test_methods_of_a_program_share_weights(model, tmp_path):
    exported = torch.export.export(model, EXAMPLE)
    lowered = to_edge_transform_and_lower(
        {"one": exported, "two": exported},
        partitioner={"one": [EtXnnpackPartitioner()], "two": [EtXnnpackPartitioner()]},
    )
    path = tmp_path / "model.pte"
    path.write_bytes(lowered.to_executorch().buffer)
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert path.stat().st_size < 1.9 * weights
    packed = tmp_path / "packed"
    with et_xnnpack.load_options(packed_cache_path=str(packed)):
        program = Runtime.get().load_program(path)
        one = program.load_method("one")
        size = packed.stat().st_size
        two = program.load_method("two")
        assert packed.stat().st_size == size
    for method in (one, two):
        torch.testing.assert_close(method.execute(EXAMPLE)[0], model(*EXAMPLE))


@pytest.mark.parametrize("separate", [False, True], ids=["in the program", "in a file of their own"])
def test_damage_is_found_by_the_first_call(separate, model, program, tmp_path, capfd):
    data_path = None
    if separate:
        manager = _external(model, lambda node: "weights")
        program, data_path = tmp_path / "separate.pte", tmp_path / "weights.ptd"
        program.write_bytes(manager.buffer)
        manager.write_tensor_data_to_file(str(tmp_path))
    packed = tmp_path / "packed"

    def load():
        with et_xnnpack.load_options(packed_cache_path=str(packed), weight_cache=False):
            return Runtime.get().load_program(program, data_path=data_path).load_method("forward")

    load()
    whole = packed.read_bytes()
    damaged = bytearray(whole)
    damaged[64 + 4 * 64 * 96] ^= 1
    packed.write_bytes(damaged)
    first, second = load(), load()
    gc.collect()
    assert packed.read_bytes() == damaged
    assert "packed weights" not in capfd.readouterr().err
    for method in (first, second, first, second):
        torch.testing.assert_close(method.execute(EXAMPLE)[0], model(*EXAMPLE))
        assert packed.read_bytes() == whole
    torch.testing.assert_close(load().execute(EXAMPLE)[0], model(*EXAMPLE))
    lines = [line for line in capfd.readouterr().err.splitlines() if "et_xnnpack" in line]
    assert len(lines) == 2  # one for each method that had mapped the damaged file
    assert all(line.endswith(f"packed weights in {packed}: it is damaged") for line in lines)


_LOAD = """
import sys, torch
from executorch.backends import et_xnnpack
from executorch.runtime import Runtime
path, packed, rounds = sys.argv[1:]
runtime = Runtime.get()
print("ready", flush=True)
for i in range(int(rounds)):
    with et_xnnpack.load_options(packed_cache_path=packed):
        method = runtime.load_program(path).load_method("forward")
    torch.manual_seed(1)
    print(repr(method.execute((torch.rand(2, 4, 64),))[0].sum().item()), flush=True)
"""


def start(program, packed, rounds):
    return subprocess.Popen(
        [sys.executable, "-c", _LOAD, str(program), str(packed), str(rounds)], stdout=subprocess.PIPE, text=True
    )


def test_processes_share_a_file_and_one_is_killed(model, program, tmp_path):  # Robustness: W4
    packed = tmp_path / "packed"
    processes = [start(program, packed, 100000), start(program, packed, 100), start(program, packed, 100)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for _ in range(10):  # so that there is always something to write
        time.sleep(0.02)
        packed.unlink(missing_ok=True)
    os.kill(processes[0].pid, signal.SIGKILL)
    outputs = [process.communicate()[0].split() for process in processes]
    assert [process.returncode for process in processes] == [-signal.SIGKILL, 0, 0]
    assert len({line for output in outputs for line in output[:-1]} | set(outputs[1])) == 1
    with et_xnnpack.load_options(packed_cache_path=str(packed)):
        check(model, program)
    assert os.listdir(tmp_path) == ["packed"]
