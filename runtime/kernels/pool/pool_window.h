// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/base/memory.h"

namespace executorch::backends::et_xnnpack {

// The input positions begin, begin + step, ... below end that one output position
// reads along one axis, and how many it counts.
struct PoolWindow {
  size_t begin, end, step, counted;
};

// One axis of an image.
struct PoolAxis {
  size_t input = 0, output = 0; // sizes
  bool adaptive = false; // windows that share the input evenly, as PyTorch has them; the rest does not count then
  size_t kernel = 1, stride = 1, padding = 0, dilation = 1; // padding before the image
  size_t counted_before = 0, counted_after = 0; // how much of the padding an average counts
};

// The windows of all output positions.
Status assign_windows(const PoolAxis& axis, Array<PoolWindow>& windows);

} // namespace executorch::backends::et_xnnpack
