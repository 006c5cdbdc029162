# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack inspect``"""

import collections
import dataclasses

import click

from .errors import first_line, unreadable
from .output import count, emit, flop, heading, json_option, say, size, table

PARTS = ("methods", "memory", "graph", "plan", "weights")


@click.command(short_help="What is in a program: methods, graph, plan, weights, memory.")
@click.argument("program", metavar="MODEL.pte")
@click.option("--method", "method_name", help="This method only.")
@click.option("--only", type=click.Choice(PARTS), multiple=True, help="This part only; may be given several times.")
@json_option
def inspect(program, method_name, only, as_json):
    """Shows what is in a program: its methods with their inputs and outputs, the delegates of any backend and
    the operators between them, and the memory that ExecuTorch plans. For each delegate of et_xnnpack the graph,
    the weights, and the plan for this CPU: who computes each node (XNNPACK, a kernel of ours, a row of a fused
    pass, or nobody for a view), and why.

    Dynamic sizes count as the largest possible ones. Arithmetic and bytes are estimates from the sizes.
    """
    from . import program as programs

    found = programs.read(program)
    methods = found.methods if method_name is None else (found.method(method_name),)
    blobs = {(m.name, d.index): blob_of(found, d) for m in methods for d in m.delegates}
    parts = only or PARTS
    data = {
        "program": program,
        "bytes": found.bytes,
        "named_data_bytes": sum(found.named.values()),
        "constant_bytes": found.constant_bytes,
        "methods": {method.name: _method_dict(method, blobs, parts) for method in methods},
    }
    emit(as_json, data, lambda: _print(found, methods, blobs, parts))


def blob_of(program, delegate):
    """Ends the command with one line for a delegate of ours that is damaged; None for one of others."""
    try:
        return delegate.blob
    except Exception as error:
        unreadable(f"{program.path}: delegate {delegate.index}: {first_line(error)}")


def _method_dict(method, blobs, parts) -> dict:
    result = {
        "inputs": [_value_dict(method.values[i]) for i in method.inputs],
        "outputs": [_value_dict(method.values[i]) for i in method.outputs],
        "operators": method.operators,
        "delegates": [_delegate_dict(d, blobs[method.name, d.index], parts) for d in method.delegates],
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


def _delegate_dict(delegate, blob, parts) -> dict:
    result = {
        "backend": delegate.backend,
        "bytes": len(delegate.data),
        "calls": delegate.calls,
        "options": delegate.specs,
    }
    if blob is None:
        return result
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


def _readers(blob) -> dict[int, list[str]]:
    found = collections.defaultdict(list)
    for node in blob.nodes:
        for value in node.inputs:
            if value is not None:
                found[value].append(node.name)
    return found


def _print(program, methods, blobs, parts) -> None:
    heading(
        f"{program.path}: {size(program.bytes)}, {count(len(program.methods), 'method')}, "
        f"weights of delegates {size(sum(program.named.values()))}, other constants {size(program.constant_bytes)}"
    )
    for method in methods:
        _print_method(method, parts)
        for delegate in method.delegates:
            _print_delegate(delegate, blobs[method.name, delegate.index], parts)


def _print_method(method, parts) -> None:
    say()
    heading(f"method {method.name}")
    if "methods" in parts:
        for title, ids in (("in", method.inputs), ("out", method.outputs)):
            for k, i in enumerate(ids):
                value = method.values[i]
                say(f"  {title} {k}: {value if isinstance(value, str) else value.type}")
        say(f"  {count(sum(d.calls for d in method.delegates), 'delegate call')}")
        operators = sum(method.operators.values())
        listed = ": " + ", ".join(f"{number} x {name}" for name, number in method.operators.items())
        say(f"  {count(operators, 'operator')} outside{listed if operators else ''}")
    if "memory" in parts:
        pools = ", ".join(f"buffer {i}: {size(b)}" for i, b in enumerate(method.pools, 1)) or "nothing"
        say(f"  memory planned by ExecuTorch: {pools}; most in use at once: {size(max(method.live_bytes, default=0))}")


def _print_delegate(delegate, blob, parts) -> None:
    calls = "" if delegate.calls == 1 else f", called {delegate.calls} times"
    heading(f"  delegate {delegate.index}: {delegate.backend}, {size(len(delegate.data))}{calls}")
    if delegate.specs and "methods" in parts:
        say("    options: " + ", ".join(f"{key}={value}" for key, value in delegate.specs.items()))
    if blob is None:
        return
    if "memory" in parts:
        most = max(blob.live_bytes, default=0)
        at = blob.nodes[blob.live_bytes.index(most)].name if most else None
        say(f"    values inside: at most {size(most)} at once{f', in {at}' if at else ''}, without scratch memory")
        for name, value in blob.states:
            say(f"    state {name}: {blob.values[value].type}, {size(blob.values[value].bytes)}")
    if "graph" in parts and blob.text:
        for line in blob.text.splitlines():
            say(f"    {line}")
    if "plan" in parts:
        if blob.plan is None:
            say("    no plan: the compiled part of et_xnnpack is not installed")
        rows = [
            (
                "" if node.choice is None or node.choice.step is None else node.choice.step,
                node.name,
                blob.values[node.outputs[0]].type,
                flop(node.cost.flop),
                size(node.cost.bytes),
                node.choice.by if node.choice else "",
                node.choice.reason if node.choice else "",
            )
            for node in blob.nodes
        ]
        table((">step", "node", "result", ">arithmetic", ">bytes", "by", "why"), rows, indent=4)
    if "weights" in parts and blob.constants:
        readers = _readers(blob)
        rows = [
            (f"%{v.id}", v.type, size(v.stored_bytes), (v.key or "in the blob")[:12], ", ".join(readers[v.id]))
            for v in blob.constants
        ]
        say(f"    {count(len(rows), 'constant')}, {size(sum(v.stored_bytes for v in blob.constants))}")
        table(("value", "type", ">stored", "key", "read by"), rows, indent=4)
