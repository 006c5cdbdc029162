// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// The input positions begin, begin + step, ... below end that one output position
// reads along one axis, and how many it counts.
struct PoolWindow {
  size_t begin, end, step, counted;
};

// One row of the output of one image, NHWC.
struct PoolRow {
  const float* image;
  size_t width, channels; // of the image
  PoolWindow row;
  const PoolWindow* columns;
  size_t num_columns;
  size_t divisor; // 0: what the windows count
  float* output;
};

} // namespace executorch::backends::et_xnnpack
