// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// With operands of Float32.
std::unique_ptr<Kernel> make_linear(const NodeContext& node);
std::unique_ptr<Kernel> make_batch_matmul(const NodeContext& node);

// With operand 1, a constant, in the 16 or 8 bits in which the program has it.
// REQUIRES: is_low_precision(operand 1)
std::unique_ptr<Kernel> make_low_precision_linear(const NodeContext& node);
std::unique_ptr<Kernel> make_low_precision_batch_matmul(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
