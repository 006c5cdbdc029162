// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// A convolution of each channel by itself, NHWC.
struct Depthwise {
  struct Axis {
    size_t input, output; // sizes
    size_t kernel, stride, padding, dilation;
  };

  size_t images = 0, channels = 0;
  Axis height{}, width{};
  const float* input = nullptr;
  const float* weight = nullptr; // [height.kernel * width.kernel, channels]
  const float* bias = nullptr; // may be null
  float* output = nullptr;
  float min = 0, max = 0;
};

// [channels, taps] -> [taps, channels]
void pack_depthwise(const float* weight, size_t channels, size_t taps, float* packed);

using DepthwiseRow = void (*)(const Depthwise& conv, size_t row);

// Computes one row of one image: `row` counts those of all images.
DepthwiseRow choose_depthwise_row();

} // namespace executorch::backends::et_xnnpack
