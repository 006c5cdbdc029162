// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/recurrent/recurrent.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
RecurrentParameters recurrent_parameters(const NodeContext& node);

inline constexpr auto make_recurrent = make_kernel_of<Recurrent, recurrent_parameters>;

} // namespace executorch::backends::et_xnnpack
