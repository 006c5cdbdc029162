# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What the runtime's sources say."""

import re
from pathlib import Path

RUNTIME = Path(__file__).resolve().parents[1] / "runtime"


def constant(name: str, path: str) -> int:
    """The value of a constant in C++; ``path`` is below ``runtime``."""
    (value,) = re.findall(rf"\b{name} = ([^;]+);", (RUNTIME / path).read_text())
    return eval(re.sub(r"\w+\{(\d+)\}", r"\1", value), {})
