# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""What passes may know about each operator."""

from .table import TRAITS, Traits, traits_of

__all__ = ["TRAITS", "Traits", "traits_of"]
