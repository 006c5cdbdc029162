# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What all runs together have looked at: build/fuzz/totals.json, by kind of input and by commit."""

import fcntl
import functools
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "fuzz"


@functools.cache
def commit() -> str:
    """That of the checkout when the run began, marked if files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def add(kind: str, count: int, folder: Path = FOLDER) -> int:
    """All inputs of this kind since build/fuzz was made. Several processes may add at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "totals.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        totals = json.loads(file.read() or "{}")
        by_commit = totals.setdefault(kind, {})
        by_commit[commit()] = by_commit.get(commit(), 0) + count
        file.truncate(0)
        json.dump(totals, file, indent=1)
        return sum(by_commit.values())


class Counter:
    """Adds to the totals now and then, so that a run that is killed is counted, too."""

    def __init__(self, kind: str, folder: Path = FOLDER, every: int = 1):
        self._kind, self._folder, self._every, self._added = kind, folder, every, 0
        self.total = add(kind, 0, folder)

    def reached(self, count: int, is_last: bool = False) -> int:
        """This run has looked at so many. Returns those of all runs."""
        new = count - self._added
        if new >= self._every or is_last:
            self._added = count
            self.total = add(self._kind, new, self._folder)
        return self.total
