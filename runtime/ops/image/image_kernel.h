// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/image/grid_sample.h"
#include "runtime/kernels/image/resize.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
Resize2dParameters resize2d_parameters(const NodeContext& node);
GridSampleParameters grid_sample_parameters(const NodeContext& node);

inline constexpr auto make_resize2d = make_kernel_of<Resize2d, resize2d_parameters>;
inline constexpr auto make_grid_sample = make_kernel_of<GridSample, grid_sample_parameters>;

} // namespace executorch::backends::et_xnnpack
