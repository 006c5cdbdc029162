// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_conv2d(const NodeContext& node);
std::unique_ptr<Kernel> make_conv_transpose2d(const NodeContext& node);

// The same with a weight that stays in the 16 or 8 bits in which the program has it.
// REQUIRES: is_narrow(weight), a constant; no 32-bit sum or product of window sizes overflows
std::unique_ptr<Kernel> make_narrow_conv2d(const NodeContext& node);
std::unique_ptr<Kernel> make_narrow_depthwise(const NodeContext& node); // also: is_depthwise(node)
std::unique_ptr<Kernel> make_narrow_conv_transpose2d(const NodeContext& node);

// Whether a Conv2d has one channel in and out in each group.
bool is_depthwise(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
