// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

class NodeContext;

// What XNNPACK has for Linear, in the format that the operands say: Float32, with a weight that is a constant or not; 8
// bits. `float16`: operands that are Float32 are Float16 tensors instead, but for constants, which are rounded here.
// REQUIRES: XNNPACK has the node; with `float16` weight and bias are constants, no operand is quantized and the clamp
// is_range_in_float16()
std::unique_ptr<Kernel> make_xnnpack_linear(const NodeContext& node, bool float16);

// The same for Conv2d with a constant weight of 1 x 1, one group, stride 1 and no padding, whose images are not quantized
// dynamically.
std::unique_ptr<Kernel> make_xnnpack_pixel_product(const NodeContext& node, bool float16);

// What XNNPACK has for QuantizedLinear. REQUIRES: XNNPACK has the node
std::unique_ptr<Kernel> make_xnnpack_quantized_linear(const NodeContext& node);

// What XNNPACK has for BatchMatMul. `float16`: operands are Float16 tensors.
// REQUIRES: XNNPACK has the node; with `float16` no operand is a constant
std::unique_ptr<Kernel> make_xnnpack_batch_matmul(const NodeContext& node, bool float16);

} // namespace executorch::backends::et_xnnpack
