# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Graph -> Graph, one pass in a file of its name; ``pipeline`` is the order and why."""

from .pipeline import PIPELINE, optimize

__all__ = ["PIPELINE", "optimize"]
