# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Who is measured when."""

import math
import time
from collections.abc import Iterable, Iterator


def turns(names: Iterable, rounds: int, seconds: float = math.inf, least: int = 3) -> Iterator[list]:
    """For each round the names in the order of their turns, which rotates, so that whatever else the machine does meets
    all of them. After ``seconds`` no round begins, but for the first ``least``."""
    order = list(names)
    enough = time.perf_counter() + seconds
    for i in range(rounds):
        if i >= least and time.perf_counter() > enough:
            return
        yield list(order)
        order.append(order.pop(0))
