// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// Reductions of every type and kind but the sum and the mean of floats.
std::unique_ptr<Kernel> make_typed_reduce(const NodeContext& node);

std::unique_ptr<Kernel> make_arg_reduce(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
