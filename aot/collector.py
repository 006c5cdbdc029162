# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Python's garbage collector, while a program is lowered."""

import contextlib
import gc
from collections.abc import Iterator

_NEVER = 2**31 - 1


@contextlib.contextmanager
def no_full_collections() -> Iterator[None]:
    """Has the collector look at young objects only.

    A full collection visits all others, too, those of torch.export included, and the more nodes a program has, the more
    of these there are: the time of lowering would grow faster than the program.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(*thresholds[:2], _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
