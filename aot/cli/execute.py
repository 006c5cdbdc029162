# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Loads and calls methods, with options of the command line."""

import contextlib
import re
import time
from collections.abc import Iterator, Mapping, Sequence

import click

from .errors import ExitCode, Failure, failed, first_line, reason_in, runtime_log, unreadable


def parse_options(ctx, param, values: Sequence[str]) -> dict[str, bool | int | str]:
    """``NAME=VALUE`` of the command line, as the runtime takes them."""
    found = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"takes NAME=VALUE, not {text!r}")
        if name in found:
            raise click.BadParameter(f"option {name!r} is given twice")
        found[name] = value
    if not found:
        return {}
    from ... import check_option, check_options, get_option, is_available

    import_runtime()
    try:
        with runtime_log():  # it writes there what it raises
            for name, value in found.items():
                check_option(name, value)
                if not is_available() or not isinstance(get_option(name), str):
                    found[name] = parse_value(value)
            check_options(found)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return found


def parse_value(text: str) -> bool | int | str:
    """What a text stands for; the text itself if that is neither an integer nor a truth."""
    if re.fullmatch(r"[+-]?[0-9]{1,4000}", text):  # of more digits Python makes no int
        return int(text)
    return {"true": True, "false": False}.get(text.lower(), text)


option_option = click.option(
    "--option",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    callback=parse_options,
    help="An option of the runtime, such as force_fp16=true; docs/options-and-profiling.md has all.",
)
data_option = click.option("--data", "data_path", metavar="FILE.ptd", help="Weights that lie outside the program.")


def import_runtime() -> None:
    """What loading and memory are measured without: importing libraries, which say something about themselves."""
    with runtime_log():
        from executorch.extension.pybindings import portable_lib  # noqa: F401

        from ... import is_available

        is_available()


class Loaded:
    """A method, with what keeps it alive. Ends the command with one line if it does not load."""

    def __init__(
        self,
        path: str,
        method: str,
        threads: int | None = None,
        options: Mapping[str, bool | int | str] | None = None,
        data_path: str | None = None,
        etdump: bool = False,
        operators: Sequence[str] = (),
    ):
        from ... import is_available, load_options
        from ..private.executorch import load_program, set_pool_size

        import_runtime()
        if any(name.startswith("quantized_decomposed.") for name in operators):
            with contextlib.suppress(ImportError):
                import executorch.kernels.quantized  # noqa: F401
        if threads is not None:
            with runtime_log():
                set_pool_size(threads)
        context = load_options(**options) if options and is_available() else contextlib.nullcontext()
        log: list[str] = []
        try:
            with runtime_log() as log, context:
                started = time.perf_counter()
                self.program = load_program(str(path), data_path, etdump)
                self.method = self.program.load_method(method)
                self.load_seconds = time.perf_counter() - started
        except (RuntimeError, ValueError) as error:
            failed(f"{path}: method {method} does not load: {reason_in(log) or first_line(error)}")
        self._name = f"{path}: method {method}"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Calls of ``method`` in the block that fail end the command with one line."""
        log: list[str] = []
        try:
            with runtime_log() as log:
                yield
        except (RuntimeError, ValueError) as error:
            reason = reason_in(log) or first_line(error)
            if ": input " in reason:
                reason += " (a delegate counts its inputs on its own)"
            raise Failure(f"{self._name} fails: {reason}", ExitCode.FAILED) from error

    def call(self, inputs: Sequence[object]) -> list[object]:
        """One call; results are copies."""
        with self.running():
            return list(self.method.call(tuple(inputs), clone_outputs=True))

    def write_etdump(self, path: str) -> None:
        try:
            with runtime_log():
                self.program.write_etdump_result_to_file(str(path))
        except (RuntimeError, OSError) as error:
            unreadable(f"{path}: {first_line(error)}")
