# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The command line of et_xnnpack, as ``et-xnnpack`` and as ``python -m executorch.backends.et_xnnpack``."""

import contextlib
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Iterator

import click

from .bench import bench
from .diff import diff
from .doctor import doctor
from .errors import ExitCode, Failure, first_line, unreadable
from .explain import explain
from .inspect import inspect
from .run import run

EPILOG = """\b
Exit codes:
  0  done
  1  done, and the answer is no: results differ, a program differs from
     another one, not everything is delegated (--require-full), a check of
     doctor failed
  2  the command line is wrong
  3  a file, module or model cannot be read, imported or exported, a file
     or the standard output cannot be written
  4  a program does not load or run
  5  a mistake of et-xnnpack; with ET_XNNPACK_TRACEBACK=1 it shows where
"""


@contextlib.contextmanager
def _to_output() -> Iterator[None]:
    """Ends the command where its output cannot be written; a pipe of which nobody reads more is no failure. Click's
    own ``main`` would end with 1 there."""
    try:
        yield
    except OSError as error:
        if all(frame.f_code is not click.echo.__code__ for frame, _ in traceback.walk_tb(error.__traceback__)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
        if isinstance(error, BrokenPipeError):  # `| head` has enough
            raise click.exceptions.Exit(ExitCode.OK) from None
        unreadable(f"the standard output cannot be written: {error.strerror}")


class Commands(click.Group):
    """Ends with one line, whatever goes wrong, and keeps the libraries below us from talking."""

    def make_context(self, *args, **kwargs) -> click.Context:
        if sys.stdout is None:
            unreadable("the standard output cannot be written: it is closed")
        with _to_output():  # --help
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            disabled = logging.root.manager.disable
            logging.disable(logging.WARNING)
            try:
                with _to_output():
                    return super().invoke(ctx)
            except (click.ClickException, click.exceptions.Exit, click.Abort, KeyboardInterrupt):
                raise
            except Exception as error:
                if os.environ.get("ET_XNNPACK_TRACEBACK"):
                    raise
                raise Failure(
                    f"a mistake of et-xnnpack, please report it: {first_line(error)} "
                    "(ET_XNNPACK_TRACEBACK=1 shows where)",
                    ExitCode.MISTAKE,
                ) from error
            finally:
                logging.disable(disabled)


@click.group(
    cls=Commands,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="et_xnnpack", message="%(version)s")
def cli() -> None:
    """Looks at models and programs of ExecuTorch, with et_xnnpack's eyes.

    \b
    Before lowering:      et-xnnpack explain model.py:make
    After lowering:       et-xnnpack inspect model.pte
    Is it right, fast?    et-xnnpack run model.pte --reference model.py:make
                          et-xnnpack bench model.pte other.pte --threads 1,2
    What has changed?     et-xnnpack diff old.pte new.pte
    Does it work here?    et-xnnpack doctor

    Every command has --json and its own --help.
    """


for command in (explain, inspect, run, bench, diff, doctor):
    cli.add_command(command)


def main() -> None:
    cli(prog_name="et-xnnpack")
