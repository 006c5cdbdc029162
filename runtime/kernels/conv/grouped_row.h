// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "depthwise_row.h"

namespace executorch::backends::et_xnnpack {

// Convolutions in groups of fewer channels than a vector has, of Float32: a vector of channels of the output is a sum
// of those of the input, in which each lane has been replaced by one of its group.

// Whether kernels made now take such a convolution; only its group, its channels and its width count.
bool has_grouped_row(const Depthwise& conv);

// [channels, taps, group] -> [taps, group, channels]
void pack_grouped(const float* weight, size_t channels, size_t taps, size_t group, float* packed);

// Computes rows as choose_depthwise_row() does. REQUIRES: has_grouped_row()
DepthwiseRow choose_grouped_row();

} // namespace executorch::backends::et_xnnpack
