// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

struct OpImpl;

// Computes a node with quantized operands by the kernel of the op for Float32.
std::unique_ptr<Kernel> make_in_float(const OpImpl& op, const NodeContext& node);

// By the kernel that `make` gives for a node of Float32 but for operand 1, a constant that stays as it is;
// null if it gives none.
std::unique_ptr<Kernel> make_in_float_but_weight(
    std::unique_ptr<Kernel> (*make)(const NodeContext&), const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
