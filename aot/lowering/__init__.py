# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Edge program -> ``ir.Graph``.

``Lowering`` translates nodes one by one, each by the row of its operator, which sees a ``RowContext``.
``Support`` runs the same translation dry, on shapes alone, and so tells which nodes can be taken and why the
others cannot; ``try_group`` does it for a group of nodes as a program of its own.
"""

from .lower import lower
from .nodes import is_check, is_size, reads_or_checks_integer, target_name
from .support import Support
from .trial import try_group
from .unsupported import Unsupported

__all__ = [
    "Support",
    "Unsupported",
    "is_check",
    "is_size",
    "lower",
    "reads_or_checks_integer",
    "target_name",
    "try_group",
]
