// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_linear(const NodeContext& node);
// Whether the program has the weight, of Float32, in 16 bits.
bool has_half_weight(const NodeContext& node);
// Leaves it so. REQUIRES: has_half_weight(node)
std::unique_ptr<Kernel> make_half_linear(const NodeContext& node);
std::unique_ptr<Kernel> make_batch_matmul(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
