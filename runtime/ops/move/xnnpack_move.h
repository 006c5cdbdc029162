// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

class NodeContext;

// What XNNPACK has for Concat and Slice of Float32 or 8 bits. `float16`: operands that are Float32 are Float16 tensors
// instead, but for constants, which are rounded here.
// REQUIRES: XNNPACK has the node
std::unique_ptr<Kernel> make_xnnpack_concat(const NodeContext& node, bool float16);
std::unique_ptr<Kernel> make_xnnpack_slice(const NodeContext& node, bool float16);

} // namespace executorch::backends::et_xnnpack
