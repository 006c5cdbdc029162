// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

class NodeContext;

// What XNNPACK has for Conv2d and ConvTranspose2d, in the format that the operands say: Float32; 8 bits; a weight of 8
// bits with images that are quantized dynamically. `float16`: operands that are Float32 are Float16 tensors instead,
// but for constants, which are rounded here. REQUIRES: XNNPACK has the node; with `float16` no operand is quantized and
// the clamp is_range_in_float16()
std::unique_ptr<Kernel> make_xnnpack_conv2d(const NodeContext& node, bool float16);
std::unique_ptr<Kernel> make_xnnpack_conv_transpose2d(const NodeContext& node, bool float16);

// Whether each pixel of the result of a Conv2d is a product of the pixel at its place: what make_xnnpack_pixel_product()
// requires.
bool is_pixel_product(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
