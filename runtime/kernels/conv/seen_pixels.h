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

// Writes what windows see of an image [rows, `image_width`, channels], row by row, with `outside` as padding, and
// returns where it ends. copy(from, count, to) copies numbers of the image.
template <typename From, typename To, typename Copy>
To* copy_seen_pixels(
    const From* image,
    size_t image_width,
    size_t channels,
    const SeenPixels& rows,
    const SeenPixels& columns,
    To outside,
    const Copy& copy,
    To* to) {
  const size_t before = columns.before * channels, inside = columns.inside * channels;
  const size_t row = columns.count * channels;
  const From* from = image + (rows.first * image_width + columns.first) * channels;
  for (size_t i = 0; i < rows.count; ++i, to += row) {
    if (i - rows.before >= rows.inside) { // wraps below 0
      std::fill_n(to, row, outside);
      continue;
    }
    std::fill_n(to, before, outside);
    copy(from, inside, to + before);
    std::fill_n(to + before + inside, row - before - inside, outside);
    from += image_width * channels;
  }
  return to;
}

} // namespace executorch::backends::et_xnnpack
