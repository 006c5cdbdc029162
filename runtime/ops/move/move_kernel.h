// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/move/box_copies.h"
#include "runtime/kernels/move/concat_rows.h"
#include "runtime/kernels/move/edge_pad.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
BoxCopiesParameters copy_parameters(const NodeContext& node);
BoxCopiesParameters transpose_parameters(const NodeContext& node);
BoxCopiesParameters expand_parameters(const NodeContext& node);
BoxCopiesParameters slice_parameters(const NodeContext& node);
BoxCopiesParameters concat_parameters(const NodeContext& node);
ConcatRowsParameters concat_rows_parameters(const NodeContext& node);
BoxCopiesParameters constant_pad_parameters(const NodeContext& node);
EdgePadParameters edge_pad_parameters(const NodeContext& node);

// These take every dtype.
inline constexpr auto make_copy = make_kernel_of<BoxCopies, copy_parameters>;
inline constexpr auto make_transpose = make_kernel_of<BoxCopies, transpose_parameters>;
inline constexpr auto make_expand = make_kernel_of<BoxCopies, expand_parameters>;
inline constexpr auto make_slice = make_kernel_of<BoxCopies, slice_parameters>;
inline constexpr auto make_concat = make_kernel_of<BoxCopies, concat_parameters>;
inline constexpr auto make_concat_rows = make_kernel_of<ConcatRows, concat_rows_parameters>;
// With a constant, and with elements of the operand. REQUIRES: rank over 0 of the second
inline constexpr auto make_constant_pad = make_kernel_of<BoxCopies, constant_pad_parameters>;
inline constexpr auto make_edge_pad = make_kernel_of<EdgePad, edge_pad_parameters>;

} // namespace executorch::backends::et_xnnpack
