// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "kernel.h"

namespace executorch::backends::et_xnnpack {

struct OpImpl;

// Computes a node with quantized operands by the kernel of the op for Float32.
std::unique_ptr<Kernel> make_in_float(const OpImpl& op, const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
