// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include "pool_window.h"

namespace executorch::backends::et_xnnpack {

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
