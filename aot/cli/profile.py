# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The time of each operator, from an ETDump."""

import collections
import dataclasses
import re
import statistics
from collections.abc import Sequence
from pathlib import Path

from ..cost import Cost
from .blob import Blob
from .program import Method
from .tensors import load

CALLS = 20  #: of which the median is taken

_FRAMES = ("DELEGATE_CALL", "OPERATOR_CALL", "Method::execute", "Program::load_method", "Method::init")


@dataclasses.dataclass(frozen=True)
class Event:
    """One operator, inside of a delegate or not."""

    name: str  #: "12 Conv2d", or an operator of ExecuTorch
    delegate: int | None  #: the delegate call that it is in, in the order of calls
    nodes: tuple[int, ...]  #: of ours: those that one pass computes
    milliseconds: float  #: the median
    cost: Cost | None = None
    sizes: tuple[int, ...] = ()  #: of its last result, where ``cost`` is known


def take(worker, path: str, method: Method, folder: str, **arguments) -> list[Event]:
    """Runs a method in a ``Worker`` with ExecuTorch's event tracer, whose file is written to ``folder``."""
    worker.load(path, method.name, operators=list(method.operators), etdump=True, **arguments)
    etdump = str(Path(folder, "etdump"))
    worker.profile(CALLS, etdump)
    return read(etdump, method, [tuple(x.shape) if hasattr(x, "shape") else None for x in load(arguments["inputs"])])


def read(path: str, method: Method, shapes: Sequence[tuple[int, ...] | None]) -> list[Event]:
    """Those of a method in their order, with costs of a call with inputs of these shapes where the delegate is ours."""
    from executorch.devtools import Inspector

    inspector = Inspector(etdump_path=path)
    blocks = [_of_block(block) for block in inspector.event_blocks if block.name == "Execute"]
    blobs = method.blobs_of_calls(shapes)
    return [_with_cost(event, blobs) for event in _merged(blocks)]


def _of_block(block) -> list[tuple[Event, list[float]]]:
    """The events of calls that all ran the same steps, with the milliseconds of each call."""
    events: list[tuple[Event, list[float]]] = []
    inside: list[tuple[Event, list[float]]] = []
    call = 0
    for event in block.events:
        raw = list(event.perf_data.raw) if event.perf_data else []
        if event.is_delegated_op:
            inside.append((Event(event.name, None, _nodes(event), 0.0), raw))
        elif event.name == "DELEGATE_CALL":
            calls = inside or [(Event(f"all of delegate call {call}", None, (), 0.0), raw)]
            events += [(dataclasses.replace(e, delegate=call), raw) for e, raw in calls]
            inside, call = [], call + 1
        elif event.name not in _FRAMES:
            events.append((Event(event.name.removeprefix("native_call_"), None, (), 0.0), raw))
    return events


def _merged(blocks: Sequence[list[tuple[Event, list[float]]]]) -> list[Event]:
    """Of blocks, which the Inspector makes where calls run different steps, each step once, after the one before it."""
    order: list[tuple] = []
    found: dict[tuple, tuple[Event, list[float]]] = {}
    for block in blocks:
        counts: collections.Counter = collections.Counter()
        at = 0
        for event, raw in block:
            step = (event.delegate, event.name)
            key = (*step, counts[step])
            counts[step] += 1
            if key not in found:
                order.insert(at, key)
                found[key] = (event, [])
            found[key][1].extend(raw)
            at = order.index(key) + 1
    return [
        dataclasses.replace(event, milliseconds=statistics.median(raw) if raw else 0.0)
        for event, raw in map(found.__getitem__, order)
    ]


def node_times(events: Sequence[Event], method: Method) -> dict[tuple[int, int], float]:
    """Milliseconds by delegate and node, of a node in a pass those of the pass."""
    calls = [i.delegate for i in method.instructions if i.kind == "delegate"]
    found: dict[tuple[int, int], float] = collections.defaultdict(float)
    for event in events:
        for node in event.nodes if event.delegate is not None and event.delegate < len(calls) else ():
            found[calls[event.delegate], node] += event.milliseconds
    return dict(found)


def _nodes(event) -> tuple[int, ...]:
    """``12 Conv2d``, with the others of a pass in the metadata: ``with 13 Unary, 14 Binary``."""
    texts = [event.name]
    for data in event.delegate_debug_metadatas or []:
        text = data.decode(errors="replace") if isinstance(data, bytes) else str(data)
        if text.startswith("with "):
            texts += text.removeprefix("with ").split(", ")
            break
    matches = (re.match(r"(\d+) \w+$", text) for text in texts)
    return tuple(int(match[1]) for match in matches if match)


def _with_cost(event: Event, blobs: Sequence[Blob | None]) -> Event:
    """``blobs``: those of the delegate calls."""
    if event.delegate is None or not event.nodes or event.delegate >= len(blobs):
        return event
    blob = blobs[event.delegate]
    if blob is None or max(event.nodes) >= len(blob.nodes):
        return event
    result = blob.values[blob.nodes[event.nodes[-1]].outputs[0]]
    return dataclasses.replace(event, cost=blob.cost_together(event.nodes), sizes=result.sizes)
