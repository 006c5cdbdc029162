# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Ahead of time: an exported program is partitioned, lowered, optimized and serialized."""
