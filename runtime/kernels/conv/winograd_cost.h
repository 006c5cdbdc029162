// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "conv.h"
#include "runtime/base/caches.h"

namespace executorch::backends::et_xnnpack {

// Rows and columns of the tiles, up to `largest`, in which WinogradConv computes this convolution in clearly less time than
// a sum of products takes, at these sizes and with vectors of as many floats; 0 if there are none, or if it cannot.
size_t choose_winograd_tile(const ConvParameters& parameters, size_t largest, size_t lanes, const Caches& caches);

} // namespace executorch::backends::et_xnnpack
