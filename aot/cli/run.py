# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack run``"""

import dataclasses
import math
import re
import time

import click

from . import source
from .errors import ExitCode, check_writable, unreadable
from .execute import data_option, option_option
from .output import count, distance, emit, heading, json_option, say

_MAX_INT64, _MIN_INT64 = 2**63 - 1, -(2**63)


def parse_shapes(ctx, param, values) -> dict[int, tuple[int, ...]]:
    """``INDEX=2x3``; the sizes of a scalar are empty."""
    found = {}
    for text in values:
        match = re.fullmatch(r"(\d{1,9})=((?:\d{1,18}(?:x\d{1,18})*)?)", text)
        if match is None:
            raise click.BadParameter(f"takes INDEX=SIZES such as 0=1x128, not {text!r}")
        found[int(match[1])] = tuple(int(size) for size in match[2].split("x") if size)
    return found


def input_options(command):
    """Where inputs come from; ``inputs_of`` reads them."""
    for option in reversed(
        [
            click.option(
                "--input",
                "files",
                multiple=True,
                metavar="FILE",
                help="Inputs from a .npy, .npz or .pt file; several files follow each other.",
            ),
            click.option(
                "--seed",
                default=0,
                show_default=True,
                type=click.IntRange(_MIN_INT64, _MAX_INT64),
                help="Of random inputs.",
            ),
            click.option(
                "--high",
                default=2,
                show_default=True,
                type=click.IntRange(1, _MAX_INT64),
                help="Random integers are below this.",
            ),
            click.option(
                "--shape",
                "shapes",
                multiple=True,
                metavar="INDEX=SIZES",
                callback=parse_shapes,
                help="Sizes of a random input, such as 0=1x128; else dynamic sizes are the largest ones.",
            ),
        ]
    ):
        command = option(command)
    return command


def inputs_of(method, files, shapes, high, seed):
    """From files, or random ones."""
    from . import tensors

    if files:
        inputs = [tensor for file in files for tensor in tensors.load(file)]
        tensors.check(method, inputs, ", ".join(files))
        return inputs
    if wrong := [k for k in shapes if k >= len(method.inputs)]:
        raise click.BadParameter(f"--shape names input {wrong[0]}, but there are {len(method.inputs)}")
    return tensors.random(method, shapes, high, seed)


class _Tolerance(click.FloatRange):
    def __init__(self):
        super().__init__(0)

    def convert(self, value, param, ctx):
        found = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail("NaN is no tolerance.", param, ctx)
        return found


def tolerance_options(command):
    for name, default, kind in (("--rtol", 1e-3, "Relative"), ("--atol", 1e-4, "Absolute")):
        text = f"{kind} tolerance of results."
        command = click.option(name, default=default, show_default=True, type=_Tolerance(), help=text)(command)
    return command


@click.command(short_help="Runs a program, checks its results, writes an ETDump.")
@click.argument("program", metavar="MODEL.pte")
@click.option("--method", "method_name", help="The method; else forward, or the only one.")
@input_options
@click.option(
    "--reference",
    metavar="MODEL|FILE",
    help="What results must be close to: a model as `explain` takes it, which is given the same inputs, "
    "or a .npy, .npz or .pt file of results.",
)
@tolerance_options
@click.option("--calls", default=1, show_default=True, type=click.IntRange(1), help="How often it is called.")
@click.option("--threads", type=click.IntRange(1, 1024), help="Size of ExecuTorch's thread pool.")
@option_option
@data_option
@click.option("--etdump", metavar="FILE", help="Writes the time of each operator, as ExecuTorch's Inspector reads it.")
@click.option("--output", metavar="FILE", help="Writes the results to a .npy, .npz or .pt file.")
@json_option
def run(
    program, method_name, files, seed, high, shapes, reference, atol, rtol, calls, threads, options, data_path,
    etdump, output, as_json,
):  # fmt: skip
    """Runs a method of a program and says what comes out. With --reference it compares the results of the first
    call, and exits with 1 where they differ by more than the tolerances; without --input the example inputs of a
    reference model are taken where it has some, else random ones.
    """
    from ..progress import step, work
    from . import program as programs
    from . import tensors
    from .execute import Loaded

    for path in (etdump, output):
        if path is not None:
            check_writable(path)
    with work("et-xnnpack run"):
        method = programs.read(program).method(method_name)
        if output is not None:
            tensors.check_output(output, len(method.outputs))
        model, expected = None, None
        if reference is not None and reference.endswith(tensors.SUFFIXES):
            expected = tensors.load(reference)
        elif reference is not None:
            step("importing and exporting the reference")
            models = source.load(reference)
            if method.name not in models:
                unreadable(f"{reference}: has no method {method.name!r}, but {', '.join(models)}")
            model = models[method.name]
        if model is not None and not files and not shapes and model.example is not None:
            inputs, come_from = list(model.example), "the example of the reference"
            tensors.check(method, inputs, reference)
        else:
            inputs = inputs_of(method, files, shapes, high, seed)
            come_from = ", ".join(files) if files else f"random, seed {seed}"
        if model is not None:
            step("calling the reference")
            expected = _eager(reference, model, inputs)

        step("loading")
        inputs = tensors.laid_out(method, inputs)
        loaded = Loaded(program, method.name, threads, options, data_path, etdump is not None, list(method.operators))
        milliseconds, first = [], None
        for i in range(calls):
            step(f"call {i + 1} of {calls}")
            started = time.perf_counter()
            results = loaded.call(inputs)
            milliseconds.append(1000 * (time.perf_counter() - started))
            first = first or results  # later ones may depend on it, and a reference is called once
        if etdump is not None:
            loaded.write_etdump(etdump)
        if output is not None:
            tensors.save(output, results)
        differences = None
        if expected is not None:
            if len(expected) != len(results):
                unreadable(f"{reference}: has {len(expected)} results, but method {method.name} has {len(results)}")
            differences = tensors.compare(first, expected, atol, rtol, any_dtype=model is None)
    data = {
        "program": program,
        "method": method.name,
        "inputs": come_from,
        "load_ms": 1000 * loaded.load_seconds,
        "call_ms": milliseconds,
        "outputs": [tensors.summary(result) for result in results],
        "differences": None if differences is None else [dataclasses.asdict(d) for d in differences],
        "is_close": None if differences is None else all(d.is_close for d in differences),
        "etdump": etdump,
    }
    emit(as_json, data, lambda: _print(data, atol, rtol))
    if data["is_close"] is False:
        raise click.exceptions.Exit(ExitCode.NO)


def _eager(name: str, model, inputs):
    import torch

    from .errors import first_line

    try:
        with torch.no_grad():
            results = model.module(*[i.clone() if isinstance(i, torch.Tensor) else i for i in inputs])
    except Exception as error:
        unreadable(f"{name}: calling the model failed: {first_line(error)}")
    leaves, waiting = [], [results]
    while waiting:
        item = waiting.pop(0)
        if isinstance(item, dict):
            waiting[:0] = item.values()
        elif isinstance(item, (tuple, list)):
            waiting[:0] = item
        else:
            leaves.append(item)
    return leaves


def _print(data, atol: float, rtol: float) -> None:
    calls = data["call_ms"]
    heading(f"{data['program']}, method {data['method']}; inputs: {data['inputs']}")
    say(f"  load {data['load_ms']:.2f} ms; {count(len(calls), 'call')}, the fastest {min(calls):.3f} ms")
    for k, result in enumerate(data["outputs"]):
        say(f"  out {k}: {result['type']}")
        if "mean" in result:
            first = ", ".join(f"{number:.6g}" for number in result["first"])
            say(f"    from {result['min']:.6g} to {result['max']:.6g}, mean {result['mean']:.6g}, first {first}")
        if result.get("nan"):
            say(f"    {result['nan']} of {result['numbers']} are NaN")
    for k, difference in enumerate(data["differences"] or []):
        if difference["largest"] is None:
            say(f"  out {k}: DIFFERS, should be {difference['expected_type']}")
        else:
            verdict = "is close" if difference["is_close"] else "DIFFERS"
            far = distance(difference)
            say(f"  out {k} {verdict}: the largest difference is {far} (tolerances {atol:g}, {rtol:g})")
    if data["etdump"]:
        say(f"  ETDump in {data['etdump']}")
