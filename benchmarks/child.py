# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Scripts of ours in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path


class Failed(RuntimeError):
    """A script ended with ``status``; the message is the end of what it said."""

    def __init__(self, status: int, errors: str):
        super().__init__(errors[-2000:])
        self.status = status


def ask(script: str, *words) -> dict:
    """What a script of this folder says, as JSON in the last line that it prints."""
    command = [sys.executable, "-W", "ignore", script, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).resolve().parent)
    if done.returncode != 0:
        raise Failed(done.returncode, done.stderr)
    return json.loads(done.stdout.splitlines()[-1])
