// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// One group of one image whose channels are rows of `inner` neighbours: `outer` blocks of
// `channels` rows, a block `stride` elements behind the one before.
struct PlanarGroup {
  const float* x = nullptr;
  size_t outer = 0, stride = 0, channels = 0, inner = 0;
  const float* weight = nullptr; // may be null
  const float* bias = nullptr; // may be null
  float epsilon = 0;
  float* y = nullptr;
  float mean = 0, rstd = 0; // results
};

// Some pixels of one image, whose channels are neighbours.
struct PixelRun {
  const float* x = nullptr;
  size_t pixels = 0, channels = 0;
};

} // namespace executorch::backends::et_xnnpack
