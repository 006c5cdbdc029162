// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

// What the `choose` of several ops have in common. A limit is the reason why XNNPACK does not compute a node, a
// full sentence, or null if it can.

#include "common.h"
#include "runtime/ops/elementwise/row_kernel.h"
#include "runtime/xnnpack/parts.h"

namespace executorch::backends::et_xnnpack {

using Limit = const char*;

// Limits that several ops have.
inline constexpr Limit kFloat64 = "XNNPACK has no operators of Float64.";
inline constexpr Limit kNoOperator = "XNNPACK has no such operator.";
inline constexpr Limit kEmpty = "XNNPACK does not take empty tensors.";
inline constexpr Limit kHighRank = "XNNPACK takes tensors of rank 6 at most."; // XNN_MAX_TENSOR_DIMS
inline constexpr Limit kWrongSums =
    "This build of XNNPACK multiplies by -128 wrongly on this CPU."; // without Part::Sums

// Why XNNPACK cannot hold all operands: they must be Float32 (or stand for it), not empty, of no higher rank than it
// knows.
Limit operand_limit(const NodeContext& node);

// Why XNNPACK cannot compute these windows: 32-bit sums and products of their sizes would overflow inside it.
Limit window_limit(const Window& height, const Window& width);

// Why integers of 8 bits are not multiplied by a weight of so many in each sum.
Limit depth_limit(size_t depth);

// Whether the integers of a weight have one scale, or one for each index of its first axis, and zero points of 0.
bool has_symmetric_channels(const TensorType& weight);

// Why XNNPACK does not compute a product of operands 0 and 1, a weight by rows, and an optional bias in
// integers with this clamp.
Limit integer_product_limit(const NodeContext& node, const schema::Clamp* clamp);

// Why XNNPACK does not compute a product with this clamp in Float16.
Limit float16_clamp_limit(const schema::Clamp* clamp);

// Why XNNPACK does not compute it with the numbers that have no part of ours for it (runtime/xnnpack/parts.h): it would
// replace NaN. `size` as for xnnpack_keeps_nan().
Limit nan_limit(Limited op, bool float16, size_t size);
// The same of elementwise operators, for denormal numbers.
Limit denormal_limit();

// Whether all operands and results are Float32 and not quantized.
bool is_float32(const NodeContext& node);

// In XNNPACK unless there is a `limit` or the options rule it out, in Float16 if that is asked for and there is no
// `float16_limit`; else by the kernel.
Choice choose_xnnpack_or_kernel(
    const NodeContext& node,
    const ChoiceOptions& options,
    Limit limit,
    MakeXnnpackKernel xnnpack,
    MakeKernel make,
    Limit float16_limit = nullptr);

// Our kernel for Float32; for a quantized node the same one between dequantize and quantize.
Choice choose_kernel(const NodeContext& node, MakeKernel make, const char* reason);

// The `choose` of an op that has one kernel and nothing else.
template <std::unique_ptr<Kernel> (*kMake)(const NodeContext&)>
Choice choose_only_kernel(const NodeContext& node, const Cpu&, const ChoiceOptions&) {
  return choose_kernel(node, kMake, kNoOperator);
}

// The `choose` of an elementwise op that XNNPACK does not have: a row, and what computes a node that is alone.
template <
    std::unique_ptr<Row> (*kRow)(const NodeContext&),
    std::unique_ptr<Kernel> (*kAlone)(const NodeContext&) = make_kernel_of_row<kRow>>
Choice choose_row(const NodeContext& node, const Cpu&, const ChoiceOptions&) {
  return node.is_quantized() || kRow(node) == nullptr ? choose_kernel(node, kAlone, kNoOperator)
                                                      : Choice::elementwise(kRow, kAlone, kNoOperator);
}

} // namespace executorch::backends::et_xnnpack
