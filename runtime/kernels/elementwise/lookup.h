// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"
#include "row.h"

namespace executorch::backends::et_xnnpack {

// Functions of one quantized operand, by a table of the results for all 256 integers, and plain
// conversions from and to Float32. Null for what is neither.
std::unique_ptr<Kernel> make_quantized_unary(const NodeContext& node);
std::unique_ptr<Row> make_quantized_unary_row(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
