# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""Tests of the official XNNPACK delegate that assert what it does not do, or how it does it."""

INTERNALS = {}
