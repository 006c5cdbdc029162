// Copyright (c) et_xnnpack authors. BSD-3-Clause, see LICENSE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <pthreadpool.h>

#include "column_panels.h"
#include "fixed_point_rows.h"

namespace executorch::backends::et_xnnpack {

// A product of floats with weights of 8 or 4 bits by instructions that multiply bytes: rows are converted to fixed point, and
// weights are multiplied by each of their digits. Sums are exact within a block, so that errors are mostly smaller than
// those of sums of floats.
//
// A panel has eight by eight weights of all its columns, filled up with anything where a group ends. 4 bits: for each
// column 32 bits, the first weight in the lowest four, each 8 more than it is. 8 bits: for each column weights 0, 2, 4
// and 6 of the eight, then for each column the others, each kInt8Offset more than it is.
struct FixedPointProduct {
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
};

// Whether the CPU has instructions that multiply bytes and sum up in 32 bits: AVX512-VNNI, or SDOT of ARM.
bool has_fixed_point_product();

// Bytes of scratch memory that multiply_fixed_point() needs for these sizes.
size_t fixed_point_product_scratch(const FixedPointProduct& product);

// False, with nothing done, if rows of x have numbers that fixed point does not hold well enough: its own are then to be
// multiplied. `scratch` is 64-byte aligned. REQUIRES: has_fixed_point_product()
bool multiply_fixed_point(const FixedPointProduct& product, void* scratch, pthreadpool_t pool);

} // namespace executorch::backends::et_xnnpack
