// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "conv.h"

namespace executorch::backends::et_xnnpack {

// A convolution with few channels out, of Float32 with a constant weight: each pixel of the image is multiplied by what
// all taps have for it, columns [KH, KW, OC] of one product that fills vectors where OC alone would not, and what a tap
// gives is added to the pixel of the output that sees this one by it, as col2im does.
// REQUIRES: has(); no 32-bit sum or product of window sizes overflows
class Col2ImConv {
 public:
  // Whether there is one group without dilation, and a stride only if it is transposed: all that is multiplied is used.
  static bool has(const ConvParameters& parameters);

  static std::optional<std::string> packed_layout(const ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const ConvParameters& parameters, size_t i);
  static Status pack(const ConvParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  // Tap t adds what it gives for position i of the image to position i * stride + t - padding of the output.
  struct Axis {
    int64_t stride = 1, padding = 0, kernel = 1, input = 0, output = 0;
  };
  // One row of the image as far as it was multiplied: `products` are those of pixel `begin`.
  struct Piece {
    int64_t row, begin, end;
    const float* products;
  };
  class Rows; // of the output

  static Axis axis_of(const ConvParameters& parameters, size_t i);
  void compute(const KernelArguments& arguments, size_t image, Rows& rows, float* products) const;
  void add(const Piece& piece, Rows& rows) const;

  ConvParameters parameters_;
  Axis height_, width_;
  size_t columns_ = 0; // of the product
  size_t pixels_ = 0, rows_ = 0, parts_ = 0; // multiplied at a time; rows of a part of an image, and how many of these
  size_t thread_bytes_ = 0; // of products
};

} // namespace executorch::backends::et_xnnpack
