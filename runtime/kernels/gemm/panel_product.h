// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "column_panels.h"
#include "fixed_point_rows.h"

namespace executorch::backends::et_xnnpack {

// A product of floats with weights of 8 or 4 bits in panels of columns.
//
// A panel has eight by eight weights of all its columns, filled up with anything where a group ends. 4 bits: for each
// column 32 bits, the first weight in the lowest four, each 8 more than it is. 8 bits: for each column weights 0, 2, 4
// and 6 of the eight, then for each column the others, each kInt8Offset more than it is.
struct PanelProduct {
#if defined(__x86_64__)
  static constexpr uint8_t kInt8Offset = 128; // its instructions take unsigned weights
#else
  static constexpr uint8_t kInt8Offset = 0;
#endif

  const float* x = nullptr;
  size_t x_stride = 0; // floats from a row to the next
  size_t rows = 0;
  FixedPointDepth depth;
  ColumnPanels columns;
  size_t bits = 8;
  const uint8_t* panels = nullptr;
  const float* scale = nullptr; // panel by panel, [groups, width]
  const float* zero_point = nullptr; // likewise; null: all are 0
  const float* bias = nullptr; // null: 0
  float* y = nullptr; // [rows, columns]
  float min = -std::numeric_limits<float>::infinity();
  float max = std::numeric_limits<float>::infinity();

  // Bytes of each column of a panel.
  size_t column_bytes() const {
    return depth.padded() * bits / 8;
  }
  const uint8_t* panel(size_t i) const {
    return panels + i * ColumnPanels::kPanel * column_bytes();
  }
};

} // namespace executorch::backends::et_xnnpack
