// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "runtime/kernels/norm/group_norm.h"
#include "runtime/kernels/norm/layer_norm.h"
#include "runtime/ops/common/kernel_of.h"

namespace executorch::backends::et_xnnpack {

// What kernels must know of a node.
RowNormParameters layer_norm_parameters(const NodeContext& node);
RowNormParameters rms_norm_parameters(const NodeContext& node);
GroupNormParameters group_norm_parameters(const NodeContext& node);

inline constexpr auto make_layer_norm = make_kernel_of<LayerNorm, layer_norm_parameters>;
inline constexpr auto make_rms_norm = make_kernel_of<RmsNorm, rms_norm_parameters>;
inline constexpr auto make_group_norm = make_kernel_of<GroupNorm, group_norm_parameters>;

} // namespace executorch::backends::et_xnnpack
