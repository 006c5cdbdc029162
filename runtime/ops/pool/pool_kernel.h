// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/pool/max_pool_indices.h"
#include "runtime/kernels/pool/pool.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
PoolParameters avg_pool2d_parameters(const NodeContext& node);
PoolParameters max_pool2d_parameters(const NodeContext& node);
PoolParameters adaptive_pool2d_parameters(const NodeContext& node);
MaxPoolIndicesParameters max_pool_indices_parameters(const NodeContext& node);

inline constexpr auto make_avg_pool2d = make_kernel_of<Pool, avg_pool2d_parameters>;
inline constexpr auto make_max_pool2d = make_kernel_of<Pool, max_pool2d_parameters>;
inline constexpr auto make_adaptive_pool2d = make_kernel_of<Pool, adaptive_pool2d_parameters>;
inline constexpr auto make_max_pool_indices = make_kernel_of<MaxPoolIndices, max_pool_indices_parameters>;

} // namespace executorch::backends::et_xnnpack
