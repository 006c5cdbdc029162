// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/shape.h"
#include "runtime/kernels/common/arguments.h"

namespace executorch::backends::et_xnnpack {

// A convolution of each channel by itself between integers of 8 bits, of which q stands for (q - zero_point) * scale. The
// dilation is 1.
struct Int8DepthwiseParameters {
  struct Axis {
    size_t stride = 1, padding = 0; // padding before the image; that behind it is in `output`
  };

  Shape input; // [N, H, W, C]
  Shape weight; // [C, KH, KW, 1]
  Shape output; // [N, OH, OW, C]
  Axis height, width;
  float input_scale = 1, output_scale = 1;
  int8_t input_zero_point = 0, output_zero_point = 0;
  Span<const float> weight_scale; // one, or one for each channel; zero points are 0
  int8_t min = INT8_MIN, max = INT8_MAX; // of the result
};

// Inputs 0 and 1, the image and a constant weight, and an optional constant bias, input 2, of Int32 whose scale is that of
// the products.
class Int8DepthwiseConv {
 public:
  // Whether it takes such windows.
  static bool has(size_t kernel_height, size_t kernel_width, size_t stride_width);
  // Whether kernels made now run on instructions that sum up four products of 8 bits at once. Others are slow here.
  static bool is_fast();

  static std::optional<std::string> packed_layout(const Int8DepthwiseParameters& parameters, size_t i);
  static size_t packed_bytes(const Int8DepthwiseParameters& parameters, size_t i);
  static Status pack(const Int8DepthwiseParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const Int8DepthwiseParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  Int8DepthwiseParameters parameters_;
  std::vector<float> scales_; // of the results' integers, in the order of packed weights
  size_t offsets_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
