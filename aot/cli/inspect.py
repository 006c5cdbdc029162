# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack inspect``"""

import collections
import dataclasses
import re
import tempfile
from pathlib import Path

import click

from .errors import first_line, unreadable
from .execute import data_option, option_option
from .output import count, emit, flop, heading, json_option, say, size, table
from .picture.page import check, html_option, write
from .run import input_options, inputs_of

_SCALES = re.compile(r"\b(scale|zero_point)=\(([^)]*)\)")
PARTS = ("methods", "memory", "graph", "plan", "weights")


@click.command(short_help="What is in a program: methods, graph, plan, weights, memory.")
@click.argument("program", metavar="MODEL.pte")
@click.option("--method", "method_name", help="This method only.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="This part only; may be given several times.")
@html_option
@click.option("--profile", is_flag=True, help="Run it a few times, and add the time of each node.")
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1, 1024), help="Of --profile.")
@input_options
@option_option
@data_option
@json_option
def inspect(
    program, method_name, only, html_path, profile, threads, files, shapes, high, seed, options, data_path, as_json
):
    """Shows what is in a program: its methods with their inputs and outputs, the delegates of any backend and
    the operators between them, and the memory that ExecuTorch plans. For each delegate of et_xnnpack the graph,
    the weights, and the plan for this CPU: who computes each node (XNNPACK, a kernel of ours, a row of a fused
    pass, or nobody for a view), and why.

    Dynamic sizes count as the largest possible ones. Arithmetic and bytes are estimates from the sizes.

    The plan is that of a load with --option. --profile takes inputs as `run` does: from files, or random ones. The
    time of a pass of several nodes is that of each of them.
    """
    from ..progress import step, work
    from . import program as programs
    from .blob import PLAN_OPTIONS
    from .profile import node_times

    check(html_path)
    if not profile and (others := [name for name in options if name not in PLAN_OPTIONS]):
        raise click.BadParameter(f"--option {others[0]} is for --profile: no plan depends on it")
    with work("et-xnnpack inspect"):
        found = programs.read(program, options)
        methods = found.methods if method_name is None else (found.method(method_name),)
        if len(methods) > 1 and (files or shapes):
            raise click.BadParameter("--input and --shape are for one method: name it with --method")
        blobs = {(m.name, d.index): blob_of(found, d) for m in methods for d in m.delegates}
        parts = only or PARTS
        events = {}
        if profile:
            step("running")
            arguments = {"threads": threads, "options": options, "data": data_path}
            events = {
                m.name: _profile(program, m, inputs_of(m, files, shapes, high, seed), arguments)
                for m in methods
                if m.instructions  # others are constants
            }
    times = {m.name: node_times(events[m.name], m) for m in methods if m.name in events}
    if html_path is not None:
        _write_picture(html_path, program, methods, blobs, events)
    data = {
        "program": program,
        "bytes": found.bytes,
        "named_data_bytes": sum(found.named.values()),
        "constant_bytes": found.constant_bytes,
        "methods": {m.name: _method_dict(m, blobs, parts, times.get(m.name)) for m in methods},
    }
    emit(as_json, data, lambda: _print(found, methods, blobs, parts, times))


def _profile(program: str, method, inputs, arguments):
    """The events of a method, run in a process of its own."""
    import torch

    from . import profile, tensors
    from .worker import Worker

    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        file = str(Path(folder, "inputs.pt"))
        torch.save(tensors.laid_out(method, inputs), file)
        return profile.take(worker, program, method, folder, inputs=file, **arguments)


def _write_picture(path: str, program: str, methods, blobs, events) -> None:
    from .picture.planned import picture_of

    pictures = [
        picture_of(m, {d.index: blobs[m.name, d.index] for d in m.delegates}, events.get(m.name)) for m in methods
    ]
    write(path, program, "inspect", pictures)


def blob_of(program, delegate):
    """Ends the command with one line for a delegate of ours that is damaged; None for one of others."""
    try:
        return delegate.blob
    except Exception as error:
        unreadable(f"{program.path}: delegate {delegate.index}: {first_line(error)}")


def _method_dict(method, blobs, parts, times) -> dict:
    result = {
        "inputs": [_value_dict(method.values[i]) for i in method.inputs],
        "outputs": [_value_dict(method.values[i]) for i in method.outputs],
        "operators": method.operators,
        "delegates": [_delegate_dict(d, blobs[method.name, d.index], method, parts, times) for d in method.delegates],
    }
    if "memory" in parts:
        result["memory"] = {
            "pools": list(method.pools),
            "in_use": [
                {"instruction": i.name, "bytes": b} for i, b in zip(method.instructions, method.live_bytes, strict=True)
            ],
            "tensors": [
                {"value": i, **_value_dict(value)}
                for i, value in enumerate(method.values)
                if getattr(value, "pool", None) is not None
            ],
        }
    return result


def _value_dict(value) -> dict:
    return {"kind": value} if isinstance(value, str) else {"kind": "tensor", **dataclasses.asdict(value)}


def _delegate_dict(delegate, blob, method, parts, times) -> dict:
    result = {
        "backend": delegate.backend,
        "bytes": len(delegate.data),
        "calls": delegate.calls,
        "options": delegate.specs,
    }
    if blob is None:
        return result
    result["inputs_of_calls"] = _operands(delegate, method)
    if "graph" in parts:
        result["graph"] = blob.text
    if "plan" in parts:
        result["nodes"] = [
            {
                "node": node.name,
                "inputs": list(node.inputs),
                "outputs": list(node.outputs),
                "type": blob.values[node.outputs[0]].type,
                "attributes": node.attributes,
                "debug_handle": node.debug_handle,
                "step": node.choice.step if node.choice else None,
                "by": node.choice.by if node.choice else None,
                "reason": node.choice.reason if node.choice else None,
                **dataclasses.asdict(node.cost),
                **({} if times is None else {"ms": times.get((delegate.index, node.index))}),
            }
            for node in blob.nodes
        ]
    if "weights" in parts:
        readers = _readers(blob)
        result["weights"] = [
            {
                "value": value.id,
                "dtype": value.dtype,
                "sizes": list(value.sizes),
                "quantized": value.quantized,
                "stored_bytes": value.stored_bytes,
                "key": value.key,
                "read_by": readers[value.id],
            }
            for value in blob.constants
        ]
    if "memory" in parts:
        result["in_use"] = blob.live_bytes
        result["states"] = [{"name": name, **dataclasses.asdict(blob.values[v])} for name, v in blob.states]
    return result


def _shortened(match: re.Match) -> str:
    """Of the numbers of all channels the first three."""
    numbers = match[2].split(", ")
    if len(numbers) <= 4:
        return match[0]
    counted = re.fullmatch(r"\.\.\. (\d+) in all", numbers[-1])  # by the runtime, which leaves some out as well
    return f"{match[1]}=({', '.join(numbers[:3])}, ... {counted[1] if counted else len(numbers)} in all)"


def _readers(blob) -> dict[int, list[str]]:
    found = collections.defaultdict(list)
    for node in blob.nodes:
        for value in node.inputs:
            if value is not None:
                found[value].append(node.name)
    return found


def _print(program, methods, blobs, parts, times) -> None:
    heading(
        f"{program.path}: {size(program.bytes)}, {count(len(program.methods), 'method')}, "
        f"weights of delegates {size(sum(program.named.values()))}, other constants {size(program.constant_bytes)}"
    )
    for method in methods:
        _print_method(method, parts)
        if parts == ("memory",):
            _print_tensors(method)
        for delegate in method.delegates:
            _print_delegate(delegate, blobs[method.name, delegate.index], method, parts, times.get(method.name))


def _print_method(method, parts) -> None:
    say()
    heading(f"method {method.name}")
    if "methods" in parts:
        for title, ids in (("in", method.inputs), ("out", method.outputs)):
            for k, i in enumerate(ids):
                value = method.values[i]
                say(f"  {title} {k}: {_type(value)}")
        say(f"  {count(sum(d.calls for d in method.delegates), 'delegate call')}")
        operators = sum(method.operators.values())
        listed = ": " + ", ".join(f"{number} x {name}" for name, number in method.operators.items())
        say(f"  {count(operators, 'operator')} outside{listed if operators else ''}")
    if "memory" in parts:
        pools = ", ".join(f"buffer {i}: {size(b)}" for i, b in enumerate(method.pools, 1)) or "nothing"
        say(f"  memory planned by ExecuTorch: {pools}; most in use at once: {size(max(method.live_bytes, default=0))}")


def _print_tensors(method) -> None:
    """Those that ExecuTorch has planned, with the instructions between which they are in use."""
    used = method.in_use
    rows = [
        (i, value.type, value.pool, value.offset, size(value.bytes), *used.get(i, ("", "")))
        for i, value in enumerate(method.values)
        if getattr(value, "pool", None) is not None
    ]
    table((">value", "type", ">buffer", ">offset", ">bytes", ">from instruction", ">to"), rows, indent=2)


def _print_calls(delegate, method) -> None:
    """What ExecuTorch's schema tells of a delegate that is not ours."""
    say("    its graph is in a format of its own; from outside:")
    for instruction, flow in zip(method.instructions, method.flow, strict=False):
        if instruction.delegate == delegate.index:
            for verb, values in (("reads", flow.reads), ("writes", flow.writes)):
                say(f"    {verb} " + (", ".join(f"%{i} {method.values[i].type}" for i in values) or "nothing"))


def _operands(delegate, method) -> list[list[str]]:
    """By call of a delegate of ours what its inputs are: those of the method by their number, others by their value."""
    places = {i: f"in {k}" for k, i in enumerate(method.inputs)}
    calls = [i.arguments[: delegate.inputs] for i in method.instructions if i.delegate == delegate.index]
    return [[places.get(i, f"%{i} {_type(method.values[i])}") for i in arguments] for arguments in calls]


def _type(value) -> str:
    return value if isinstance(value, str) else value.type


def _print_delegate(delegate, blob, method, parts, times) -> None:
    calls = "" if delegate.calls == 1 else f", called {delegate.calls} times"
    heading(f"  delegate {delegate.index}: {delegate.backend}, {size(len(delegate.data))}{calls}")
    if delegate.specs and "methods" in parts:
        say("    options: " + ", ".join(f"{key}={value}" for key, value in delegate.specs.items()))
    if blob is None:
        if "graph" in parts:
            _print_calls(delegate, method)
        return
    if "methods" in parts:
        for operands in _operands(delegate, method):
            say("    inputs 0, 1, ...: " + (", ".join(operands) or "none"))
    if "memory" in parts:
        most = max(blob.live_bytes, default=0)
        at = blob.nodes[blob.live_bytes.index(most)].name if most else None
        say(f"    values inside: at most {size(most)} at once{f', in {at}' if at else ''}, without scratch memory")
        for name, value in blob.states:
            say(f"    state {name}: {blob.values[value].type}, {size(blob.values[value].bytes)}")
    if "graph" in parts and blob.text:
        for line in blob.text.splitlines():
            say(f"    {_SCALES.sub(_shortened, line)}")
    if "plan" in parts:
        if blob.plan is None:
            say("    no plan: the compiled part of et_xnnpack is not installed")
        _print_plan(delegate, blob, times)
    if "weights" in parts and blob.constants:
        readers = _readers(blob)
        rows = [
            (f"%{v.id}", v.type, size(v.stored_bytes), (v.key or "in the blob")[:12], ", ".join(readers[v.id]))
            for v in blob.constants
        ]
        say(f"    {count(len(rows), 'constant')}, {size(sum(v.stored_bytes for v in blob.constants))}")
        table(("value", "type", ">stored", "key", "read by"), rows, indent=4)


def _print_plan(delegate, blob, times) -> None:
    columns = [">step", "node", "result", ">arithmetic", ">bytes", "by", "why"]
    rows = []
    for node in blob.nodes:
        choice = node.choice
        cells = [
            "" if choice is None or choice.step is None else choice.step,
            node.name,
            blob.values[node.outputs[0]].type,
            flop(node.cost.flop),
            size(node.cost.bytes),
            choice.by if choice else "",
            choice.reason if choice else "",
        ]
        if times is not None:
            ms = times.get((delegate.index, node.index))
            cells.insert(1, "" if ms is None else f"{ms:.4f}")
        rows.append(cells)
    if times is not None:
        columns.insert(1, ">ms")
    table(columns, rows, indent=4)
