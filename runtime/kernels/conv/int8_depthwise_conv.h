// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>

#include "int8_conv.h"

namespace executorch::backends::et_xnnpack {

// A convolution of each channel by itself: inputs 0 and 1, the image and a constant weight, and an optional constant
// bias, input 2, of Int32 whose scale is that of the products.
class Int8DepthwiseConv {
 public:
  // Whether it takes such windows.
  static bool has(size_t kernel_height, size_t kernel_width, size_t stride_width);

  static std::optional<std::string> packed_layout(const Int8ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const Int8ConvParameters& parameters, size_t i);
  static Status pack(const Int8ConvParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const Int8ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  Int8ConvParameters parameters_;
  Int8Sums sums_;
  size_t offsets_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
