// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"
#include "runtime/ops/kernel.h"

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

// Whether each pixel of the output sees the one at its place only: the image is the matrix of patches.
template <typename Attributes>
bool is_pointwise(const Attributes& attributes, const Shape& input, const Shape& weight, const Shape& output) {
  const auto& stride = *attributes.stride();
  const auto& padding = *attributes.padding();
  return weight[1] * weight[2] == 1 && input[1] == output[1] && input[2] == output[2] && stride.height() == 1 &&
      stride.width() == 1 && padding.top() == 0 && padding.left() == 0;
}

} // namespace executorch::backends::et_xnnpack
