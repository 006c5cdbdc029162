# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Programs and calls that are wrong, through ExecuTorch's Python runtime: an error with a reason, and
all that is right works afterwards."""

import re

import harness
import pytest
import torch
from executorch.backends import et_xnnpack
from executorch.backends.et_xnnpack.serialization import schema_generated
from torch import nn

pytestmark = harness.needs_runtime

#: Codes of executorch/runtime/core/error.h, as they are in the message.
INVALID_PROGRAM, INVALID_COMPATIBILITY = "0x:?23", "0x:?30"


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 16)

    def forward(self, x, y):
        return self.linear(x).softmax(-1) + y


def model():
    torch.manual_seed(1)
    return Model().eval()


def inputs(batch=3):
    return torch.rand(batch, 8), torch.rand(batch, 16)


@pytest.fixture(scope="module")
def lowered():
    batch = torch.export.Dim("batch", min=1, max=6)
    return harness.lower_exported(torch.export.export(model(), inputs(), dynamic_shapes=({0: batch}, {0: batch})))


@pytest.fixture(scope="module")
def blob(lowered):
    (module,) = lowered.delegates.values()
    return module.processed_bytes


def load(buffer: bytes):
    return harness.load_method(buffer)


def check(method, batch=3):
    given = inputs(batch)
    torch.testing.assert_close(method.execute(given), [model()(*given).detach()])


def replaced(lowered, blob: bytes, damaged: bytes) -> bytes:
    assert len(damaged) == len(blob) and lowered.buffer.count(blob) == 1
    return lowered.buffer.replace(blob, damaged)


def with_feature(blob: bytes, bit: int) -> bytes:
    table = schema_generated.Graph.GetRootAs(blob)._tab
    at = table.Pos + table.Offset(4)
    requires = int.from_bytes(blob[at : at + 8], "little") | 1 << bit
    return blob[:at] + requires.to_bytes(8, "little") + blob[at + 8 :]


@pytest.mark.parametrize(
    ("damage", "code", "reason"),
    [
        (lambda b: bytes(len(b)), INVALID_PROGRAM, "not an et_xnnpack blob"),
        (lambda b: b[:4] + b"ABCD" + b[8:], INVALID_PROGRAM, "not an et_xnnpack blob"),
        (lambda b: b[:4] + b"ETX9" + b[8:], INVALID_COMPATIBILITY, "ETX9"),
        (lambda b: with_feature(b, 63), INVALID_COMPATIBILITY, "feature"),
        (lambda b: b"\xff\xff\xff\x7f" + b[4:], INVALID_PROGRAM, ""),
        (lambda b: re.sub(rb"[0-9a-f](?=[0-9a-f]{63})", b"\xff", b, count=1), INVALID_PROGRAM, "is not UTF-8"),
        (lambda b: re.sub(rb"[0-9a-f](?=[0-9a-f]{63})", b"\0", b, count=1), INVALID_PROGRAM, "is not UTF-8"),
        (lambda b: b[: len(b) // 2] + b"\xff" * (len(b) - len(b) // 2), INVALID_PROGRAM, ""),
    ],
    ids=("zeros", "other_file", "newer_format", "newer_feature", "root", "key", "zero_byte", "second_half"),
)
def test_a_damaged_blob_is_refused(lowered, blob, damage, code, reason, capfd):
    damaged = damage(blob)
    with pytest.raises(ValueError) as refusal:
        et_xnnpack.verify(damaged)
    assert reason in str(refusal.value)
    with pytest.raises(RuntimeError, match=code):
        load(replaced(lowered, blob, damaged))
    assert f"et_xnnpack: cannot load the delegate: {refusal.value}" in capfd.readouterr().err
    check(load(lowered.buffer))


def test_a_missing_weight_is_refused(lowered, capfd):  # Robustness: C6
    (module,) = lowered.delegates.values()
    (key,) = module.named_data_store_output.pte_data
    buffer = lowered.buffer.replace(key.encode(), key[::-1].encode())
    key_in_blob = key.encode() in module.processed_bytes
    assert key_in_blob and buffer != lowered.buffer
    # The name in the program and the one in the blob: change only the former.
    blob = module.processed_bytes
    buffer = buffer.replace(blob.replace(key.encode(), key[::-1].encode()), blob)
    with pytest.raises(RuntimeError, match=INVALID_PROGRAM):
        load(buffer)
    assert f"weight {key} is not in the program" in capfd.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, y: (x,),
        lambda x, y: (x, y, y),
        lambda x, y: (x.double(), y),
        lambda x, y: (x.long(), y),
        lambda x, y: (x, y.bool()),
        lambda x, y: (x.flatten(), y),
        lambda x, y: (x[None], y),
        lambda x, y: (x[:, :7], y),
        lambda x, y: (x, y[:, :15]),
        lambda x, y: (x.repeat(3, 1), y),
        lambda x, y: (1, y),
        lambda x, y: (None, y),
    ],
    ids=(
        "fewer more double long bool lower_rank higher_rank other_size other_size_of_second above_maximum integer none"
    ).split(),
)
def test_a_wrong_call_is_refused_and_the_next_one_works(lowered, wrong):  # Robustness: R1 R2 R3
    method = load(lowered.buffer)
    check(method)
    with pytest.raises(RuntimeError):
        method.execute(wrong(*inputs()))
    for batch in 3, 6, 1:
        check(method, batch)


def test_what_executorch_lets_pass_the_delegate_refuses(lowered, capfd):
    method = load(lowered.buffer)
    x, y = inputs()
    with pytest.raises(RuntimeError):
        method.execute((x, y[:2]))
    assert "et_xnnpack: cannot execute: input 1 of the delegate has sizes [2, 16]" in capfd.readouterr().err
    check(method)


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("num_thread", 1, "did you mean 'num_threads'"),
        ("x" * 100, 1, "there is no option"),
        ("num_threads", 2, "takes 0 to 1, not 2"),
        ("num_threads", True, "takes an integer"),
    ],
)
def test_a_wrong_option_is_refused(name, value, reason):
    before = et_xnnpack.get_option("num_threads")
    with pytest.raises(ValueError, match=reason):
        et_xnnpack.set_option(name, value)
    assert et_xnnpack.get_option("num_threads") == before
    with pytest.raises(ValueError, match="takes an integer"):
        et_xnnpack.set_option("num_threads", "1")
    with pytest.raises(ValueError, match="there is no option"):
        et_xnnpack.get_option("threads")
