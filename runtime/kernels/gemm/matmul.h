// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_linear(const NodeContext& node);
// Whether make_linear() leaves the weight in the 16 or 8 bits in which the program has it.
bool keeps_linear_weight(const NodeContext& node);
// For a weight of integers that stays so between other operands of any kind; null if it is none.
std::unique_ptr<Kernel> make_linear_of_integers(const NodeContext& node);
// The same of a constant operand 1 in 16 bits and make_batch_matmul().
bool keeps_batch_matmul_weight(const NodeContext& node);
std::unique_ptr<Kernel> make_batch_matmul(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
