// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#include "unfold_width.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/round_up.h"
#include "runtime/kernels/common/parallel.h"

namespace executorch::backends::et_xnnpack {
namespace {

constexpr size_t kGrain = 16384; // bytes

// Copies `count` runs of `bytes` that begin `stride` apart, one behind the other. Short ones are copied with the bytes
// behind them, which the next run replaces.
void copy_runs(const int8_t* from, size_t stride, size_t bytes, size_t count, int8_t* to) {
  constexpr size_t kShort = 32;
  size_t i = 0;
  if (bytes <= kShort) {
    const size_t shortest = std::max<size_t>(std::min(stride, bytes), 1);
    const size_t exact = std::min(count, divide_up(kShort - bytes, shortest)); // have too little behind them
    for (; i < count - exact; ++i) {
      std::memcpy(to + i * bytes, from + i * stride, kShort);
    }
  }
  for (; i < count; ++i) {
    std::memcpy(to + i * bytes, from + i * stride, bytes);
  }
}

// What the window of column `column` sees of a row, some of it outside.
void copy_edge(const WidthUnfold& unfold, const int8_t* row, size_t column, int8_t* to) {
  for (size_t k = 0; k < unfold.kernel; ++k, to += unfold.channels) {
    const size_t i = column * unfold.stride + k - unfold.padding; // wraps below 0
    if (i < unfold.width) {
      std::memcpy(to, row + i * unfold.channels, unfold.channels);
    } else {
      std::memset(to, unfold.zero_point, unfold.channels);
    }
  }
}

} // namespace

void unfold_width(const WidthUnfold& unfold, const int8_t* x, int8_t* y, pthreadpool_t pool) {
  const size_t bytes = unfold.pixel_bytes(), row_bytes = unfold.output_width * bytes;
  // Windows of columns [first, last) are inside.
  const size_t first = std::min(unfold.output_width, divide_up(unfold.padding, unfold.stride));
  const size_t end = unfold.width + unfold.padding;
  const size_t inside = end < unfold.kernel ? 0 : (end - unfold.kernel) / unfold.stride + 1;
  const size_t last = std::clamp(inside, first, unfold.output_width);
  parallel_for(pool, unfold.rows, kGrain / (row_bytes + 1) + 1, [&](size_t begin_row, size_t end_row) {
    for (size_t i = begin_row; i < end_row; ++i) {
      const int8_t* const row = x + i * unfold.width * unfold.channels;
      int8_t* const to = y + i * row_bytes;
      for (size_t column = 0; column < first; ++column) {
        copy_edge(unfold, row, column, to + column * bytes);
      }
      if (first < last) {
        const int8_t* const from = row + (first * unfold.stride - unfold.padding) * unfold.channels;
        copy_runs(from, unfold.stride * unfold.channels, bytes, last - first, to + first * bytes);
      }
      for (size_t column = last; column < unfold.output_width; ++column) {
        copy_edge(unfold, row, column, to + column * bytes);
      }
    }
  });
}

} // namespace executorch::backends::et_xnnpack
