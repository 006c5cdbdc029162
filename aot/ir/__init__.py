# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The graph that passes rewrite and the serializer writes. Knows nothing of torch."""

from .dims import Dim, Range, is_static, numel
from .graph import Builder, Constant, Graph, Input, Node, Output, Rewriter, Source, State, Value, rewrite
from .quantization import Quantization
from .text import parse

__all__ = [
    "Builder",
    "Constant",
    "Dim",
    "Graph",
    "Input",
    "Node",
    "Output",
    "Quantization",
    "Range",
    "Rewriter",
    "Source",
    "State",
    "Value",
    "is_static",
    "numel",
    "parse",
    "rewrite",
]
