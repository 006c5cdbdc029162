# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""``et-xnnpack explain``"""

import collections
import inspect

import click

from . import source
from .advice import advice
from .errors import ExitCode, first_line, unreadable
from .output import count, emit, flop, heading, json_option, say, share, size
from .picture.page import check, html_option, write

_PLACES = 4  # of one operator and reason that are listed


@click.command(short_help="What would be delegated, what not, and why.")
@click.argument("model")
@click.option(
    "--allow-operator", "allow_operators", multiple=True, metavar="NAME", help="Delegate these operators only."
)
@click.option(
    "--block-operator", "block_operators", multiple=True, metavar="NAME", help="Leave these operators outside."
)
@click.option("--allow-module", "allow_modules", multiple=True, metavar="NAME", help="Delegate these modules only.")
@click.option("--block-module", "block_modules", multiple=True, metavar="NAME", help="Leave these modules outside.")
@click.option("--min-partition-size", default=1, show_default=True, help="Smaller groups are not delegated.")
@click.option("--all-places", is_flag=True, help=f"List every place of an operator, not only {_PLACES}.")
@click.option("--require-full", is_flag=True, help="Exit with 1 unless each method is one delegate call, all inside.")
@html_option
@json_option
def explain(model, all_places, require_full, html_path, as_json, **options):
    """Partitions MODEL without lowering it, and says what is delegated and what is not: why, where that is in
    your source, how much of the arithmetic and of the memory traffic it is, and what would make it acceptable.

    Arithmetic and bytes are estimates from the sizes of the example inputs; bytes are operands and results.
    """
    from ..progress import step, work

    check(html_path)
    with work("et-xnnpack explain"):
        step("importing and exporting")
        methods = {name: method.exported for name, method in source.load(model).items()}
        found = _explain(model, methods, options)
    if html_path is not None:
        _write_picture(html_path, model, found)
    data = {"model": model, "methods": {name: method.to_dict() for name, method in found.items()}}
    emit(as_json, data, lambda: [_print(name, method, all_places) for name, method in found.items()])
    if require_full and not all(method.report.is_full for method in found.values()):
        raise click.exceptions.Exit(ExitCode.NO)


explain.help = f"{inspect.cleandoc(explain.help)}\n\n{source.HELP}"


def _explain(model: str, methods, options):
    from .explanation import explain_programs

    try:
        return explain_programs(methods, **options)
    except (ValueError, TypeError) as error:
        unreadable(f"{model}: {first_line(error)}")
    except Exception as error:  # of ExecuTorch, which refuses some programs itself
        unreadable(f"{model}: ExecuTorch does not take the program: {first_line(error)}")


def _write_picture(path: str, model: str, found) -> None:
    from .picture.explained import picture_of

    write(path, model, "explain", [picture_of(name, method) for name, method in found.items()])


def _print(name: str, method, all_places: bool) -> None:
    everything, outside = method.cost(), method.cost(outside=True)
    delegated = sum(map(len, method.operators))
    heading(
        f"{name}: {count(delegated, 'node')} in {count(len(method.report.partitions), 'delegate call')}, "
        f"{len(method.outside)} outside"
    )
    say(
        f"  outside: {share(outside.flop, everything.flop)} of {flop(everything.flop)}, "
        f"{share(outside.bytes, everything.bytes)} of {size(everything.bytes)} read and written"
    )
    for i, targets in enumerate(method.operators):
        cost = method.cost(call=i)
        say(f"call {i}: {count(len(targets), 'node')}, {flop(cost.flop)}, {size(cost.bytes)}")
        waits = method.report.between[i] if i < len(method.report.between) else ()
        if waits:
            say(f"  waits for {', '.join(waits)}")
        names = collections.Counter(targets).most_common()
        say("  " + ", ".join(f"{number} x {target}" for target, number in names))
    groups = collections.defaultdict(list)
    for node in method.outside:
        groups[node.target, node.reason].append(node)
    for (target, reason), nodes in groups.items():
        say(f"outside: {count(len(nodes), 'node').partition(' ')[0]} x {target}")
        say(f"  why:   {reason}")
        if hint := advice(reason):
            say(f"  mend:  {hint}")
        for node in nodes if all_places else nodes[:_PLACES]:
            where = [node.module or "the model itself"]
            if node.place:
                where.append(f"{node.place}  {node.place.code}".rstrip())
            say(f"  at:    {', '.join(where)}")
        if not all_places and len(nodes) > _PLACES:
            say(f"         and {len(nodes) - _PLACES} more places (--all-places)")
    for text in method.report.unmatched:
        say(text)
