# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The command as a whole: help, exit codes, errors, and the script that is installed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import click.testing
import pytest
from executorch.backends.et_xnnpack._version import __version__
from executorch.backends.et_xnnpack.aot.cli import doctor as doctor_module
from executorch.backends.et_xnnpack.aot.cli.errors import ExitCode, first_line, reason_in
from executorch.backends.et_xnnpack.aot.cli.main import EPILOG, cli
from harness import needs_runtime

NAMES = ["explain", "inspect", "run", "bench", "diff", "doctor"]


def python(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True)


def test_the_script_is_installed():
    script = Path(sys.executable).parent / "et-xnnpack"
    done = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__version__}\n", "")


def test_the_module_is_the_same_command_and_its_help_imports_nothing_heavy():
    code = """
import runpy, sys
sys.argv = ["x", "--help"]
try:
    runpy.run_module("executorch.backends.et_xnnpack", run_name="__main__")
except SystemExit as end:
    print("code", end.code)
print([name for name in ("torch", "numpy", "rich", "pandas", "executorch.exir") if name in sys.modules])
"""
    done = python("-c", code)
    assert done.stdout.startswith("Usage: et-xnnpack [OPTIONS] COMMAND")
    assert done.stdout.endswith("code 0\n[]\n"), done.stdout[-300:]
    assert all(re.search(rf"^  {name} +\S", done.stdout, re.MULTILINE) for name in NAMES)


def test_every_command_has_json_and_help_for_everything():
    assert sorted(cli.commands) == sorted(NAMES)
    for name, command in cli.commands.items():
        assert "--json" in [opt for param in command.params for opt in param.opts], name
        assert len(command.help.split()) > 20 and command.short_help, name
        options = [param for param in command.params if param.param_type_name == "option"]
        undocumented = [param.name for param in options if not param.help]
        assert undocumented in ([], ["results"]), name
        shown = click.testing.CliRunner().invoke(cli, [name, "--help"])
        assert shown.exit_code == 0 and max(map(len, shown.output.splitlines())) <= 100


def test_exit_codes_are_documented():
    assert re.findall(r"^  (\d)  ", EPILOG, re.MULTILINE) == [str(int(code)) for code in ExitCode]


@pytest.mark.parametrize(
    "words", [["explan"], ["explain"], ["run", "x.pte", "--atol", "much"], ["bench", "full.pte", "--threads", "0"]]
)
def test_a_wrong_command_line(command, words):
    assert "Error: " in command(*words, code=ExitCode.USAGE).err


@needs_runtime
def test_the_runtime_does_not_log_a_wrong_option(folder):
    script = Path(sys.executable).parent / "et-xnnpack"
    words = [script, "run", "full.pte", "--option", "nix=1"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    lines = done.stderr.splitlines()
    assert (done.returncode, len(lines)) == (ExitCode.USAGE, 4) and lines[0].startswith("Usage: "), lines
    assert lines[-1] == "Error: Invalid value for '--option': there is no option 'nix'"


def test_a_mistake_of_ours_is_one_line_unless_asked_for(command, monkeypatch):
    def broken():
        raise KeyError("what is this")

    monkeypatch.setattr(doctor_module, "_facts", broken)
    error = command("doctor", code=ExitCode.MISTAKE).err
    assert "a mistake of et-xnnpack, please report it: KeyError: 'what is this'" in error
    monkeypatch.setenv("ET_XNNPACK_TRACEBACK", "1")
    done = click.testing.CliRunner().invoke(cli, ["doctor"])
    assert isinstance(done.exception, KeyError)


@pytest.mark.parametrize("words", [["inspect", "full.pte"], ["--help"], ["inspect", "--help"]])
def test_a_reader_that_has_enough(folder, words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        words = [sys.executable, "-m", "executorch.backends.et_xnnpack", *words]
        done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=folder)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", ["inspect full.pte", "inspect full.pte --json", "--help", "inspect --help"])
@pytest.mark.parametrize("output, reason", [("> /dev/full", "No space left on device"), (">&-", "it is closed")])
def test_an_output_that_cannot_be_written(folder, words, output, reason):
    command = f"{sys.executable} -m executorch.backends.et_xnnpack {words} {output}"
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, cwd=folder)
    error = f"Error: the standard output cannot be written: {reason}\n"
    assert (done.returncode, done.stderr) == (ExitCode.UNREADABLE, error)


def test_one_line_of_an_error():
    assert first_line(ValueError("\n  the reason\nmore")) == "ValueError: the reason"
    assert first_line(KeyError()) == "KeyError"
    ours = ["[backend.cpp:1] et_xnnpack: cannot load the delegate: why", "[method.cpp:2] Init failed"]
    assert reason_in(ours) == "cannot load the delegate: why"
    assert reason_in(ours[1:]) == "Init failed"
    assert reason_in(["[method.cpp:3] Missing operator: [2] aten::x.out"]).endswith(
        "no kernel of aten::x.out, which is outside of delegates"
    )
    assert reason_in(["hello"]) is None
