// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <array>
#include <cstddef>

namespace executorch::backends::et_xnnpack {

// The input positions that one output position is a weighted sum of: one to four.
struct Taps {
  size_t count = 0;
  std::array<size_t, 4> at{};
  std::array<float, 4> weight{};

  // Also one without weight: 0 * infinity is NaN in PyTorch, too.
  void add(size_t position, float w) {
    at[count] = position;
    weight[count++] = w;
  }
};

constexpr size_t kRowPadding = 16; // floats

// The two halves of an interpolation. `columns` reads up to kRowPadding floats behind the row.
struct Blend {
  void (*rows)(const float* image, size_t row_size, const Taps& taps, float* y);
  void (*columns)(const float* row, size_t channels, const Taps* columns, size_t count, float* y);
};

} // namespace executorch::backends::et_xnnpack
