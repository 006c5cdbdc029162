// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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
  // What the sum of products of a channel begins with, if 128 is added to the integers of the image: `sum` is that of
  // its weights. As XNNPACK's, sums of large biases wrap around.
  int32_t first_sum(int32_t bias, int32_t sum) const {
    return static_cast<int32_t>(
        static_cast<uint32_t>(bias) - static_cast<uint32_t>(input_zero_point + 128) * static_cast<uint32_t>(sum));
  }
};

// Whether kernels made now run on instructions that sum up four products of 8 bits at once. Without, they are slow.
bool has_fast_int8_conv();

// What sums of products begin with and are multiplied by, in the order of packed channels.
class Int8Sums {
 public:
  // for_each_place(function) calls function(place) for each channel in turn, with one of so many places.
  template <typename ForEachPlace>
  void assign(const Int8ConvParameters& p, size_t places, const ForEachPlace& for_each_place) {
    scales_.assign(places, 0);
    size_t channel = 0;
    for_each_place([&](size_t place) { scales_[place] = p.scale_of(channel++); });
  }
  // Writes what they begin with, of packed biases, which may be null, and packed sums of weights.
  void begin(const Int8ConvParameters& p, const int32_t* bias, const int32_t* weight_sums, int32_t* offsets) const {
    for (size_t i = 0; i < scales_.size(); ++i) {
      offsets[i] = p.first_sum(bias == nullptr ? 0 : bias[i], weight_sums[i]);
    }
  }

  const float* scales() const {
    return scales_.data();
  }
  size_t bytes() const { // of what begin() writes
    return scales_.size() * sizeof(int32_t);
  }

 private:
  std::vector<float> scales_;
};

// The integer that a sum of products stands for, as vectors compute it.
inline int8_t finish_int8(int32_t sum, float scale, int8_t zero_point, int8_t min, int8_t max) {
  const float real = std::min(static_cast<float>(sum) * scale, static_cast<float>(max - zero_point));
  const int32_t q = static_cast<int32_t>(std::nearbyint(std::max(real, -256.0f))) + zero_point;
  return static_cast<int8_t>(std::max<int32_t>(q, min));
}

} // namespace executorch::backends::et_xnnpack
