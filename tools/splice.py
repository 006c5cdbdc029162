# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Parts of pages that programs write, between two lines that are comments."""


def splice(page: str, begin: str, part: str, end: str) -> str:
    """``page`` with ``part`` between the lines ``begin`` and ``end``, which it must have once."""
    head, *rest = page.split(begin)
    if len(rest) != 1 or rest[0].count(end) != 1 or end in head:
        raise ValueError(f"the page has no place for what is written, between the lines\n{begin}\n{end}")
    return f"{head}{begin}\n\n{part}\n\n{end}{rest[0].partition(end)[2]}"
