# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The blob: its schema, and ``ir.Graph`` -> bytes. The format is in ``format.md``."""
