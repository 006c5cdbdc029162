// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

// Numbers that follow from the sizes of a call.
std::unique_ptr<Kernel> make_iota(const NodeContext& node);
std::unique_ptr<Kernel> make_size_value(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
