// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "image_parts.h"
#include "int8_conv.h"

namespace executorch::backends::et_xnnpack {

// A convolution in groups of few channels, as many in as out: a vector has the channels of the output of several
// groups, and of those of the input that each of them sees four at a time. Inputs 0 and 1 are the image and a constant
// weight, input 2 is an optional constant bias of Int32 whose scale is that of the products.
class Int8GroupedConv {
 public:
  // Whether it takes such a convolution. Fast where has_fast_int8_conv().
  static bool has(const Int8ConvParameters& parameters);

  static std::optional<std::string> packed_layout(const Int8ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const Int8ConvParameters& parameters, size_t i);
  static Status pack(const Int8ConvParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const Int8ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  Int8ConvParameters parameters_;
  Int8Sums sums_;
  std::vector<uint8_t> lanes_; // which byte of the input each lane sees
  ImageParts parts_;
  size_t offsets_bytes_ = 0, thread_bytes_ = 0;
};

} // namespace executorch::backends::et_xnnpack
