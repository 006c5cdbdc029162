# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tables in Markdown."""

from tabulate import tabulate


def table(headers, rows) -> str:
    """Cells are text: none is aligned or written as a number."""
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)
