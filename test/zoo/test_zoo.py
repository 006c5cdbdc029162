# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The zoo without its packages: the registry, the comparison, the page."""

import multiprocessing
import os
import re
import time
from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from zoo import libraries, run, table
from zoo.compare import compare, scores_of
from zoo.registry import architectures, select

KNOWN = architectures()


def test_there_are_hundreds_of_architectures_of_different_names():
    assert len(KNOWN) >= 200
    assert not [name for name, times in Counter(a.name for a in KNOWN).items() if times > 1]
    assert {a.name.partition("/")[0] for a in KNOWN} >= {
        "transformers",
        "timm",
        "torchvision",
        "torchaudio",
        "diffusers",
    }


def test_most_have_dynamic_sizes():
    assert sum(bool(a.dynamic) for a in KNOWN) > 0.8 * len(KNOWN)
    for architecture in KNOWN:
        sizes = {size.name: size for dims in architecture.dynamic.values() for size in dims.values()}
        assert all(size.largest >= 3 and size.step >= 1 for size in sizes.values()), architecture.name


def test_a_tenth_is_that_of_its_seed():
    tenth = select(KNOWN, None, 3)
    assert len(tenth) == round(len(KNOWN) / 10) and tenth == select(KNOWN, None, 3) != select(KNOWN, None, 4)
    assert [a.name for a in select(KNOWN, "transformers/ber*", None)] == ["transformers/bert"]
    assert select(KNOWN, "nothing of this name", 3) == []


def test_versions_are_pinned():
    lines = [line.partition("#")[0].strip() for line in libraries.REQUIREMENTS.read_text().splitlines()]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines if line) and len(lines) > 5


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(libraries, "_version", lambda name: None if name == "timm" else "0")
    with pytest.raises(RuntimeError, match=r"the zoo needs .*timm==.*: .* --no-deps -r test/zoo/requirements.txt"):
        libraries.prepare.__wrapped__()


def test_differences_are_relative_to_the_largest_number():
    found = compare([torch.tensor([100.0, 1.0])], [torch.tensor([100.0, 1.5])])
    assert found.wrong is None and found.difference == pytest.approx(0.005)


@pytest.mark.parametrize(
    "expected,actual",
    [
        ([torch.zeros(2)], []),
        ([torch.zeros(2)], [torch.zeros(3)]),
        ([torch.zeros(2)], [torch.zeros(2, dtype=torch.int64)]),
        ([torch.tensor([1.0, torch.inf])], [torch.tensor([1.0, -torch.inf])]),
        ([torch.tensor([1.0, torch.nan])], [torch.tensor([1.0, 2.0])]),
        ([torch.tensor([1, 2])], [torch.tensor([1, 3])]),
        ([torch.tensor([True])], [torch.tensor([False])]),
    ],
)
def test_what_is_no_rounding_is_wrong(expected, actual):
    assert compare(expected, actual).wrong


class TopK(torch.nn.Module):
    def forward(self, x):
        values, places = torch.topk(x, 2, dim=1)
        return values, places, x.argmax(1)


def test_places_may_differ_only_where_scores_tie():
    x = torch.tensor([[3.0, 1.0, 3.0, 0.0]])
    program = torch.export.export(TopK(), (x,))
    values, places, best = TopK()(x)
    scores = scores_of(program, (x,))
    tied = compare([values, places, best], [values, places.flip(1), 2 - best], scores)
    assert tied.wrong is None and tied.ties == 3
    other = compare([values, places, best], [values, torch.tensor([[0, 1]]), best], scores)
    wrong = other if places[0, 0] == 0 else compare([places], [torch.tensor([[3, 1]])], lambda _: scores(1))
    assert "scores are" in wrong.wrong
    assert "scores are" in compare([best], [torch.tensor([1])], lambda _: scores(2)).wrong


def test_integers_without_scores_must_be_equal():
    x = torch.arange(4)
    program = torch.export.export(torch.nn.Identity(), (x,))
    assert "1 of 4 integers" in compare([x], [x.clamp(max=2)], scores_of(program, (x,))).wrong


def _record(name, **static):
    static = {
        "delegates": 1,
        "outside": {},
        "reasons": {},
        "difference": 1e-6,
        "seconds": 2.0,
        "own_seconds": 0.5,
        **static,
    }
    return {"name": name, "family": "one", "static": {**static, "official_delegates": 3, "official_outside": 4}}


def test_page_lists_what_was_run_and_why_something_is_outside():
    known = [SimpleNamespace(name=name, family="one") for name in ("a", "b", "c", "d")]
    outside = {"delegates": 2, "outside": {"aten.x": 1}, "reasons": {"aten.x: has no row": 1}}
    records = {
        "a": _record("a"),
        "b": _record("b", **outside),
        "c": {"name": "c", "family": "one", "static": {"export_error": "E: no"}},
    }
    page = table.page(records, known)
    assert "| `a` | one call |  | 1.0e-06 | 2.0, 25% | 3, 4 |" in page
    assert "| `b` | 2 calls, 1 outside |" in page and "- `b`: static, 1 times aten.x: has no row" in page
    assert "- `c`: static, torch.export error: E: no" in page and "`d`" not in page
    assert "Of 4 registered: 3 run, 2 exported, 1 of them one call" in page


def test_large_differences_are_wrong_unless_eager_has_them():
    assert table.is_wrong(_record("a", difference=1e-3))
    assert not table.is_wrong(_record("a", difference=1e-3, eager_difference=1e-3))
    assert table.is_wrong(_record("a", wrong="1 of 4 integers of result 0 differ"))
    assert table.is_wrong({"name": "a", "error": "its process ended with -11"})


def test_cut_off_line_is_left_out(tmp_path):
    path = tmp_path / "zoo.jsonl"
    path.write_text('{"name": "a", "n": 1}\n{"name": "a", "n": 2}\n{"name": "b"')
    assert table.read(path) == {"a": {"name": "a", "n": 2}}


@pytest.mark.parametrize(
    "work,error",
    [
        (lambda *_: os._exit(3), "its process ended with 3"),
        (lambda *_: time.sleep(60), "is not done after 1 s"),
        (lambda *a: a[-1].send({"error": "takes more than 8 GB"}), "takes more than 8 GB"),
    ],
)
def test_process_that_fails_is_a_record(monkeypatch, work, error):
    monkeypatch.setattr(run, "work", work)
    limits = run.Limits(seconds=0.1)
    if "GB" in error or "ended" in error:
        limits = run.Limits()
    record = run.run_one(multiprocessing.get_context("fork"), "transformers/bert", limits)
    assert record["error"] == error and (record["name"], record["family"]) == ("transformers/bert", "encoders")
