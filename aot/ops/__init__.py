# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What is delegated, by family. ``registry`` explains a row."""

import importlib
import pkgutil

from .registry import ROWS, Row, op

for _module in pkgutil.iter_modules(__path__):
    if _module.name != "registry":
        importlib.import_module(f"{__name__}.{_module.name}")

__all__ = ["ROWS", "Row", "op"]
