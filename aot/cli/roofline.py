# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The steps of a profile beside what the machine can do at most."""

import collections
import dataclasses
import heapq
from collections.abc import Mapping, Sequence

from .program import Method

FARTHEST = 3  #: steps that a summary names


def profile_of(path: str, method: Method, folder: str, roofline: bool, threads: int, **arguments) -> dict:
    """The time of each step of a program, in a process of its own that also measures the limits."""
    from . import profile
    from .worker import Worker

    with Worker() as worker:
        limits = worker.limits(threads) if roofline else None
        events = profile.take(worker, path, method, folder, threads=threads, **arguments)
    related = relate(events, limits)
    return {
        "program": path,
        "threads": threads,
        "limits": limits,
        "events": related,
        "summary": summarize(related) if roofline else None,
    }


def relate(events: Sequence, limits: Mapping[str, float] | None) -> list[dict]:
    """What is known of each event. ``limits`` may have ``step_seconds``, which no step takes less than."""
    total = sum(event.milliseconds for event in events)
    return [_relate_one(event, total, limits) for event in events]


def _relate_one(event, total: float, limits) -> dict:
    result = {
        "name": event.name,
        "delegate_call": event.delegate,
        "nodes": list(event.nodes),
        "ms": event.milliseconds,
        "share": event.milliseconds / total if total else 0.0,
    }
    if event.cost is None:
        return result
    result |= dataclasses.asdict(event.cost) | {"sizes": list(event.sizes)}
    seconds = event.milliseconds / 1000
    if limits is None or seconds <= 0:
        return result
    at_least = {
        "arithmetic": event.cost.flop / limits["flop_per_second"],
        "memory": event.cost.bytes / limits["bytes_read_per_second"],
        "latency": limits.get("step_seconds", 0.0),
    }
    bound_by = max(at_least, key=at_least.get)
    return result | {
        "flop_per_second": event.cost.flop / seconds,
        "bytes_per_second": event.cost.bytes / seconds,
        "limit_ms": 1000 * at_least[bound_by],
        "of_limit": at_least[bound_by] / seconds,
        "bound_by": bound_by,
    }


def summarize(events: Sequence[Mapping]) -> dict | None:
    """The milliseconds that all steps take at the limits, the limit that most of them are spent at, and the steps that
    lose the most time beyond theirs. A step that is faster than its limit counts as it is. None if no step has a limit.
    """
    known = [event for event in events if "of_limit" in event]
    if not known:
        return None
    at_limit = collections.Counter()
    for event in known:
        at_limit[event["bound_by"]] += min(event["limit_ms"], event["ms"])
    return {
        "limit_ms": at_limit.total(),
        "bound_by": at_limit.most_common(1)[0][0],
        "ms_by_limit": dict(at_limit),
        "farthest": heapq.nlargest(FARTHEST, known, key=lambda event: event["ms"] - event["limit_ms"]),
    }
