# Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
"""The passes, in order, each with the reason for its place."""

from .. import progress
from ..ir import Graph
from ..verify import check_interface, check_outputs, verify
from .choose_layout import choose_layout
from .collapse_views import collapse_views
from .copy_outputs import copy_outputs
from .drop_casts import drop_casts
from .drop_unused import drop_unused
from .fold_batch_norm import fold_batch_norm
from .fold_constants import fold_constants
from .fold_dynamic_convolution import fold_dynamic_convolution
from .fold_quantization import fold_quantization
from .fold_quantized_linear import fold_quantized_linear
from .fuse_clamp import fuse_clamp
from .fuse_pad import fuse_pad
from .merge_convolutions import merge_convolutions
from .merge_duplicates import merge_duplicates
from .merge_slice_scatters import merge_slice_scatters
from .narrow_tables import narrow_tables
from .recognize_activations import recognize_activations
from .recognize_attention import recognize_attention
from .recognize_layer_norm import recognize_layer_norm
from .recognize_rotary_embedding import recognize_rotary_embedding
from .recognize_squared_difference import recognize_squared_difference
from .remove_no_ops import remove_no_ops
from .sink_reshapes import sink_reshapes
from .transpose_matmul import transpose_matmul
from .trim_windows import trim_windows
from .write_out_zero_points import write_out_zero_points

_REPORTING = (write_out_zero_points, fold_quantization)

PIPELINE = [
    drop_unused,  # lowering makes what nobody reads; later passes look at who reads a value
    write_out_zero_points,  # the others know whole ones alone
    fold_constants,  # operands that become constants let more rules apply
    remove_no_ops,
    drop_casts,  # they stand between operators that could become one
    merge_duplicates,  # patterns compare operands by name
    merge_slice_scatters,  # while the slices of one tensor read it by name
    collapse_views,  # before what looks at the producer of an operand
    fold_quantized_linear,  # what is quantized at run time or in its weights alone; the rest is for fold_quantization
    fold_dynamic_convolution,  # likewise, and before layouts are chosen
    transpose_matmul,  # attention then reads its key as it is
    recognize_activations,
    recognize_attention,
    choose_layout,  # with as few operators as possible; behind it channels are the last axis
    collapse_views,  # moving and lowering both made some
    sink_reshapes,
    collapse_views,  # a reshape that sank onto another
    remove_no_ops,
    recognize_layer_norm,  # over the last axes in memory
    recognize_rotary_embedding,  # likewise
    recognize_squared_difference,  # a layer norm has one, too
    fold_batch_norm,  # before clamps, which would end a chain of products and sums
    merge_convolutions,  # with the batch norms that each of them had
    fold_batch_norm,  # and what their sum is scaled by
    fuse_pad,
    fuse_clamp,
    fold_quantization,  # with as few operators as possible between quantize and dequantize
    trim_windows,  # of integers, too
    narrow_tables,  # behind what computes with constants
    merge_duplicates,  # folding and moving made constants
    copy_outputs,  # last: others remove copies and merge outputs
]


def optimize(graph: Graph, float_fallbacks: list[tuple[str, str, str]] | None = None) -> Graph:
    """Runs the pipeline. After each pass the graph is verified, its inputs and outputs are compared.

    ``float_fallbacks`` gets name, operator and reason of what computes in float32 between dequantize and quantize, or
    with weights that become float32.
    """
    verify(graph)
    for run in PIPELINE:
        progress.step(f"pass {run.__name__}")
        before, graph = graph, run(graph, float_fallbacks) if run in _REPORTING else run(graph)
        try:
            verify(graph)
            check_interface(before, graph)
        except ValueError as error:
            raise ValueError(f"after pass {run.__name__}: {error}") from error
    check_outputs(graph)
    return graph
