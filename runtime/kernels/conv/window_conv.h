// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "conv.h"
#include "image_parts.h"

namespace executorch::backends::et_xnnpack {

// A convolution of images with few channels, of Float32 with a constant weight: windows are multiplied where they lie,
// in rows of the image that are copied with their padding, so that nothing is gathered and each pixel is loaded from a
// place that is known. Sums go on in the order of the window, as XNNPACK's do.
// REQUIRES: has(); no 32-bit sum or product of window sizes overflows
class WindowConv {
 public:
  // Whether there is one group, and neighbours are seen as neighbours.
  static bool has(const ConvParameters& parameters);
  // Whether it is faster than XNNPACK's operator on this CPU.
  static bool is_fast();

  static std::optional<std::string> packed_layout(const ConvParameters& parameters, size_t i);
  static size_t packed_bytes(const ConvParameters& parameters, size_t i);
  static Status pack(const ConvParameters& parameters, size_t i, const void* original, void* packed);

  size_t reshape(const ConvParameters& parameters, size_t num_threads);
  void run(const KernelArguments& arguments);

 private:
  ConvParameters parameters_;
  ImageParts parts_;
  size_t thread_bytes_ = 0; // of a copy
};

} // namespace executorch::backends::et_xnnpack
