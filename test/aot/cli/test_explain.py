# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack explain``: what is delegated, what not, why, where, at what cost, and what would help."""

from pathlib import Path

import pytest
from executorch.backends.et_xnnpack.aot import ops
from executorch.backends.et_xnnpack.aot.cli.advice import advice
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode

ROOT = Path(__file__).resolve().parents[3]


def test_what_is_refused_and_where(command, folder):
    found = command("explain", "model.py:mean", "--json").json["methods"]["forward"]
    (refused,) = found["outside"]
    lines = (folder / "model.py").read_text().splitlines()
    source = refused.pop("source")
    assert (
        lines[source["line"] - 1].strip()
        == source["code"]
        == ("return torch.zeros(2, 4).scatter_reduce(0, cluster, y, self.reduction)")
    )
    assert Path(source["file"]) == folder / "model.py"
    assert refused == {
        "node": "aten_scatter_reduce_two",
        "target": "aten.scatter_reduce.two",
        "reason": "the reduction mean is not supported",
        "advice": "use sum, prod, amax or amin; a mean is a sum divided by the number of elements",
        "module": "",
        "flop": 24,
        "bytes": 4 * 8 + 8 * 24 + 4 * 24 + 4 * 8,
    }
    (call,) = found["calls"]
    assert call["operators"]["aten.linear.default"] == 3
    assert found["flop"]["all"] == call["flop"] + 24 and found["flop"]["outside"] == 24
    assert not found["is_full"]


def test_the_same_for_people(command):
    printed = command("explain", "model.py:mean").out
    assert "forward: 11 nodes in 1 delegate call, 1 outside" in printed
    assert "outside: 1 x aten.scatter_reduce.two\n  why:   the reduction mean is not supported\n" in printed
    assert "\n  mend:  use sum, prod, amax or amin" in printed
    assert "  at:    the model itself, model.py:" in printed
    assert "a model may print" not in printed


def test_places_have_modules_and_lines(command, folder):
    found = command("explain", "model.py:full", "--block-operator", "aten.gelu", "--json").json["methods"]["forward"]
    assert [refused["module"] for refused in found["outside"]] == ["blocks.0", "blocks.1"]
    assert {refused["source"]["code"] for refused in found["outside"]} == {"y = nn.functional.gelu(self.linear(x))"}
    assert {refused["reason"] for refused in found["outside"]} == {"its operator is in block_operators"}
    assert len(found["calls"]) == 3 and found["calls"][1]["waits_for"] == ["aten_gelu_default"]


def test_require_full(command):
    assert "12 nodes in 1 delegate call, 0 outside" in command("explain", "model.py:full", "--require-full").out
    command("explain", "model.py:mean", "--require-full", code=ExitCode.NO)


def test_an_exported_program_and_several_methods(command):
    assert command("explain", "full.pt2", "--json").json["methods"]["forward"]["is_full"]
    found = command("explain", "model.py:several", "--json").json["methods"]
    assert sorted(found) == ["decode", "encode"]


def test_a_file_without_a_suffix(command, folder):
    (folder / "script").write_text((folder / "model.py").read_text())
    assert command("explain", "script:full", "--json").json["methods"]["forward"]["is_full"]


@pytest.mark.parametrize(
    "model, message",
    [
        ("nothing.pt2", "nothing.pt2: there is no such file"),
        ("model.py", "takes a .pt2 file, or MODULE:FUNCTION"),
        ("other.py:make", "other.py: there is no such file"),
        ("no_such_module:make", "there is no module 'no_such_module' here"),
        ("model.py:make", "has no function 'make'"),
        ("model.py:text", "has no function 'text'"),
        ("model.py:fails", "model.py:fails failed: ValueError: no weights (model.py, line "),
        ("model.py:nothing", "returned NoneType, not (module, inputs) or an exported program"),
        ("model.py:branches", "torch.export.export failed: "),
        ("model.py:branches", " (model.py, line "),
        ("full.pte", "full.pte: is a program, which is lowered already"),
        ("text.pt2", "text.pt2: is no exported program"),
        ("text.pte:make", "importing text.pte failed: SyntaxError"),
        ("broken.py:make", "importing broken.py failed: SyntaxError"),
    ],
)
def test_what_cannot_be_read(command, folder, model, message):
    (folder / "text.pt2").write_text("no program")
    (folder / "broken.py").write_text("def make(:\n")
    assert message in command("explain", model, code=ExitCode.UNREADABLE).err


def test_an_option_that_names_nothing(command):
    error = command("explain", "full.pt2", "--block-operator", "aten.gelo", code=ExitCode.UNREADABLE).err
    assert "did you mean 'aten.gelu'" in error
    assert "'blocks.7'" in command("explain", "full.pt2", "--block-module", "blocks.7").out


def test_every_reason_has_advice(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    from support_table import refusals

    reasons = {reason for row in ops.ROWS.values() for reason in refusals(row.lower)}
    assert len(reasons) > 50
    assert sorted(reason for reason in reasons if advice(reason) is None) == []
