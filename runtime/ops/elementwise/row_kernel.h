// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/kernels/elementwise/row.h"
#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// The rows of elementwise nodes, with which they can share a pass over memory. Null for a node that only
// copies, and for one whose row can fail: of several nodes nobody could tell which one did.
std::unique_ptr<Row> make_unary_row(const NodeContext& node);
std::unique_ptr<Row> make_binary_row(const NodeContext& node);
std::unique_ptr<Row> make_compare_row(const NodeContext& node);
std::unique_ptr<Row> make_where_row(const NodeContext& node);
std::unique_ptr<Row> make_cast_row(const NodeContext& node);
// Of one quantized operand or result. Null for what is neither a function of bytes nor a plain conversion
// between bytes and Float32.
std::unique_ptr<Row> make_quantized_unary_row(const NodeContext& node);
// Of operands and a result that are Float32 or quantized bytes with one scale; null for what is quantized otherwise.
std::unique_ptr<Row> make_quantized_binary_row(const NodeContext& node);
// REQUIRES: XNNPACK adds, subtracts or multiplies them
std::unique_ptr<Row> make_quantized_arithmetic_row(const NodeContext& node);

// A pass of one node; null if the row is.
std::unique_ptr<Kernel> make_row_kernel(std::unique_ptr<Row> row, const NodeContext& node);

// The same for a function that makes rows.
template <std::unique_ptr<Row> (*kMakeRow)(const NodeContext&)>
std::unique_ptr<Kernel> make_kernel_of_row(const NodeContext& node) {
  return make_row_kernel(kMakeRow(node), node);
}

// Those that have a kernel without a row, too.
std::unique_ptr<Kernel> make_unary(const NodeContext& node);
std::unique_ptr<Kernel> make_binary(const NodeContext& node);
std::unique_ptr<Kernel> make_quantized_unary(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
