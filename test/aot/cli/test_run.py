# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack run``: inputs, references, outputs, ETDump."""

import dataclasses
import json

import click
import numpy as np
import pytest
import torch
from executorch.backends.et_xnnpack.aot.cli import program as programs
from executorch.backends.et_xnnpack.aot.cli import tensors
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from executorch.backends.et_xnnpack.aot.cli.output import distance, emit
from harness import needs_runtime

pytestmark = needs_runtime


@pytest.mark.parametrize("reference", ["model.py:full", "full.pt2", "outputs.pt"])
def test_a_reference(command, reference):
    inputs = ["--input", "inputs.pt"] if reference == "outputs.pt" else []
    found = command("run", "full.pte", "--reference", reference, *inputs, "--json").json
    (difference,) = found["differences"]
    assert found["is_close"] and difference["largest"] < 1e-5
    assert difference["type"] == difference["expected_type"] == "float32[2, 4]"


def test_results_that_differ(command):
    printed = command("run", "changed.pte", "--reference", "model.py:full", code=ExitCode.NO).out
    assert "out 0 DIFFERS: the largest difference is " in printed
    command("run", "changed.pte", "--reference", "model.py:full", "--atol", "1000")


@pytest.mark.parametrize("program", ["contiguous", "channels_last"])
@pytest.mark.parametrize("reference", ["contiguous", "channels_last"])
def test_inputs_lie_in_memory_as_the_program_takes_them(command, folder, models, program, reference):
    (image,) = getattr(models, reference)()[1]
    torch.save([image], folder / "image.pt")
    np.save(folder / "image.npy", image.numpy())
    for words in ([], ["--shape", "0=1x3x8x8"], ["--input", "image.pt"], ["--input", "image.npy"]):
        found = command("run", f"{program}.pte", "--reference", f"model.py:{reference}", *words, "--json").json
        assert found["is_close"] and found["differences"][0]["largest"] < 1e-5


def test_an_order_of_axes_with_several_sizes():
    shape = (2, 3, 4, 5)
    info = programs.TensorInfo("float32", shape, False, 480, None, None, False, (2, 0, 3, 1))
    method = programs.Method("forward", (info,), (0,), (0,), (), (), ())
    x = torch.rand(shape)
    (found,) = tensors.laid_out(method, [x])
    assert torch.equal(found, x) and found.permute(2, 0, 3, 1).is_contiguous()
    assert info.type == "float32[2, 3, 4, 5] with axes in the order [2, 0, 3, 1]"


def test_of_several_calls_the_first_is_compared(command):
    found = command("run", "counts.pte", "--reference", "model.py:counts", "--calls", 3, "--json").json
    assert found["is_close"] and found["differences"][0]["largest"] < 1e-6
    assert found["outputs"][0]["min"] > 3  # that of the last


def test_a_path_of_digits(command, folder):
    command("run", "full.pte", "--option", "packed_cache_path=123")
    assert (folder / "123").exists()


def test_a_result_that_is_none(command, folder):
    found = command("run", "optional.pte", "--reference", "model.py:optional", "--output", "optional.pt", "--json").json
    assert [output["type"] for output in found["outputs"]] == ["float32[3]", "None", "float32[3]"]
    assert found["is_close"] and found["differences"][1]["expected_type"] == "None"
    assert "out 1: None\n" in command("run", "optional.pte", "--reference", "model.py:optional").out
    first, none, third = torch.load(folder / "optional.pt")
    assert none is None
    torch.save([first, first, third], folder / "tensor.pt")
    printed = command("run", "optional.pte", "--reference", "tensor.pt", code=ExitCode.NO).out
    assert "out 1: DIFFERS, should be float32[3]" in printed
    error = command("run", "optional.pte", "--output", "optional.npz", code=ExitCode.UNREADABLE).err
    assert "None is one of the results, and goes into a .pt file only" in error
    assert command("diff", "optional.pte", "optional.pte").out == "optional.pte and optional.pte are the same\n"


def test_numbers_that_json_has_no_form_for(command, folder, capsys):
    nan, inf = float("nan"), float("inf")
    torch.save([torch.full((6, 16), 1e30), torch.zeros(6, 4, dtype=torch.int64)], folder / "large.pt")
    torch.save([torch.tensor([[nan, inf, -inf, 0.0], [1.0, 1.0, 1.0, 1.0]])], folder / "special.pt")
    words = ["run", "full.pte", "--input", "large.pt", "--reference", "special.pt", "--json"]
    found = command(*words, code=ExitCode.NO).json
    assert found["differences"][0]["largest"] == "Infinity"
    emit(True, {"all": (nan, [inf, -inf], 1.5)}, lambda: None)
    assert json.loads(capsys.readouterr().out) == {"all": ["NaN", ["Infinity", "-Infinity"], 1.5]}


def test_random_inputs_are_those_of_the_seed_and_the_sizes(command, folder):
    words = ["run", "full.pte", "--shape", "0=3x16", "--shape", "1=3x4", "--output"]
    for name, seed in ("a.npz", 1), ("b.npz", 1), ("c.npz", 2):
        command(*words, name, "--seed", seed, "--threads", 2)
    a, b, c = (np.load(folder / name)["arr_0"] for name in ("a.npz", "b.npz", "c.npz"))
    assert a.shape == (2, 4) and np.array_equal(a, b) and not np.array_equal(a, c)


def test_inputs_from_files(command, folder):
    x, cluster = torch.load(folder / "inputs.pt").values()
    np.save(folder / "x.npy", x.numpy())
    np.savez(folder / "cluster.npz", cluster.numpy())
    command("run", "full.pte", "--input", "inputs.pt", "--output", "one.pt")
    command("run", "full.pte", "--input", "x.npy", "--input", "cluster.npz", "--output", "two.npy")
    (one,) = torch.load(folder / "one.pt")
    np.testing.assert_array_equal(one, np.load(folder / "two.npy"))


def test_etdump_and_options(command, folder):
    words = ["run", "full.pte", "--etdump", "x.etdump", "--calls", "3", "--option", "fuse_elementwise=false"]
    found = command(*words, "--json").json
    assert len(found["call_ms"]) == 3 and found["outputs"][0]["numbers"] == 8
    from executorch.devtools import Inspector

    blocks = Inspector(etdump_path=str(folder / "x.etdump")).event_blocks
    names = [event.name for block in blocks for event in block.events if event.is_delegated_op]
    assert any(name.endswith(" LayerNorm") for name in names)
    assert len([name for name in names if name.endswith((" Unary", " Binary"))]) >= 5  # none shares a pass


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["full.pte", "--input", "no.npy"], ExitCode.UNREADABLE, "no.npy: No such file"),
        (["full.pte", "--input", "model.py"], ExitCode.UNREADABLE, "tensors come from .npy, .npz, .pt files"),
        (["full.pte", "--input", "bad.npy"], ExitCode.UNREADABLE, "bad.npy: "),
        (["full.pte", "--input", "words.pt"], ExitCode.UNREADABLE, "Error: words.pt: holds something other than"),
        (["full.pte", "--input", "bad.pt"], ExitCode.UNREADABLE, "bad.pt: "),
        (["full.pte", "--input", "one.npy"], ExitCode.UNREADABLE, "has 1 inputs, but method forward takes 2"),
        (["full.pte", "--shape", "0=9x16"], ExitCode.UNREADABLE, "input 0 is float32[9, 16], but method forward takes"),
        (["full.pte", "--shape", "0=2,3"], ExitCode.USAGE, "takes INDEX=SIZES"),
        (["full.pte", "--shape", f"0={2**40}x{2**40}"], ExitCode.UNREADABLE, "input 0 is float32[1099511627776, 1099"),
        (["full.pte", "--shape", f"0={10**30}"], ExitCode.USAGE, "takes INDEX=SIZES"),
        (["full.pte", "--seed", 2**63], ExitCode.USAGE, "'--seed': 9223372036854775808 is not in the range"),
        (["full.pte", "--high", 2**63], ExitCode.USAGE, "'--high': 9223372036854775808 is not in the range"),
        (["full.pte", "--high", "0"], ExitCode.USAGE, "'--high': 0 is not in the range"),
        (["full.pte", "--atol", "-1"], ExitCode.USAGE, "'--atol': -1.0 is not in the range"),
        (["full.pte", "--rtol", "nan"], ExitCode.USAGE, "'--rtol': NaN is no tolerance"),
        (["full.pte", "--etdump", "no/x"], ExitCode.UNREADABLE, "no/x: there is no folder no"),
        (["full.pte", "--etdump", "."], ExitCode.UNREADABLE, ".: Is a directory"),
        (["full.pte", "--shape", "5=2"], ExitCode.USAGE, "--shape names input 5, but there are 2"),
        (["full.pte", "--option", "fuse"], ExitCode.USAGE, "takes NAME=VALUE"),
        (["full.pte", "--option", "num_thread=1"], ExitCode.USAGE, "did you mean 'num_threads'"),
        (["full.pte", "--option", "num_threads=-1"], ExitCode.USAGE, "option 'num_threads' takes 0 to 1, not -1"),
        (["full.pte", "--option", f"num_threads={10**30}"], ExitCode.USAGE, f"takes 0 to 1, not {10**30}"),
        (["full.pte", "--option", "num_threads=one"], ExitCode.USAGE, "option 'num_threads' takes an integer"),
        (["full.pte", "--option", "force_fp16=1"], ExitCode.USAGE, "option 'force_fp16' takes true or false"),
        (["full.pte", "--option", "workspace_sharing=1"], ExitCode.USAGE, "'none', 'model' or 'global', not '1'"),
        (["full.pte", *2 * ["--option", "num_threads=1"]], ExitCode.USAGE, "option 'num_threads' is given twice"),
        (["no.pte", "--option", "packed_cache_path=" + 300 * "x"], ExitCode.USAGE, "takes up to 254 bytes"),
        (["full.pte", "--shape", "0=3x16"], ExitCode.FAILED, "input 1 of the delegate has sizes [8, 4]"),
        (["full.pte", "--high", "7"], ExitCode.FAILED, "out of range"),
        (["full.pte", "--reference", "model.py:several"], ExitCode.UNREADABLE, "has no method 'forward', but encode"),
        (["full.pte", "--output", "x.txt"], ExitCode.UNREADABLE, "x.txt: results go into .npy, .npz, .pt files"),
        (["optional.pte", "--output", "x.npy"], ExitCode.UNREADABLE, "x.npy: 3 results go into a .npz or .pt file"),
        (["full.pte", "--output", "no/x.pt"], ExitCode.UNREADABLE, "no/x.pt: "),
    ],
)
def test_what_is_wrong(command, folder, words, code, message):
    np.save(folder / "one.npy", np.zeros((6, 16), np.float32))
    (folder / "bad.npy").write_bytes(b"no array")
    torch.save("words", folder / "words.pt")
    (folder / "bad.pt").write_bytes(b"no tensors")
    assert message in command("run", *words, code=code).err


def test_differences():
    nan, a = float("nan"), torch.tensor([1.0, 2.0])
    (same, far, shape) = tensors.compare([a, a, a], [a, a + torch.tensor([0.0, 0.5]), a[:1]], 1e-4, 1e-3)
    assert (same.is_close, same.largest, same.relative) == (True, 0.0, 0.0)
    assert (far.is_close, far.largest, far.relative) == (False, 0.5, 0.2)
    assert (shape.is_close, shape.largest) == (False, None)
    (with_nan,) = tensors.compare([torch.tensor([nan, 1.0])], [torch.tensor([nan, 1.0])], 0, 0)
    assert with_nan.is_close and with_nan.largest == 0
    (one_nan,) = tensors.compare([torch.tensor([nan])], [torch.tensor([1.0])], 1, 1)
    assert not one_nan.is_close and one_nan.largest == float("inf")


def test_differences_of_types_and_integers():
    a = torch.tensor([2**60, 5])
    (dtype,) = tensors.compare([a], [a.float()], 1, 1)
    assert (dtype.is_close, dtype.largest, dtype.expected_type) == (False, None, "float32[2]")
    (any_dtype,) = tensors.compare([a], [a.float()], 0, 0, any_dtype=True)
    assert any_dtype.is_close
    (by_one,) = tensors.compare([a], [a + 1], 0, 0)
    assert (by_one.is_close, by_one.largest) == (False, 1.0)
    (close,) = tensors.compare([a], [a + 1], 1, 0)
    assert close.is_close
    ends = torch.tensor(2**63 - 1), torch.tensor(-(2**63))
    assert tensors.compare(ends[:1], ends[1:], 0, 0)[0].largest == 2.0**64
    truths = torch.tensor([True, False])
    assert [d.largest for d in tensors.compare([truths, truths], [truths, ~truths], 0, 0)] == [0.0, 1.0]


def test_types_are_those_of_a_model_but_not_of_a_file(command, folder):
    np.save(folder / "outputs.npy", torch.load(folder / "outputs.pt")[0].double().numpy())
    command("run", "full.pte", "--input", "inputs.pt", "--reference", "outputs.npy")
    (folder / "double.py").write_text(
        "import model\n\n\ndef make():\n    module, inputs = model.counts()\n"
        "    return module.double(), [x.double() for x in inputs]\n"
    )
    words = ["--input", "counts.npy", "--reference", "double.py:make"]
    np.save(folder / "counts.npy", np.zeros(4, np.float32))
    printed = command("run", "counts.pte", *words, code=ExitCode.NO).out
    assert "out 0: DIFFERS, should be float64[4]" in printed


def test_random_integers_fit_their_type(command):
    info = programs.TensorInfo("int8", (1000,), False, 1000, None, None, False)
    method = programs.Method("forward", (info,), (0,), (), (), (), ())
    (found,) = tensors.random(method, {}, 1000, 0)
    assert found.dtype == torch.int8 and 0 <= found.min() and found.max() > 100


def test_one_of_several_methods_is_named(folder):
    program = programs.read(folder / "full.pte")
    names = ("prefill", "decode")
    several = dataclasses.replace(
        program, methods=tuple(dataclasses.replace(program.methods[0], name=n) for n in names)
    )
    assert several.method("decode").name == "decode"
    with pytest.raises(click.UsageError, match="has methods prefill, decode: name one with --method"):
        several.method(None)


def test_numbers_among_the_arguments(folder):
    method = programs.read(folder / "full.pte").method(None)
    with_number = programs.Method(**{**vars(method), "values": (programs.Number("int", 3),), "inputs": (0,)})
    assert tensors.random(with_number, {}, 2, 0) == [3]


def test_a_tolerance_that_tells_nothing():
    far = {"largest": 2e-5, "relative": 0.5, "is_close": True}
    assert distance(far) == "2e-05, 0.5 times the largest number; --atol is too large for numbers as small as these"
    assert distance(far | {"is_close": False}) == "2e-05, 0.5 times the largest number"
    assert distance(far | {"relative": 1e-3}) == "2e-05, 0.001 times the largest number"
