// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "op.h"

namespace executorch::backends::et_xnnpack {

// The kernel that has XNNPACK compute a node; null if XNNPACK has no such operator. `float16`: operands that are Float32
// are Float16 tensors instead, but for constants, which the kernel rounds.
// REQUIRES: XNNPACK has the node for these operands, with `float16` in float16
std::unique_ptr<Kernel> make_xnnpack_kernel(const NodeContext& node, bool float16);

} // namespace executorch::backends::et_xnnpack
