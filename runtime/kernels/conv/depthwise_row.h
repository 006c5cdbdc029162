// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

#include "runtime/base/dtype.h"
#include "runtime/base/shape.h"

namespace executorch::backends::et_xnnpack {

constexpr size_t kPartChannels = 64; // whole vectors of any instruction set, and whole cache lines

// A convolution of each channel by itself, NHWC, or of each group of few channels (grouped_row.h).
struct Depthwise {
  struct Axis {
    size_t input, output; // sizes
    size_t kernel, stride, padding, dilation;
  };

  size_t images = 0, channels = 0;
  size_t group = 1; // channels in and out of each group
  struct Part {
    size_t begin, end; // multiples of kPartChannels, or the end of all
  };
  Part part{}; // of the channels: what is computed
  Axis height{}, width{};
  const void* input = nullptr;
  DType input_type = DType::Float32; // this, or `type` if that is Float16 or BFloat16
  const void* weight = nullptr; // [height.kernel * width.kernel, group, channels]
  DType type = DType::Float32; // of the weight: this, Float16, BFloat16 or Int8
  const float* scale = nullptr; // of the weights of each channel; null unless of integers
  const float* zero_point = nullptr; // likewise
  const float* bias = nullptr; // may be null
  float min = 0, max = 0;
};

// Whether kernels made now have loops for such a width that load each pixel once for all windows of a row that see it,
// of weights and images of the same type.
bool loads_pixels_once(const Depthwise::Axis& width);

// [channels, taps] -> [taps, channels] of this type. The weight is Int8 if the type is, else Float32.
void pack_depthwise(DType type, const void* weight, size_t channels, size_t taps, void* packed);

using DepthwiseRow = void (*)(const Depthwise& conv, size_t row, float* output);

// Computes one row of one image, [width.output, channels]: `row` counts those of all images.
DepthwiseRow choose_depthwise_row();

} // namespace executorch::backends::et_xnnpack
