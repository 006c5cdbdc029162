# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack bench``: programs in turns, profile and roofline. That there are numbers, not which."""

import re

import pytest
import torch
from executorch.backends.et_xnnpack import EtXnnpackPartitioner, _runtime_module
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode
from executorch.exir import to_edge_transform_and_lower
from harness import needs_runtime

pytestmark = needs_runtime


@pytest.fixture(scope="module")
def found(command):
    return command("bench", "full.pte", "changed.pte", "--seconds", "0.05", "--roofline", "--json").json


def test_programs_take_turns(found):
    first, second = found["results"]
    assert (first["program"], second["program"]) == ("full.pte", "changed.pte")
    for row in found["results"]:
        assert row["threads"] == 1
        assert 0 < row["min_ms"] <= row["median_ms"] <= row["p90_ms"]
        assert row["load_ms"] > 0 and row["first_call_ms"] > 0
        assert 0 <= row["peak_bytes"] < 100e6
        assert row["ratio_range"][0] <= row["ratio"] <= row["ratio_range"][1]
    assert first["turns"] == second["turns"] >= 3
    assert first["ratio"] == 1 and first["ratio_range"] == [1, 1]


def test_profile_and_roofline(found):
    profile = found["profiles"][0]
    assert set(profile["limits"]) == {"flop_per_second", "bytes_read_per_second", "bytes_copied_per_second"}
    events = profile["events"]
    assert sum(event["share"] for event in events) == pytest.approx(1)
    assert {event["delegate_call"] for event in events} == {0}
    assert any(len(event["nodes"]) > 1 for event in events)
    linear = next(event for event in events if event["name"].endswith("Linear"))
    assert linear["flop"] == 2 * 8 * 16 * 16
    assert linear["flop_per_second"] == pytest.approx(linear["flop"] / linear["ms"] * 1000)
    assert linear["of_limit"] > 0 and linear["bound_by"] in ("arithmetic", "memory")
    assert linear["limit_ms"] == pytest.approx(linear["of_limit"] * linear["ms"])
    assert linear["sizes"] == [8, 16]
    summary = profile["summary"]
    assert 0 < summary["limit_ms"] <= sum(event["ms"] for event in events)
    assert summary["bound_by"] in summary["ms_by_limit"]
    assert len(summary["farthest"]) == min(3, sum("of_limit" in event for event in events))


def test_the_same_for_people_with_operators_outside(command):
    words = ["--seconds", "0.05", "--profile", "--threads", "1,2", "--top", "3"]
    printed = command("bench", "outside.pte", *words).out
    assert "outside.pte, 1 thread\n" in printed and "outside.pte, 2 threads\n" in printed
    assert "more operators (--top 0)" in printed


def test_roofline_for_people(command):
    printed = command("bench", "full.pte", "--seconds", "0.05", "--roofline").out
    assert "% of the limits, most of all of" in printed and "farthest from theirs: " in printed


def test_what_is_wrong(command):
    error = command("bench", "full.pte", "official.pte", code=ExitCode.UNREADABLE).err
    assert "official.pte: takes other inputs than full.pte" in error
    error = command("bench", "full.pte", "--option", "num_thread=1", code=ExitCode.USAGE).err
    assert "did you mean 'num_threads'" in error


def test_where_the_room_of_a_state_ends_a_program_is_loaded_anew(command):
    found = command("bench", "three_calls.pte", "--seconds", "0.05", "--profile", "--json").json
    assert found["results"][0]["calls"] > 3
    assert any(event["name"].endswith("IndexPut") for event in found["profiles"][0]["events"])


def test_a_second_call_that_always_fails(command, models, folder):
    module, inputs = models.three_calls()
    module.rows = torch.zeros(1, 4)
    edge = to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=[EtXnnpackPartitioner()])
    (folder / "one_call.pte").write_bytes(edge.to_executorch().buffer)
    error = command("bench", "one_call.pte", "--seconds", "0.05", code=ExitCode.FAILED).err
    assert re.search(r"Error: one_call\.pte: method forward fails: .*index 1 is out of range", error), error


def test_a_call_that_fails_wherever_it_is(command):
    error = command("bench", "full.pte", "--high", 7, "--seconds", "0.05", code=ExitCode.FAILED).err
    assert re.search(r"Error: full\.pte: method forward fails: .*out of range", error), error


def test_channels_last_and_contiguous_programs_are_compared(command):
    found = command("bench", "channels_last.pte", "contiguous.pte", "--seconds", "0.05", "--json").json
    assert len(found["results"]) == 2


def test_calls_that_run_different_steps(command, models, folder):
    exported = torch.export.export(*models.grows())
    edge = to_edge_transform_and_lower(exported, partitioner=[EtXnnpackPartitioner()])
    (folder / "grows.pte").write_bytes(edge.to_executorch().buffer)
    events = command("bench", "grows.pte", "--seconds", "0.05", "--profile", "--json").json["profiles"][0]["events"]
    names = [event["name"] for event in events]
    assert {event["delegate_call"] for event in events} == {0} and len(set(names)) == len(names)
    (delegate,) = command("inspect", "grows.pte", "--profile", "--json").json["methods"]["forward"]["delegates"]
    times = {node["node"].split()[1]: node["ms"] for node in delegate["nodes"]}
    assert times["Linear"] > 0 and times["Softmax"] > 0


def test_limits_of_the_machine():
    one = _runtime_module().limits(1)
    assert one["flop_per_second"] > 1e8
    assert 1e8 < one["bytes_read_per_second"] < 1e13
    assert 1e8 < one["bytes_copied_per_second"] < 1e13
