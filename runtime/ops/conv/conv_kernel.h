// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// Whether a Conv2d has one channel in and out in each group.
bool is_depthwise(const NodeContext& node);

// With a weight of Float32.
std::unique_ptr<Kernel> make_conv2d(const NodeContext& node);
std::unique_ptr<Kernel> make_conv_transpose2d(const NodeContext& node);

// With a weight that stays in the 16 or 8 bits in which the program has it.
// REQUIRES: is_low_precision(weight), a constant; no 32-bit sum or product of window sizes overflows
std::unique_ptr<Kernel> make_low_precision_conv2d(const NodeContext& node);
std::unique_ptr<Kernel> make_low_precision_conv_transpose2d(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
