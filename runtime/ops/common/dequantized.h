// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/choice.h"

namespace executorch::backends::et_xnnpack {

// Computes a node with quantized operands by the kernel that `make` gives for Float32.
std::unique_ptr<Kernel> make_dequantized(const MakeKernel& make, const NodeContext& node);

// By the kernel that `make` gives for a node of Float32 but for operand 1, a constant that stays as it is;
// null if it gives none.
std::unique_ptr<Kernel> make_dequantized_but_weight(const MakeKernel& make, const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
