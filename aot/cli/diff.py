# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack diff``"""

import dataclasses
import filecmp

import click

from .errors import ExitCode, Failure, failed
from .execute import data_option, option_option
from .inspect import blob_of
from .output import count, distance, emit, heading, json_option, say
from .run import input_options, inputs_of, tolerance_options

_LINES = 20  # of one kind that are listed


@click.command(short_help="What differs between two programs, and where results differ first.")
@click.argument("a", metavar="A.pte")
@click.argument("b", metavar="B.pte")
@click.option("--method", "method_name", help="This method only.")
@click.option("--results/--no-results", default=True, help="Whether both are run and their results compared.")
@input_options
@tolerance_options
@option_option
@data_option
@json_option
def diff(
    a, b, method_name, results, files, seed, high, shapes, atol, rtol, options, data_path, as_json
):  # fmt: skip
    """Compares two programs: methods, operators outside of delegates with their arguments, and for delegates of
    et_xnnpack graphs, weights and plans (those of a load with --option), node by node. Then runs both with the same
    inputs; where results differ by more than the tolerances, it looks for the first node that does, by running both
    once more with all values inside of the delegates as results. Exits with 1 if anything differs, and with 4 if a
    program does not run.
    """
    from ..progress import step, work
    from . import program as programs

    with work("et-xnnpack diff"):
        first, second = (programs.read(path, options, with_contents=True) for path in (a, b))
        names = [m.name for m in first.methods], [m.name for m in second.methods]
        if method_name is not None:
            names = [first.method(method_name).name], [second.method(method_name).name]
        data = {
            "a": a,
            "b": b,
            "only_in_a": [n for n in names[0] if n not in names[1]],
            "only_in_b": [n for n in names[1] if n not in names[0]],
            "methods": {},
        }
        for name in names[0]:
            if name in names[1]:
                one, other = first.method(name), second.method(name)
                step(f"method {name}: comparing graphs, weights and plans")
                found = compare_methods(first, one, second, other)
                if results and (one.input_types, one.output_types) == (other.input_types, other.output_types):
                    found["results"] = _results(
                        a, one, b, other, files, shapes, high, seed, atol, rtol, options, data_path
                    )
                data["methods"][name] = found
    data["same"] = not (data["only_in_a"] or data["only_in_b"] or any(map(_differs, data["methods"].values())))
    data["same_bytes"] = filecmp.cmp(a, b, shallow=False)
    emit(as_json, data, lambda: _print(data))
    errors = [m["results"]["error"] for m in data["methods"].values() if m.get("results") and m["results"]["error"]]
    if errors:
        failed(f"results are not compared: {'; '.join(errors)}")
    if not data["same"]:
        raise click.exceptions.Exit(ExitCode.NO)


def _differs(method: dict) -> bool:
    parts = any(delegate[part] for delegate in method["delegates"] for part in ("graph", "weights", "plan"))
    results = method.get("results")
    return bool(method["interface"] or method["operators"] or parts or (results and results["is_close"] is False))


def compare_methods(first, one, second, other) -> dict:
    """What differs between two methods but for results."""
    from .steps import compare_blobs, compare_instructions

    interface = []
    for kind in ("inputs", "outputs"):
        types = [[getattr(m.values[i], "type", m.values[i]) for i in getattr(m, kind)] for m in (one, other)]
        if types[0] != types[1]:
            interface.append(f"{kind}: {', '.join(types[0])} became {', '.join(types[1])}")
    calls = [[d.backend for d in m.delegates] for m in (one, other)]
    operators = []
    if calls[0] != calls[1]:
        operators.append(f"delegates: {', '.join(calls[0]) or 'none'} became {', '.join(calls[1]) or 'none'}")
    for name in sorted({*one.operators, *other.operators}):
        numbers = one.operators.get(name, 0), other.operators.get(name, 0)
        if numbers[0] != numbers[1]:
            operators.append(f"{name}: {numbers[0]} became {numbers[1]}")
    operators += compare_instructions(one, other)
    delegates = []
    for x, y in zip(one.delegates, other.delegates, strict=False):
        if x.backend != y.backend:
            continue
        blobs = blob_of(first, x), blob_of(second, y)
        if None in blobs:
            found = {"graph": [] if x.data == y.data else ["its bytes differ"], "weights": [], "plan": []}
        else:
            found = compare_blobs(*blobs)
        if x.specs != y.specs:
            found["plan"].insert(0, f"options: {x.specs} became {y.specs}")
        delegates.append({"delegate": x.index, "backend": x.backend, **found})
    return {"interface": interface, "operators": operators, "delegates": delegates}


def _results(a, one, b, other, files, shapes, high, seed, atol, rtol, options, data_path) -> dict:
    from ..progress import step
    from . import tensors
    from .probe import first_difference

    step(f"method {one.name}: running both")
    inputs = inputs_of(one, files, shapes, high, seed)
    try:
        outputs = [
            _loaded(path, method, options, data_path).call(tensors.laid_out(method, inputs))
            for path, method in ((a, one), (b, other))
        ]
    except Failure as error:  # graphs, weights and plans are compared all the same
        return {"is_close": None, "differences": [], "first": None, "error": error.message}
    differences = tensors.compare(outputs[1], outputs[0], atol, rtol)
    is_close = all(d.is_close for d in differences)
    found = {
        "is_close": is_close,
        "differences": [dataclasses.asdict(d) for d in differences],
        "first": None,
        "error": None,
    }
    if not is_close:
        step(f"method {one.name}: looking for the first difference")
        found["first"] = first_difference(a, one, b, other, inputs, atol, rtol, options, data_path)
    return found


def _loaded(path, method, options, data_path):
    from .execute import Loaded

    return Loaded(path, method.name, None, options, data_path, operators=list(method.operators))


def _print(data) -> None:
    if data["same"]:
        results = [method.get("results") for method in data["methods"].values()]
        but = ["results"] if any(one is None or one["error"] for one in results) else []
        but += [] if data["same_bytes"] else ["what is not compared, as their bytes differ"]
        say(f"{data['a']} and {data['b']} are the same{' but for ' + ' and '.join(but) if but else ''}")
        return
    for key, path in (("only_in_a", data["a"]), ("only_in_b", data["b"])):
        if data[key]:
            say(f"only {path} has: {', '.join(data[key])}")
    for name, method in data["methods"].items():
        heading(f"method {name}: {'differs' if _differs(method) else 'is the same'}")
        _lines("interface", method["interface"])
        _lines("outside", method["operators"])
        for delegate in method["delegates"]:
            for part in ("graph", "weights", "plan"):
                _lines(f"delegate {delegate['delegate']}, {part}", delegate[part])
        if results := method.get("results"):
            _print_results(results)


def _print_results(results) -> None:
    for k, difference in enumerate(results["differences"]):
        verdict = "is close" if difference["is_close"] else "DIFFERS"
        say(f"  out {k} {verdict}: {_far(difference)}")
    first = results["first"]
    if first is not None:
        say(f"  first: {first['a']} of delegate {first['delegate']}, {first['b']} in the other: {_far(first)}")
    elif results["is_close"] is False:
        say("  first: not found, no value inside of the delegates that both have differs")


def _far(difference) -> str:
    if difference["largest"] is None:
        return f"{difference['expected_type']} became {difference['type']}"
    return f"by {distance(difference)}"


def _lines(title: str, lines: list[str]) -> None:
    if not lines:
        return
    say(f"  {title}: {count(len(lines), 'difference')}")
    for line in lines[:_LINES]:
        say(f"    {line}")
    if len(lines) > _LINES:
        say(f"    and {len(lines) - _LINES} more (--json has all)")
