# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Steps beside limits of a machine that is easy to compute with: 1 GFLOP/s and 1 GB/s."""

import pytest
from executorch.backends.et_xnnpack.aot.cli.profile import Event
from executorch.backends.et_xnnpack.aot.cli.roofline import relate, summarize
from executorch.backends.et_xnnpack.aot.cost import Cost

LIMITS = {"flop_per_second": 1e9, "bytes_read_per_second": 1e9, "step_seconds": 0.001}
EVENTS = [
    Event("0 Conv2d", 0, (0,), 20.0, Cost(10_000_000, 1_000_000), (1, 8, 8, 4)),
    Event("1 Unary", 0, (1,), 4.0, Cost(1_000_000, 3_000_000), (4,)),
    Event("2 Unary", 0, (2,), 2.0, Cost(10, 10), (4,)),
    Event("aten::outside", None, (), 4.0),
]


def test_the_limit_of_a_step_is_what_takes_longest():
    convolution, memory, small, outside = relate(EVENTS, LIMITS)
    assert (convolution["bound_by"], convolution["limit_ms"], convolution["of_limit"]) == ("arithmetic", 10, 0.5)
    assert (memory["bound_by"], memory["limit_ms"], memory["of_limit"]) == ("memory", pytest.approx(3), 0.75)
    assert (small["bound_by"], small["limit_ms"], small["of_limit"]) == ("latency", 1, 0.5)
    assert "of_limit" not in outside and outside["share"] == pytest.approx(4 / 30)


def test_without_limits_there_is_time_and_cost():
    convolution = relate(EVENTS, None)[0]
    assert convolution["flop"] == 10_000_000 and convolution["sizes"] == [1, 8, 8, 4]
    assert "limit_ms" not in convolution


def test_summary_adds_up_and_names_who_loses_most_time():
    summary = summarize(relate(EVENTS, LIMITS))
    assert summary["limit_ms"] == pytest.approx(14)
    assert summary["bound_by"] == "arithmetic"
    assert summary["ms_by_limit"] == pytest.approx({"arithmetic": 10, "memory": 3, "latency": 1})
    assert [event["name"] for event in summary["farthest"]][0] == "0 Conv2d"
    assert len(summary["farthest"]) == 3


def test_a_step_faster_than_its_limit_counts_as_it_is():
    fast = Event("0 Binary", 0, (0,), 1.0, Cost(0, 5_000_000), (4,))
    assert summarize(relate([fast], LIMITS))["limit_ms"] == 1


def test_nothing_known_has_no_summary():
    assert summarize(relate(EVENTS[-1:], LIMITS)) is None
