// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

class NodeContext;

// What XNNPACK has for AvgPool2d, for AdaptivePool2d to a single pixel, and for MaxPool2d of Int8. `float16`: operands that
// are Float32 are Float16 tensors instead.
// REQUIRES: XNNPACK has the node
std::unique_ptr<Kernel> make_xnnpack_avg_pool2d(const NodeContext& node, bool float16);
std::unique_ptr<Kernel> make_xnnpack_adaptive_pool2d(const NodeContext& node, bool float16);
std::unique_ptr<Kernel> make_xnnpack_max_pool2d(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
