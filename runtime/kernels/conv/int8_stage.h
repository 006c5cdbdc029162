// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstring>

#include "int8_conv.h"
#include "seen_pixels.h"

namespace executorch::backends::et_xnnpack {

// Writes what windows see of an image, row by row, with bytes that are 128 more, and with what stands for 0 as padding.
class Int8Stage {
 public:
  explicit Int8Stage(const Int8ConvParameters& parameters);

  static size_t bytes(const Int8ConvParameters& p, const SeenPixels& rows, const SeenPixels& columns) {
    return rows.count * columns.count * p.input[3] + kSlack;
  }

  void write(const int8_t* image, const SeenPixels& rows, const SeenPixels& columns, uint8_t* to) const {
    to = copy_seen_pixels(image, image_width_, channels_, rows, columns, outside_, copy_, to);
    std::memset(to, outside_, kSlack);
  }

 private:
  static constexpr size_t kSlack = 64; // bytes that a vector of the last pixel may reach into

  void (*copy_)(const int8_t* from, size_t count, uint8_t* to);
  size_t channels_, image_width_;
  uint8_t outside_;
};

} // namespace executorch::backends::et_xnnpack
