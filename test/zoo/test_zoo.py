# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The zoo without its packages: the registry, the comparison, the page."""

import json
import multiprocessing
import os
import re
import time
from collections import Counter
from types import SimpleNamespace

import pytest
import torch

from zoo import choices, libraries, measure, run, table
from zoo.compare import compare
from zoo.modules import vary
from zoo.registry import PARTS, architectures, in_turns, select

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
    tenth = select(KNOWN, tenth=3)
    assert len(tenth) == round(len(KNOWN) / 10) and tenth == select(KNOWN, tenth=3) != select(KNOWN, tenth=4)
    assert [a.name for a in select(KNOWN, ["transformers/ber*"])] == ["transformers/bert"]
    assert [a.name for a in select(KNOWN, ["hdemucs", "coat_tiny"])] == ["timm/coat_tiny", "torchaudio/hdemucs"]
    assert select(KNOWN, ["nothing of this name"], 3) == []


def test_each_family_is_among_the_first():
    order, families = in_turns(KNOWN), {a.family for a in KNOWN}
    assert {a.family for a in order[: len(families)]} == families
    assert sorted(a.name for a in order) == sorted(a.name for a in KNOWN)


def test_versions_are_pinned():
    lines = [line.partition("#")[0].strip() for line in libraries.REQUIREMENTS.read_text().splitlines()]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines if line) and len(lines) > 5


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setattr(libraries, "_version", lambda name: None if name == "timm" else "0")
    with pytest.raises(RuntimeError, match=r"the zoo needs .*timm==.*: .* --no-deps -r test/zoo/requirements.txt"):
        libraries.require()


def test_differences_are_relative_to_the_largest_number():
    found = compare([torch.tensor([100.0, 1.0])], [torch.tensor([100.0, 1.5])])
    assert found.wrong is None and found.difference == pytest.approx(0.005)


def test_masks_do_not_hide_differences():
    lowest = torch.finfo(torch.float32).min
    found = compare([torch.tensor([lowest, 1.0, 2.0])], [torch.tensor([lowest, 1.0, 2.5])])
    assert found.wrong is None and found.difference == pytest.approx(0.25)
    large = compare([torch.tensor([1e6, 1.0])], [torch.tensor([1e6 + 1, 1.0])])
    assert large.difference == pytest.approx(1e-6)
    assert compare([torch.tensor([lowest])], [torch.tensor([lowest])]).difference == 0


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


def test_weights_that_begin_as_one_number_get_others():
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.LayerNorm(3), torch.nn.BatchNorm1d(3)).eval()
    torch.nn.init.zeros_(module[0].bias)
    weight = module[0].weight.clone()
    vary(module)
    assert torch.equal(module[0].weight, weight)
    norm, batch_norm = module[1], module[2]
    for tensor in (module[0].bias, norm.weight, norm.bias, batch_norm.running_mean, batch_norm.running_var):
        assert tensor.unique().numel() == 3
    assert (batch_norm.running_var > 0.5).all()


class Best(torch.nn.Module):
    """Everything that it returns depends on what topk and argmax pick."""

    def forward(self, x, rows):
        scores = x.sin()
        values, places = torch.topk(scores, 2, dim=1)
        return values, places, rows[places], rows[scores.argmax(1)]


def _explained(x, scores, change=lambda results: None):
    """A delegate that finds ``scores``, which may differ from those of eager PyTorch for ``x``."""
    rows = torch.arange(8.0).reshape(4, 2)
    program = torch.export.export(Best(), (x, rows))
    values, places = torch.topk(scores, 2, dim=1)
    best = scores.argmax(1)
    results = [values, places, rows[places], rows[best], scores, places, scores, best]
    change(results)
    return choices.explain(program, (x, rows), results[:4], lambda _: results)[0]


def test_near_ties_inside_of_a_program_are_recognized():
    x = torch.tensor([[1.0, 0.1, 1.0, 0.2]])
    other = x.sin() + torch.tensor([[0.0, 0.0, 1e-7, 0.0]])
    found = _explained(x, other)
    assert other.argmax(1) == 2 and x.sin().argmax(1) == 0
    assert found.wrong is None and found.ties == 3 and found.difference < 1e-6


def test_what_is_no_near_tie_is_wrong():
    x = torch.tensor([[1.0, 0.1, 0.99, 0.2]])
    assert _explained(x, x.sin()).wrong is None
    # Other scores, and what is in fact best of them.
    assert _explained(x, x.sin().flip(1)).difference > 0.1
    # The scores of eager PyTorch, and a place that is not best of them.
    assert "argmax: 1 places that are not those of its scores" in _explained(x, x.sin(), lambda r: r[7].fill_(2)).wrong
    # A place that is as good, and a result that is not of it.
    x = torch.tensor([[1.0, 0.1, 1.0, 0.2]])
    assert _explained(x, x.sin(), lambda r: r[7].fill_(2)).difference > 0.1


@pytest.mark.parametrize(
    "scores,expected,actual,wrong",
    [
        ([2.0, 2.0, 1.0], [0, 1], [1, 0], None),
        ([2.0, 2.0 - 1e-6, 1.0], [0, 1], [1, 0], "2 places that are not those"),
        ([-torch.inf, -torch.inf, 1.0], [2, 0], [2, 1], None),
        ([1.0, torch.nan, torch.nan], [1, 0], [2, 0], None),
        ([1.0, torch.nan, 2.0], [1, 2], [0, 2], "1 places that are not those"),
        # Each score as good as it, and yet not what topk returns.
        ([2.0, 2.0, 1.0], [0, 1], [0, 0], "twice"),
        ([2.0, 2.0, 1.0], [0, 1], [0, 3], "none"),
        ([2.0, 2.0, 1.0], [0, 1], [-1, 1], "none"),
        ([2.0, 2.0, 1.0], [0, 1], [0], "shape"),
    ],
)
def test_places_are_those_of_scores_as_good(scores, expected, actual, wrong):
    for axis, shape in ((0, (3, 1)), (1, (1, 3)), (-1, (1, 3))):
        e, a = (torch.tensor(t).reshape([-1 if n == 3 else 1 for n in shape]) for t in (expected, actual))
        found = choices.wrong_places(torch.tensor(scores).reshape(shape), axis, e, a)
        assert found is None if wrong is None else wrong in found
    one = choices.wrong_places(torch.tensor(scores), None, torch.tensor(expected[0]), torch.tensor(actual[0]))
    assert one is None or wrong is not None


@pytest.mark.parametrize(
    "function,count",
    [
        (lambda x: x.argmax(), 1),
        (lambda x: x.argmin(1, keepdim=True), 1),
        (lambda x: x.argsort(0), 1),
        (lambda x: x.sort(descending=True)[1], 1),
        (lambda x: torch.sort(x, stable=True, dim=0), 1),
        (lambda x: x.max(1)[1], 1),
        (lambda x: x.min(0, keepdim=True), 1),
        (lambda x: x.kthvalue(2, 1), 1),
        (lambda x: x.median(1), 1),
        # Values alone do not jump.
        (lambda x: x.max(1)[0] + x.max() + x.sort()[0].sum(), 0),
    ],
)
def test_what_picks_is_found_and_given(function, count):
    class Module(torch.nn.Module):
        def forward(self, x):
            found = function(x * 2)
            return tuple(found) if isinstance(found, tuple) else (found,)

    x = torch.randn(3, 4)
    program = torch.export.export(Module(), (x,))
    assert len(choices.choices_of(program)) == count
    watched = choices.watched(program).module()
    found, _ = choices.explain(program, (x,), Module()(x), lambda inputs: watched(*inputs))
    assert found.wrong is None and found.ties == 0 and found.difference == 0


def test_watched_program_of_the_delegate_picks_what_eager_does(monkeypatch):
    """Also where an input is called like a builtin, and where what picks is written over."""

    class Module(torch.nn.Module):
        def forward(self, input, rows):
            scores = input * 2
            best = scores.argmax(1)
            scores.mul_(0)
            return rows[best] + scores.sum()

    inputs = torch.randn(3, 4), torch.randn(4, 2)
    program = torch.export.export(Module(), inputs)
    found, of_eager = measure._Watched(program).explain(inputs, [Module()(*inputs)])
    assert found.wrong is None and found.ties == 0 and found.difference < 1e-6 and of_eager < 1e-6


def test_programs_are_lowered_whatever_their_inputs_are_called():
    class Module(torch.nn.Module):
        def forward(self, input):
            return input + 1

    found = {}
    measure._lower(torch.export.export(Module(), (torch.zeros(2),)), found)
    assert found["delegates"] == 1 and "default_config_error" not in found


class _Guarded(torch.nn.Module):
    """torch.export takes the branch of the example for all sizes, and notes it as a guard."""

    def forward(self, x):
        return x * 2 if x.shape[0] // 4 + x.shape[0] % 8 > 2 else x[:2] - 1


def test_sizes_that_the_exported_program_excludes_are_no_difference():
    module, inputs = _Guarded(), (torch.rand(8, 3),)
    sizes = ({0: torch.export.Dim.DYNAMIC(min=2, max=16)},)
    program, found = torch.export.export(module, inputs, dynamic_shapes=sizes), {}
    buffer, watched = measure._lower(program, {}), measure._Watched(program)
    assert measure._compare(module, watched, buffer, inputs, found)
    assert not measure._compare(module, watched, buffer, (torch.rand(4, 3),), found)
    assert "Guard failed" in found["guard_error"] and found["difference"] == 0
    assert measure._compare(lambda x: module(x) + 1, watched, buffer, inputs, found)
    assert found["difference"] > 0.1


def _record(name, **static):
    static = {
        "delegates": 1,
        "outside": {},
        "reasons": {},
        "difference": 1e-6,
        "seconds": 2.0,
        "own_seconds": 0.5,
        "processor_seconds": 40,
        **static,
    }
    return {"name": name, "family": "one", "static": static, "official": {"delegates": 3, "outside": 4}}


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
    assert "- `c`: static, torch.export: E: no" in page and "Not run yet: `d`." in page
    assert "Of 4 registered: 3 run, 2 exported, 1 of them one call" in page


def test_page_says_what_large_differences_stand_beside():
    known = [SimpleNamespace(name="a", family="one")]
    page = table.page({"a": _record("a", difference=1e-3, eager_difference=2e-3)}, known)
    assert "- `a`: static: differs by 1.0e-03, eager PyTorch from its results in float64 by 2.0e-03" in page
    assert "0 differ from eager PyTorch" in page


def test_large_differences_are_wrong_unless_eager_has_them():
    assert table.is_wrong(_record("a", difference=1e-3))
    assert not table.is_wrong(_record("a", difference=1e-3, eager_difference=1e-3))
    assert table.is_wrong(_record("a", wrong="1 of 4 integers of result 0 differ"))
    assert table.is_wrong({"name": "a", "static": {"error": "its process ended with -11"}})
    assert table.is_wrong(_record("a", difference=5e-5, eager_difference=1e-6))
    assert not table.is_wrong(_record("a", difference=5e-5))
    assert not table.is_wrong(_record("a", eager_error="E: no"))


def test_what_executorch_does_not_lower_by_itself_is_no_error_of_ours():
    ours = {"name": "a", "family": "one", "static": {"lowering_error": "E: no", "processor_seconds": 1}}
    theirs = {**ours, "static": {**ours["static"], "executorch_error": "E: no"}}
    assert table.is_wrong(ours) and not table.is_wrong(theirs)
    page = table.page({"a": theirs}, [SimpleNamespace(name="a", family="one")])
    assert "| `a` | not lowered |" in page and "ExecuTorch without a delegate: E: no" in page


def test_results_are_kept_once_and_in_order(tmp_path):
    path, known = tmp_path / "results.jsonl", [SimpleNamespace(name=name, family="one") for name in ("a", "b")]
    path.write_text("".join(json.dumps(_record(name, bytes=n)) + "\n" for n, name in enumerate("bacb")))
    records = table.read(path)
    table.write(path, records, known)
    assert [json.loads(line)["name"] for line in path.read_text().splitlines()] == ["a", "b"]
    assert table.read(path)["b"]["static"]["bytes"] == 3


def test_page_is_that_of_the_results():
    assert run.PAGE.read_text() == table.page(table.read(run.RESULTS), KNOWN)


def test_check_takes_what_was_right_and_says_what_is_worse():
    known = [SimpleNamespace(name=name) for name in "abcd"]
    records = {name: _record(name) for name in "abc"}
    records["b"]["static"]["wrong"] = "1 of 4 integers of result 0 differ"
    assert sorted(a.name for a in table.affordable(records, known, "x", 100)) == ["a", "c"]
    assert len(table.affordable(records, known, "x", 79)) == 1
    records["a"]["dynamic"] = {**records["a"]["static"], "processor_seconds": 70}
    assert [a.name for a in table.affordable(records, known, "x", 100)] == ["c"]
    assert table.worse(_record("a"), _record("a", difference=2e-6)) == []
    assert "one call" in table.worse(_record("a"), _record("a", delegates=2))[0]
    assert "wrong result" in table.worse(_record("a", delegates=2), _record("a", delegates=2, wrong="wrong result"))[0]
    assert table.worse(_record("a", delegates=2), _record("a", delegates=1)) == []
    failed = {"name": "a", "static": {"error": "its process ended with -6"}}
    assert table.worse(_record("a"), failed)[0].endswith("error: its process ended with -6")
    assert table.worse(_record("a"), {"name": "a", "static": {"build_error": "E: another version"}}) == []
    static = {"name": "a", "static": {"export_error": "E: no"}}
    assert "E: no" in table.worse(_record("a"), static)[0] and table.worse(static, _record("a")) == []


def test_cut_off_line_is_left_out(tmp_path):
    path = tmp_path / "zoo.jsonl"
    path.write_text('{"name": "a", "n": 1}\n{"name": "a", "n": 2}\n{"name": "b"')
    assert table.read(path) == {"a": {"name": "a", "n": 2}}


def _busy(*_):
    until = time.process_time() + 1.2
    while time.process_time() < until:
        pass
    _[-1].send({"error": "worked"})


@pytest.mark.parametrize(
    "work,error",
    [
        (lambda *_: os._exit(3), "its process ended with 3"),
        (lambda *_: time.sleep(60), "it waits for something"),
        (_busy, "worked"),
        (lambda *a: a[-1].send({"error": "it takes more than 8 GB"}), "it takes more than 8 GB"),
    ],
)
def test_process_that_fails_is_a_record(monkeypatch, work, error):
    monkeypatch.setattr(run, "work", work)
    context = multiprocessing.get_context("fork")
    found = run.run_part(context, "transformers/bert", "static", run.Limits(idle=1 if "waits" in error else 5))
    assert found["error"] == error


def test_parts_are_added_to_those_that_are_known(monkeypatch):
    bert, hdemucs = (next(a for a in KNOWN if a.name == name) for name in ("transformers/bert", "torchaudio/hdemucs"))
    asked = []

    def run_part(context, name, part, limits):
        asked.append(part)
        return {"delegates": 1, "part": part}

    monkeypatch.setattr(run, "run_part", run_part)
    record = run.run_parts(None, bert, run.Limits(), ["static"], {})
    assert table.missing({}, bert, PARTS) == [*PARTS] and table.missing(record, bert, PARTS) == ["dynamic", "official"]
    record = run.run_parts(None, bert, run.Limits(), table.missing(record, bert, PARTS), record)
    assert asked == [*PARTS] and set(record) == {"name", "family", *PARTS}
    assert table.missing(record, bert, PARTS) == []
    assert set(run.run_parts(None, hdemucs, run.Limits(), PARTS, {})) == {"name", "family", "static", "official"}

    # Without a program there is nothing else, and what was known of it counts no more.
    monkeypatch.setattr(run, "run_part", lambda *_: {"export_error": "E: no"})
    record = run.run_parts(None, bert, run.Limits(), ["static"], record)
    assert set(record) == {"name", "family", "static"} and table.missing(record, bert, PARTS) == []
