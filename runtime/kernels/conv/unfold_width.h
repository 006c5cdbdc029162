// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pthreadpool.h>

namespace executorch::backends::et_xnnpack {

// Images [N, H, W, C] of bytes become [N, H, OW, kernel * C]: each column of the output of a convolution has the pixels
// of a row that its window sees one behind the other, so that a window of one column is left to multiply by.
struct WidthUnfold {
  size_t rows; // N * H
  size_t width, channels;
  size_t output_width;
  size_t kernel, stride, padding; // the dilation is 1
  int8_t zero_point; // of pixels outside

  size_t pixel_bytes() const {
    return kernel * channels;
  }
};

void unfold_width(const WidthUnfold& unfold, const int8_t* x, int8_t* y, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
