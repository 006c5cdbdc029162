// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_unary(const NodeContext& node);
std::unique_ptr<Kernel> make_binary(const NodeContext& node);

// The function of a Unary node of `count` elements.
void compute_unary(const NodeContext& node, const float* x, float* y, size_t count);

// Null if the node only copies.
std::unique_ptr<Row> make_unary_row(const NodeContext& node);
// Null unless the operands are Float32.
std::unique_ptr<Row> make_binary_row(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
