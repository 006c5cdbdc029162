// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/op.h"

namespace executorch::backends::et_xnnpack {

// What XNNPACK has for Unary and Binary. `float16`: operands that are Float32 are Float16 tensors instead, but for
// constants, which are rounded here. Binary also takes 8 bits.
// REQUIRES: XNNPACK has the node
std::unique_ptr<Kernel> make_xnnpack_unary(const NodeContext& node, bool float16);
std::unique_ptr<Kernel> make_xnnpack_binary(const NodeContext& node, bool float16);

// Whether XNNPACK has the kind, and better than our kernels.
bool has_xnnpack_unary(schema::UnaryKind kind);
bool has_xnnpack_binary(schema::BinaryKind kind);

} // namespace executorch::backends::et_xnnpack
