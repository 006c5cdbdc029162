# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What this process takes, as /proc tells."""

from pathlib import Path


def memory() -> dict[str, float]:
    """Megabytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    found = {s.split(":")[0]: s.split()[1] for s in lines if s.startswith(("VmHWM", "RssAnon", "RssFile"))}
    return {name: int(kilobytes) / 1e3 for name, kilobytes in found.items()}


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")
