// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "conv.h"
#include "runtime/base/caches.h"

namespace executorch::backends::et_xnnpack {

// Rows and columns of the tiles, up to `largest`, in which WinogradConv computes this convolution in clearly less time
// than a sum of products takes, at these sizes and with vectors of as many floats; 0 if there are none, or if it
// cannot. `bfloat16_speed` is 1, or how many times as fast that sum multiplies numbers rounded to bfloat16.
size_t choose_winograd_tile(
    const ConvParameters& parameters, size_t largest, size_t lanes, const Caches& caches, size_t bfloat16_speed = 1);

} // namespace executorch::backends::et_xnnpack
