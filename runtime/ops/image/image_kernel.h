// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <memory>

#include "runtime/ops/kernel.h"

namespace executorch::backends::et_xnnpack {

std::unique_ptr<Kernel> make_resize2d(const NodeContext& node);
std::unique_ptr<Kernel> make_grid_sample(const NodeContext& node);

} // namespace executorch::backends::et_xnnpack
