// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <algorithm>
#include <cstddef>

namespace executorch::backends::et_xnnpack {

// What so many windows from `first_window` on see of an axis of an image that has `size` rows or columns.
struct SeenPixels {
  template <typename Axis> // ConvParameters::Axis, of dilation 1, or Int8ConvParameters::Axis
  SeenPixels(size_t first_window, size_t windows, size_t kernel, const Axis& axis, size_t size)
      : count((windows - 1) * axis.stride + kernel) {
    const size_t begin = first_window * axis.stride; // with the padding before the image
    before = std::min(count, axis.padding > begin ? axis.padding - begin : 0);
    const size_t from = begin + before - axis.padding; // wraps if all is outside
    inside = from >= size ? 0 : std::min(size - from, count - before);
    first = inside == 0 ? 0 : from;
  }

  size_t count;
  size_t before; // outside the image
  size_t first, inside; // of the image
};

} // namespace executorch::backends::et_xnnpack
