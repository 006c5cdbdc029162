// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// Rows to normalize, each over its whole length. Mean and rstd may be null, both.
struct LayerNormRows {
  const float* x = nullptr;
  size_t rows = 0, length = 0;
  const float* weight = nullptr; // may be null
  const float* bias = nullptr; // may be null
  float epsilon = 0;
  float* y = nullptr;
  float* mean = nullptr;
  float* rstd = nullptr;
};

} // namespace executorch::backends::et_xnnpack
