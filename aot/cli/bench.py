# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack bench``"""

import contextlib
import statistics
import tempfile
from pathlib import Path

import click

from .errors import unreadable
from .execute import data_option, option_option
from .output import count, emit, flop, heading, json_option, say, size, table
from .run import input_options, inputs_of

_TURN_MS = 40  # that a program has before the next one takes its turn


def parse_threads(ctx, param, text: str) -> tuple[int, ...]:
    found = []
    for word in text.split(","):
        if not word.isdecimal() or not 1 <= int(word) <= 1024:
            raise click.BadParameter(f"takes numbers from 1 to 1024 such as 1,2, not {text!r}")
        found.append(int(word))
    return tuple(dict.fromkeys(found))


@click.command(short_help="Measures programs, in turns: latency, load time, memory, profile, roofline.")
@click.argument("programs", metavar="MODEL.pte [OTHER.pte]...", nargs=-1, required=True)
@click.option("--method", "method_name", help="The method; else forward, or the only one.")
@click.option("--threads", default="1", show_default=True, callback=parse_threads, help="Numbers of threads, as 1,2,4.")
@click.option("--seconds", default=2.0, show_default=True, type=click.FloatRange(0.05), help="For each program.")
@click.option("--profile", is_flag=True, help="The time of each operator.")
@click.option("--roofline", is_flag=True, help="The same beside what the machine can do at most.")
@click.option("--top", default=20, show_default=True, help="Operators of a profile that are listed; 0: all.")
@input_options
@option_option
@data_option
@json_option
def bench(
    programs, method_name, threads, seconds, profile, roofline, top, files, seed, high, shapes, options, data_path,
    as_json,
):  # fmt: skip
    """Measures the latency of one method: median, 90th percentile and minimum, load time, and the memory that
    loading and the first call take at most. Each program has a process of its own.

    Several programs take turns, a few calls each, in an order that rotates: whatever else the machine does meets
    all of them. The ratio of a program is its median in a turn over that of the first program in the same turn; it
    is the median of these, and the range holds the middle 80 % of them.

    --roofline relates arithmetic and memory traffic of each step, estimated from the sizes, to the limits that it
    measures first: multiply-adds of float32, and memory beyond the caches. What lies in a cache can be faster than
    memory, and integers faster than float32: then it is more than 100 %. The line below says where the most time
    could be won.
    """
    from ..progress import step, work
    from . import program as reader
    from . import tensors
    from .roofline import profile_of

    found = [(path, reader.read(path, options).method(method_name)) for path in programs]
    for path, method in found:
        if method.input_types != found[0][1].input_types:
            unreadable(f"{path}: takes other inputs than {programs[0]}: they cannot be compared")
    inputs = inputs_of(found[0][1], files, shapes, high, seed)
    results, profiles = [], []
    with tempfile.TemporaryDirectory() as folder:
        import torch

        arguments = {"options": options, "data": data_path}
        takes = [str(Path(folder, f"inputs_{k}.pt")) for k in range(len(found))]
        for file, (_, method) in zip(takes, found, strict=True):
            torch.save(tensors.laid_out(method, inputs), file)
        with work("et-xnnpack bench"):
            for number in threads:
                results += _measure(found, takes, number, seconds, arguments)
                if profile or roofline:
                    step(f"{count(number, 'thread')}: {'limits and times' if roofline else 'times'} of each operator")
                    profiles += [
                        profile_of(path, method, folder, roofline, threads=number, inputs=file, **arguments)
                        for file, (path, method) in zip(takes, found, strict=True)
                    ]
    data = {"method": found[0][1].name, "results": results, "profiles": profiles}
    emit(as_json, data, lambda: _print(data, top))


def _measure(found, takes: list[str], threads: int, seconds: float, arguments) -> list[dict]:
    """``takes``: the files with the inputs of each."""
    from ..progress import step
    from .worker import Worker

    with contextlib.ExitStack() as stack:
        step(f"{count(threads, 'thread')}: loading")
        workers = [stack.enter_context(Worker()) for _ in found]
        loads = [
            worker.load(path, method.name, file, threads=threads, operators=list(method.operators), **arguments)
            for worker, file, (path, method) in zip(workers, takes, found, strict=True)
        ]
        calls = []
        for worker in workers:
            once = statistics.median(worker.time(3))
            calls.append(max(1, min(1000, round(_TURN_MS / max(once, 1e-4)))))
        turns: list[list[list[float]]] = [[] for _ in workers]
        spent, order = 0.0, list(range(len(workers)))
        while spent < 1000 * seconds or len(turns[0]) < 3:
            step(f"{count(threads, 'thread')}: {spent / 1000:.1f} of {seconds:g} s for each program")
            for i in order:
                turns[i].append(workers[i].time(calls[i]))
            spent += max(sum(turn[-1]) for turn in turns)
            order.append(order.pop(0))
    base = [statistics.median(turn) for turn in turns[0]]
    results = []
    for (path, _), load, turn in zip(found, loads, turns, strict=True):
        times = sorted(ms for one in turn for ms in one)
        ratios = sorted(statistics.median(one) / b for one, b in zip(turn, base, strict=True))
        results.append(
            {
                "program": path,
                "threads": threads,
                "median_ms": statistics.median(times),
                "p90_ms": _quantile(times, 0.9),
                "min_ms": times[0],
                "calls": len(times),
                "turns": len(turn),
                "ratio": statistics.median(ratios),
                "ratio_range": [_quantile(ratios, 0.1), _quantile(ratios, 0.9)],
                **load,
            }
        )
    return results


def _quantile(ordered: list[float], part: float) -> float:
    return ordered[min(len(ordered) - 1, round(part * (len(ordered) - 1)))]


def _print(data, top: int) -> None:
    heading(f"method {data['method']}")
    several = len({row["program"] for row in data["results"]}) > 1
    columns = ["program", ">threads", ">median ms", ">p90", ">min", ">load ms", ">first call ms", ">memory"]
    rows = []
    for row in data["results"]:
        cells = [row["program"], row["threads"], *(f"{row[key]:.3f}" for key in ("median_ms", "p90_ms", "min_ms"))]
        cells += [f"{row['load_ms']:.1f}", f"{row['first_call_ms']:.1f}", size(row["peak_bytes"])]
        if several:
            low, high = row["ratio_range"]
            cells.append(f"{row['ratio']:.3f} ({low:.2f} to {high:.2f})")
        rows.append(cells)
    table([*columns, ">ratio"] if several else columns, rows)
    for profile in data["profiles"]:
        _print_profile(profile, top)


def _print_profile(profile, top: int) -> None:
    say()
    heading(f"{profile['program']}, {count(profile['threads'], 'thread')}")
    limits, events = profile["limits"], profile["events"]
    if limits:
        say(
            f"  limits: {flop(limits['flop_per_second'])}/s, {size(limits['bytes_read_per_second'])}/s read, "
            f"{size(limits['bytes_copied_per_second'])}/s copied"
        )
    chosen = sorted(events, key=lambda e: -e["ms"])[: top or None]
    rows = []
    for event in chosen:
        call = "" if event["delegate_call"] is None else event["delegate_call"]
        name = event["name"] + (f" and {len(event['nodes']) - 1} more" if len(event["nodes"]) > 1 else "")
        cells = [name, call, f"{event['ms']:.4f}", f"{100 * event['share']:.1f} %"]
        if limits:
            known = "of_limit" in event
            cells += (
                [
                    f"{flop(event['flop_per_second'])}/s",
                    f"{size(event['bytes_per_second'])}/s",
                    f"{100 * event['of_limit']:.0f} % of {event['bound_by']}",
                ]
                if known
                else ["", "", ""]
            )
        rows.append(cells)
    columns = ["operator", ">call", ">ms", ">share"] + ([">arithmetic", ">traffic", ">limit"] if limits else [])
    table(columns, rows, indent=2)
    rest = len(events) - len(chosen)
    total = sum(event["ms"] for event in events)
    say(f"  {total:.4f} ms in all" + (f", {rest} more operators (--top 0)" if rest else ""))
    if summary := profile["summary"]:
        farthest = ", ".join(f"{e['name']} ({100 * e['of_limit']:.0f} %)" for e in summary["farthest"])
        say(f"  {100 * summary['limit_ms'] / total:.0f} % of the limits, most of all of {summary['bound_by']}")
        say(f"  farthest from theirs: {farthest}")
