// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>

namespace executorch::backends::et_xnnpack {

// Rows [begin, end) of an image.
struct RowRange {
  size_t begin = 0, end = 0;

  size_t count() const {
    return end - begin;
  }
};

// Some rows of one image, of Float32 and [rows, columns, channels], that a kernel makes by themselves.
struct Strip {
  size_t thread; // no two strips of the same one are made at once
  RowRange rows; // of the output, at least one
  const void* input; // where row 0 of the image that is read would be: the rows that `rows` see are there
  float* output; // where the first of `rows` goes
};

} // namespace executorch::backends::et_xnnpack
