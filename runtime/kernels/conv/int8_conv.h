// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstdint>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// A convolution between integers of 8 bits, of which q stands for (q - zero_point) * scale. The dilation is 1.
struct Int8ConvParameters {
  struct Axis {
    size_t stride = 1, padding = 0; // padding before the image; that behind it is in `output`
  };

  Shape input; // [N, H, W, C]
  Shape weight; // [OC, KH, KW, IC]
  Shape output; // [N, OH, OW, OC]
  Axis height, width;
  float input_scale = 1, output_scale = 1;
  int8_t input_zero_point = 0, output_zero_point = 0;
  Span<const float> weight_scale; // one, or one for each channel; zero points are 0
  int8_t min = INT8_MIN, max = INT8_MAX; // of the result

  // Of the results' integers: what a sum of products is multiplied by.
  float scale_of(size_t channel) const {
    return input_scale * weight_scale[weight_scale.size() == 1 ? 0 : channel] / output_scale;
  }
  // What the sum of products of a channel begins with, if 128 is added to the integers of the image: `sum` is that of its
  // weights. As XNNPACK's, sums of large biases wrap around.
  int32_t first_sum(int32_t bias, int32_t sum) const {
    return static_cast<int32_t>(static_cast<uint32_t>(bias) - static_cast<uint32_t>((input_zero_point + 128) * sum));
  }
};

} // namespace executorch::backends::et_xnnpack
